"""How far forged reports move shares, quantiles and lists: what the plan says is what the best attack does."""

import numpy as np
import pytest

from hybriddp import DistributionStudy, FrequencyStudy, HeavyHitterStudy
from hybriddp.channels import ChoiceResponse, UnaryEncoding
from hybriddp.distribution.expected import _of_local, _of_trusted
from hybriddp.distribution.fit import pilot_of
from hybriddp.distribution.least_squares import code_influence, inverse_on_sum_zero, prior, walsh
from hybriddp.errors import ParameterError
from hybriddp.planning.quantiles import _channel
from hybriddp.shares import designs
from hybriddp.study.reports import Reports
from tests.planning.settings import plan_quantiles, plan_shares

N_LOCAL, N_TRUSTED, FORGED = 40_000, 800, 400
N = N_LOCAL + N_TRUSTED
RNG = np.random.default_rng(9)


def _supporting(study: FrequencyStudy, codes: np.ndarray, category: int) -> np.ndarray:
    """Reports that all support one category, in the place of some that do not."""
    channel, sent = study.channel, codes.copy()
    if isinstance(channel, UnaryEncoding):
        without = np.flatnonzero(~(codes >> category & 1).astype(bool))[:FORGED]
        sent[without] |= 1 << category
    elif isinstance(channel, ChoiceResponse):
        chosen = int(designs.code_sets(channel.n_codes, channel.n_chosen)[category])
        without = np.flatnonzero(~(chosen >> codes & 1).astype(bool))[:FORGED]
        sent[without] = next(code for code in range(channel.n_codes) if chosen >> code & 1)
    else:
        sent[np.flatnonzero(codes != category)[:FORGED]] = category
    return sent


@pytest.mark.slow
@pytest.mark.parametrize("n_categories", [4, 12, 40])
def test_forged_reports_move_a_share_no_farther_than_is_said(n_categories: int) -> None:
    """The worst replacement: each forged report supports the category, and no replaced one did."""
    shares = np.full(n_categories, 1 / n_categories)
    made = plan_shares(n_users=N, trusted_fraction=N_TRUSTED / N, epsilon=1, shares=shares.tolist())
    study = FrequencyStudy("x", categories=range(n_categories), other=False, epsilon=1)
    local, trusted = (RNG.choice(n_categories, n) for n in (N_LOCAL, N_TRUSTED))
    codes = study.randomize(local, random_state=1).codes.astype(np.int64)
    honest, attacked = (
        study.estimate(trusted=trusted, local=Reports(sent, study.digest), random_state=2)
        for sent in (codes, _supporting(study, codes, 1))
    )
    moved = float(attacked.unbiased[1] - honest.unbiased[1])
    most = made.poisoning(FORGED).local
    assert most * 0.35 < moved <= most  # all of it where the weight has yielded
    alone = [
        study.estimate(trusted=None, local=Reports(sent, study.digest), single_group=True).unbiased[1]
        for sent in (codes, _supporting(study, codes, 1))
    ]
    assert alone[1] - alone[0] == pytest.approx(most * N / N_LOCAL, rel=1e-6)


def test_all_of_a_group_move_a_share_no_farther_than_the_channel_does() -> None:
    made = plan_shares(n_users=1000, trusted_fraction=0.1, epsilon=1, shares=[0.5, 0.5])
    none, all_, more = (made.poisoning(forged) for forged in (0, 900, 10**6))
    assert (none.local, none.trusted) == (0, 0)
    assert all_.local == more.local < 3
    assert more.trusted == made.poisoning(100).trusted < 1
    with pytest.raises(ParameterError, match="forged"):
        made.poisoning(-1)


