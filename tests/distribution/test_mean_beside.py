"""A mean and a distribution for one ε: the parts add up exactly, are paid for together, and leave nothing."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hybriddp.distribution import DistributionStudy, MeanAndDistribution, TotalAndBins
from hybriddp.distribution.mean_beside import split_privacy
from hybriddp.errors import BudgetError, DataError, ParameterError, ProtocolError
from hybriddp.mean import MeanStudy
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.release.mechanisms import laplace_variance, mechanism_for
from hybriddp.tables import summarize
from tests.levels import z_limit

MEAN = MeanStudy("session minutes", bounds=(0, 240), epsilon=1.0)
BOTH = MeanAndDistribution(MEAN, epsilon_fraction="0.3", scale="log")
VALUES = np.random.default_rng(0).gamma(2.0, 20.0, 21_000)
TRUSTED = VALUES[:1000]
REPORTS = MEAN.randomize(VALUES[1000:], random_state=1)


@given(epsilon=st.decimals("0.02", "20", places=4), fraction=st.decimals("0.0001", "0.9999", places=9))
def test_the_parts_add_up_exactly(epsilon: Decimal, fraction: Decimal) -> None:
    whole = Privacy(epsilon=str(epsilon))
    exact = whole.exact_epsilon * Fraction(fraction)
    assume(exact >= Fraction(1, 100) and whole.exact_epsilon - exact >= Fraction(1, 100))
    parts = split_privacy(whole, str(fraction))
    assert parts.mean.exact_epsilon == exact
    assert parts.mean.exact_epsilon + parts.distribution.exact_epsilon == whole.exact_epsilon


def test_a_delta_is_the_means() -> None:
    study = MeanStudy("x", bounds=(0, 1), epsilon=1, delta="0.00001")
    both = MeanAndDistribution(study, epsilon_fraction=0.25)
    assert both.mean_privacy == Privacy(epsilon="0.25", delta="0.00001")
    assert both.distribution_privacy == Privacy(epsilon="0.75")


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 1.5, "half", None, True, float("nan"), 0.001, 0.999, "0." + "3" * 30])
def test_fractions_that_leave_nothing_or_cannot_be_written(fraction: object) -> None:
    with pytest.raises(ParameterError, match="^epsilon_fraction must be a decimal above 0 and below 1"):
        MeanAndDistribution(MEAN, epsilon_fraction=fraction)


def test_both_are_paid_for_and_nothing_is_left() -> None:
    ledger = Ledger(Privacy(epsilon=5))  # more than the study promises
    found = BOTH.estimate(trusted=TRUSTED, local=REPORTS, ledger=ledger)
    assert [(event.what, event.epsilon) for event in ledger.events] == [
        ("total of the trusted group", "0.3"),
        ("histogram of the trusted group", "0.7"),
    ]
    assert {event.study for event in ledger.events} == {MEAN.digest}
    assert ledger.spent("trusted", study=MEAN.digest).epsilon == MEAN.privacy.exact_epsilon
    for again in (BOTH, MEAN, DistributionStudy.from_mean_study(MEAN), MeanAndDistribution(MEAN, epsilon_fraction=0.5)):
        with pytest.raises(BudgetError):
            again.estimate(trusted=TRUSTED, local=REPORTS, ledger=ledger)
    assert len(ledger.events) == 2
    assert found.mean.privacy.counted
    assert found.distribution.privacy.counted


def test_after_a_release_of_the_mean_there_is_nothing_to_split() -> None:
    ledger = Ledger(Privacy(epsilon=5))
    MEAN.estimate(trusted=TRUSTED, local=REPORTS, ledger=ledger)
    with pytest.raises(BudgetError):
        BOTH.estimate(trusted=TRUSTED, local=REPORTS, ledger=ledger)
    assert len(ledger.events) == 1  # both or none


def test_the_noise_is_that_of_the_parts() -> None:
    found = BOTH.estimate(trusted=TRUSTED, local=REPORTS, random_state=3)
    released = found.distribution.fits.released
    assert released is not None
    assert released.variance == pytest.approx(laplace_variance(4 / 0.7), rel=1e-9)
    per_user = mechanism_for(Privacy(epsilon="0.3")).variance / (1000 * 2**24) ** 2
    assert found.mean.error.trusted_noise == pytest.approx(found.mean.weight**2 * per_user * 240**2, rel=1e-9)


def test_answers_are_near_and_say_what_they_promise() -> None:
    found = BOTH.estimate(trusted=TRUSTED, local=REPORTS, random_state=3)
    again = BOTH.estimate(trusted=TRUSTED, local=REPORTS, random_state=3)
    assert (found.mean.value, found.distribution.quantile(0.5)) == (again.mean.value, again.distribution.quantile(0.5))
    assert abs(found.mean.value - VALUES.mean()) < z_limit() * found.mean.standard_error
    low, high = found.distribution.quantile(0.5, level=0.9999).interval
    assert low < np.quantile(VALUES, 0.5) < high
    real = BOTH.estimate(trusted=TRUSTED, local=MEAN.summarize_local(REPORTS), ledger=Ledger(MEAN.privacy))
    assert "shares ε with that mean's" in real.distribution.explain()
    assert real.mean.privacy.to_dict()["shared_with"] == "the distribution"
    words = "With the distribution beside it there is the first tier of protection only"
    assert words in real.mean.explain()
    assert words in real.mean.to_json(full=True)
    assert "leaves the first tier" not in real.mean.explain()
    for one, other in ((real.mean, "the distribution"), (real.distribution, "the mean")):
        assert "NOT a private release" in str(one.privacy)  # the reports were drawn with a seed
        told = str(replace(one.privacy, seeded=False))
        assert f"ε = 1, δ = 0 for this release and that of {other} together" in told


def test_a_pair_of_summaries_is_the_same() -> None:
    table = pl.DataFrame({"x": TRUSTED})
    pair = TotalAndBins(*(summarize(table, study, value="x").trusted for study in (BOTH.mean, BOTH.distribution)))
    assert pair == BOTH.summarize_trusted(TRUSTED)
    found = BOTH.estimate(trusted=pair, local=REPORTS, random_state=3)
    expected = BOTH.estimate(trusted=TRUSTED, local=REPORTS, random_state=3)
    assert found.mean.value == expected.mean.value
    assert np.array_equal(found.distribution.fit.cdf, expected.distribution.fit.cdf)


def test_what_is_refused_is_not_paid_for() -> None:
    ledger, equal = Ledger(MEAN.privacy), MeanAndDistribution(MEAN, epsilon_fraction="0.3")
    summaries = BOTH.summarize_trusted(TRUSTED)
    for trusted, error, words in (
        (None, DataError, "A trusted group is needed"),
        ([], DataError, "A trusted group is needed"),
        (summaries.total, DataError, "Both summaries"),
        (summaries.bins, DataError, "Both summaries"),
        (equal.summarize_trusted(TRUSTED), ProtocolError, "belongs to study"),  # of other edges
    ):
        with pytest.raises(error, match=words):
            BOTH.estimate(trusted=trusted, local=REPORTS, ledger=ledger)
    with pytest.raises(DataError, match="not about the same users"):
        TotalAndBins(MEAN.summarize_trusted(TRUSTED[1:]), summaries.bins)
    with pytest.raises(DataError, match="need a TrustedSummary"):
        TotalAndBins(summaries.bins, summaries.total)
    other = MeanStudy("session minutes", bounds=(0, 240), epsilon=2.0)
    with pytest.raises(ProtocolError, match="belong to study"):
        BOTH.estimate(trusted=TRUSTED, local=other.randomize(TRUSTED), ledger=ledger)
    with pytest.raises(DataError, match="local group is empty"):
        BOTH.estimate(trusted=TRUSTED, local=None, ledger=ledger)
    assert not ledger.events
    alone = BOTH.estimate(trusted=TRUSTED, local=None, single_group=True, ledger=ledger)
    assert (alone.mean.n_local, alone.distribution.n_local) == (0, 0)


def test_a_part_of_the_users_pays_alone() -> None:
    ledger = Ledger(MEAN.privacy)
    for key in ("DE", "FR"):
        part = MEAN.part("country", key)
        MeanAndDistribution(part, epsilon_fraction=0.5).estimate(
            trusted=TRUSTED, local=part.randomize(VALUES[1000:]), ledger=ledger
        )
    assert ledger.spent("trusted").epsilon == 1
    with pytest.raises(BudgetError):
        BOTH.estimate(trusted=TRUSTED, local=REPORTS, ledger=ledger)


def test_only_a_mean_with_the_window_channel() -> None:
    with pytest.raises(ParameterError, match='channel="window"'):
        MeanAndDistribution(MeanStudy("x", bounds=(0, 1), epsilon=1, channel="laplace"), epsilon_fraction=0.5)