@pytest.mark.slow
def test_forged_reports_list_an_item_from_as_many_as_is_said() -> None:
    """Half as many hardly ever list it, and twice as many do."""
    made = plan_shares(
        n_users=N_LOCAL + 50, trusted_fraction=50 / (N_LOCAL + 50), epsilon=2, delta=1e-6, shares=[0.6, 0.3, 0.1]
    )
    assert made.method == "discovery"
    least = made.forged_to_list
    assert least is not None
    study = HeavyHitterStudy("w", epsilon=2, delta="0.000001", alphabet="letters")
    question, channel = study.discovery, study.discovery.channel
    words = RNG.choice(["alpha", "beta", "gamma"], N_LOCAL, p=[0.6, 0.3, 0.1]).tolist()
    for forged, listed in ((least // 2, False), (2 * least, True)):
        codes = question.randomize(words, random_state=3).codes.astype(np.int64)
        group, function = RNG.integers(0, 5, forged), RNG.integers(0, channel.n_functions, forged)
        shift = 48 - np.array([16, 24, 32, 40, 48], np.uint64)[group]
        prefixes = np.full(forged, question.codes(["evil"])[0]) >> shift
        values = channel.family.values(prefixes, function).astype(np.int64)
        codes[:forged] = group * channel.n_codes + function * channel.n_values + values
        sent = Reports(codes.astype(np.uint32), question.digest)
        found = study.estimate(trusted=["alpha"] * 50, local=sent, random_state=4)
        assert ("evil" in [row.name for row in found.rows()]) is listed
    dictionary = plan_shares(n_users=1000, trusted_fraction=0.1, epsilon=1, shares=[0.5, 0.5])
    assert dictionary.forged_to_list is None
    by_list = plan_shares(n_users=10**6, trusted_fraction=0.01, epsilon=1, delta=1e-6, n_items=100)
    assert by_list.method == "list"
    assert 10 < (by_list.forged_to_list or 0) < 40
    assert "could list an item that nobody has" in by_list.explain()


# Quantiles


@pytest.mark.slow
@pytest.mark.parametrize("q", [0.3, 0.9])
@pytest.mark.parametrize("up", [False, True])
def test_forged_reports_move_a_rank_by_as_much_as_is_said(q: float, up: bool) -> None:
    """The best labels for one edge, of patterns that are drawn as they should be: what that does to the estimate."""
    values, trusted = RNG.gamma(2, 10, N_LOCAL), RNG.gamma(2, 10, N_TRUSTED)
    made = plan_quantiles(
        n_users=N, trusted_fraction=N_TRUSTED / N, epsilon=1, bounds=(0, 100), shape=values.tolist(), at=(q,)
    )
    study, channel = DistributionStudy("x", bounds=(0, 100), epsilon=1), _channel("1")
    assert made.values is not None
    pilot = pilot_of(made.values.masses)
    information = prior().plus(_of_trusted(channel, pilot, N_TRUSTED)).plus(_of_local(channel, pilot, N_LOCAL))
    edge = int(np.argmin(np.abs(study.bins.edges - np.quantile(values, q))))
    below = (np.arange(256) < edge).astype(float)
    influence = code_influence(channel, pilot, inverse_on_sum_zero(information.matrix) @ (walsh() @ below))
    labels = influence.argmax(axis=1) if up else influence.argmin(axis=1)
    codes = study.randomize(values, random_state=1).codes.astype(np.int64)
    patterns = channel.draw_patterns(RNG.integers(0, 1 << 32, FORGED, dtype=np.uint32))
    attacked = codes.copy()
    attacked[:FORGED] = patterns * channel.n_labels + labels[patterns]
    before, after = (
        study.estimate(trusted=trusted, local=Reports(sent.astype(np.uint16), study.digest), random_state=2)
        for sent in (codes, attacked)
    )
    moved = abs(float(after.fit.cdf[edge] - before.fit.cdf[edge]))
    said = made.poisoning(FORGED, q)
    assert said.rank * 0.6 < moved < said.rank * 1.25  # weights follow the reports, and either direction is planned for


@pytest.mark.slow
def test_what_a_plan_of_quantiles_says_of_forged_reports() -> None:
    ranks = plan_quantiles(n_users=10_000, trusted_fraction=0.05, epsilon=1, bounds=(0, 100), at=(0.5, 0.95))
    assert ranks.poisoning(0, 0.5).rank == 0
    assert ranks.poisoning(50, 0.5).rank == pytest.approx(ranks.poisoning(100, 0.5).rank / 2)
    assert ranks.poisoning(50, 0.5).value is None
    assert "95 forged local reports could move p50 by" in ranks.explain()
    shaped = plan_quantiles(
        n_users=10_000, trusted_fraction=0.05, epsilon=1, bounds=(0, 100), shape="normal(50, 10)", at=(0.5, 0.95)
    )
    values = [shaped.poisoning(forged, 0.5).value or 0.0 for forged in (0, 10, 100, 1000, 9500)]
    assert values == sorted(values)
    assert values[0] < 1e-9
    assert values[-1] == pytest.approx(50)  # then the bound is all that is sure
    alone = plan_quantiles(n_users=10_000, trusted_fraction=1, epsilon=1, bounds=(0, 100))
    assert alone.poisoning(5, 0.5).forged == 0
    assert "forged" not in alone.explain()
