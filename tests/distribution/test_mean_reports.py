import numpy as np
import pytest

from hybriddp.channels import WindowChannel
from hybriddp.distribution import DistributionStudy
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.least_squares import walsh
from hybriddp.distribution.mean_reports import WindowEvidence, code_table, within_bins
from hybriddp.errors import BudgetError, DataError, ParameterError, ProtocolError
from hybriddp.grid import Grid
from hybriddp.mean import LocalSummary, MeanStudy
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from tests.levels import z_limit

MEAN = MeanStudy("minutes", bounds=(0, 240), epsilon=1)
STUDY = DistributionStudy.from_mean_study(MEAN)
VALUES = np.random.default_rng(0).gamma(2.0, 20.0, 60_000)


@pytest.mark.parametrize("scale", ["equal", "log"])
def test_the_table_averages_the_channels_probabilities_over_each_bin(scale: str) -> None:
    """Every unit of some bins, by the channel's own rule for rows."""
    channel, bins = WindowChannel(epsilon=1), Bins(Grid(0, 1), scale)
    table = code_table(channel, bins)
    assert table.shape == (256, 256)
    assert np.allclose(table.sum(axis=0), 1)
    starts = np.concatenate([[0], bins.cuts])
    for number in (0, 1, 2, 128, 254, 255):
        end = starts[number + 1] if number < 255 else (1 << 24) + 1
        units = np.arange(starts[number], end)
        random = np.random.default_rng(number).integers(0, 1 << 32, 1_000_000, dtype=np.uint32)
        rows = channel.rows(units[np.arange(len(random)) * len(units) // len(random)], random)
        expected = np.bincount(rows, minlength=channel.n_rows) / len(rows) @ channel.probabilities
        assert np.abs(table[:, number] - expected).max() < 2e-5


@pytest.mark.statistical
def test_codes_are_as_frequent_as_the_table_says() -> None:
    values = np.random.default_rng(1).uniform(0.2, 0.25, 800_000)
    counts = np.bincount(WindowChannel(epsilon=1).randomize(values, bounds=(0, 1)), minlength=256)
    masses = np.bincount(Bins(Grid(0, 1)).of_units(Grid(0, 1).units(values)), minlength=256) / len(values)

    def largest_z(table: np.ndarray) -> float:
        expected = len(values) * table @ masses
        return float(np.abs((counts - expected) / np.sqrt(expected)).max())

    right = code_table(WindowChannel(epsilon=1), Bins(Grid(0, 1)))
    assert largest_z(right) < z_limit(256)
    assert largest_z(1 / 256 + 0.8 * (right - 1 / 256)) > z_limit(256)


def test_expected_counts_leave_the_true_masses_where_they_are() -> None:
    channel, bins = WindowChannel(epsilon=1), Bins(Grid(0, 1))
    masses = np.random.default_rng(2).dirichlet(np.ones(256))
    counts = 1e6 * code_table(channel, bins) @ masses
    evidence = WindowEvidence(counts, channel, bins)
    found = evidence.information(masses)
    assert np.allclose(found.matrix @ (walsh() @ masses), found.side)


def test_places_have_the_covariance_of_a_random_value_in_the_bin() -> None:
    """By the channel's own rule for rows, at many units of two wide bins; the bounds have no width."""
    channel, bins = WindowChannel(epsilon=1), Bins(Grid(0, 1), "log")
    places = within_bins(channel, bins)
    for number in (240, 254):
        random = np.random.default_rng(number).integers(0, 1 << 32, (300, 100), dtype=np.uint32)
        at = np.linspace(bins.cuts[number - 1], bins.cuts[number] - 1, 100).astype(int)
        rows = np.array([channel.rows(at, one) for one in random])
        chances = channel.probabilities[rows].mean(axis=0)
        inside = places.deviations[:, places.bins == number]
        assert np.allclose(inside.sum(axis=1), 0)
        assert np.trace(inside @ inside.T) == pytest.approx(np.trace(np.cov(chances.T)), rel=0.1)
    assert not places.deviations[:, np.isin(places.bins, (0, 255))].any()


@pytest.mark.parametrize(("epsilon", "scale"), [(4, "equal"), (1, "log"), (1, [*np.linspace(0, 0.1, 254), 1.0])])
def test_equal_values_within_a_bin_do_not_look_like_groups_that_differ(epsilon: int, scale: str | list[float]) -> None:
    """No number of reports says where in its bin a value is."""
    rng, mean = np.random.default_rng(3), MeanStudy("score", bounds=(0, 1), epsilon=epsilon)
    study = DistributionStudy.from_mean_study(mean, scale=scale)
    kinds, shares = np.array([0.1, 0.2, 0.5, 0.7, 0.9]), [0.2, 0.3, 0.2, 0.2, 0.1]
    trusted, local = rng.choice(kinds, 5000, p=shares), rng.choice(kinds, 500_000, p=shares)
    estimate = study.estimate(trusted=trusted, local=mean.randomize(local, random_state=1), random_state=2)
    assert not estimate.groups_differ
    truth = (study.bins.edges[:, None] >= kinds) @ shares
    apart = np.abs(estimate.fit.cdf - truth) / estimate.fit.standard_errors
    assert apart[:-1].max() < 4


@pytest.mark.parametrize("scale", ["equal", "log"])
def test_groups_are_compared_by_what_the_reports_determine(scale: str) -> None:
    """Which of two narrow bins holds the zeros is left open, and is no difference; another mean is one."""
    rng, study = np.random.default_rng(4), DistributionStudy.from_mean_study(MEAN, scale=scale)
    zeros = study.estimate(
        trusted=np.zeros(500), local=MEAN.randomize(np.zeros(30_000), random_state=1), random_state=2
    )
    assert not zeros.groups_differ
    values = rng.gamma(2.0, 20.0, 103_000)
    reports = MEAN.randomize(values[3000:], random_state=1)
    alike, longer = (
        study.estimate(trusted=factor * values[:3000], local=reports, random_state=2) for factor in (1, 1.3)
    )
    assert not alike.groups_differ
    assert longer.groups_differ
    assert longer.comparison is not None
    assert longer.comparison.z > 5
    truth = np.quantile(values, 0.5)
    assert longer.quantile(0.5).interval.lower <= truth <= longer.quantile(0.5).interval.upper


def test_quantiles_come_out_of_reports_for_a_mean() -> None:
    reports = MEAN.randomize(VALUES[2000:], random_state=1)
    estimate = STUDY.estimate(trusted=VALUES[:2000], local=reports, random_state=2)
    for q in (0.25, 0.5, 0.9):
        rank = np.mean(estimate.quantile(q).value >= VALUES)
        assert abs(rank - q) < z_limit(3) * estimate.rank_error
    alone = estimate.fits.trusted
    assert alone is not None
    assert estimate.rank_error < 0.9 * np.sqrt(np.mean(alone.standard_errors**2))
    assert "collected for a mean" in estimate.explain()
    assert estimate.fits.local is None


def test_their_summaries_are_those_of_the_mean() -> None:
    reports = MEAN.randomize(VALUES, random_state=1)
    summary = STUDY.summarize_local(reports)
    assert isinstance(summary, LocalSummary)
    assert summary == MEAN.summarize_local(reports)
    trusted = STUDY.summarize_trusted(VALUES[:500])
    estimates = [STUDY.estimate(trusted=trusted, local=one, random_state=3) for one in (summary, reports)]
    assert np.array_equal(*(one.fit.linear for one in estimates))
    own = DistributionStudy("minutes", bounds=(0, 240), epsilon=1)
    with pytest.raises(ProtocolError, match="are summarized in PatternCounts, not LocalSummary"):
        own.estimate(trusted=VALUES[:500], local=summary)
    with pytest.raises(ProtocolError, match="are summarized in LocalSummary, not PatternCounts"):
        STUDY.estimate(trusted=VALUES[:500], local=own.summarize_local([1, 2]))
    with pytest.raises(ProtocolError, match="belong to study"):
        STUDY.estimate(trusted=VALUES[:500], local=own.randomize(VALUES))


def test_the_release_takes_the_place_of_the_means() -> None:
    reports = MEAN.summarize_local(MEAN.randomize(VALUES, random_state=1))
    ledger = Ledger(Privacy(epsilon=5))
    STUDY.estimate(trusted=VALUES[:500], local=reports, ledger=ledger)
    with pytest.raises(BudgetError):
        MEAN.estimate(trusted=VALUES[:500], local=reports, ledger=ledger)
    other = Ledger(Privacy(epsilon=5))
    MEAN.estimate(trusted=VALUES[:500], local=reports, ledger=other)
    with pytest.raises(BudgetError):
        STUDY.estimate(trusted=VALUES[:500], local=reports, ledger=other)
    with pytest.raises(BudgetError):
        DistributionStudy.from_mean_study(MEAN, scale="log").estimate(trusted=VALUES[:500], local=reports, ledger=other)
    assert len(other.events) == 1


def test_without_a_trusted_group_there_is_no_answer() -> None:
    reports = MEAN.randomize(VALUES, random_state=1)
    with pytest.raises(DataError, match="do not determine a distribution by themselves. A trusted group is needed"):
        STUDY.estimate(trusted=None, local=reports, single_group=True)
    with pytest.raises(DataError, match="groups_may_differ=True asks what the local group alone says"):
        STUDY.estimate(trusted=VALUES[:500], local=reports, groups_may_differ=True)
    estimate = STUDY.estimate(trusted=VALUES[:500], local=reports, random_state=1)
    with pytest.raises(DataError, match="so nothing is known of how much the groups differ"):
        estimate.allowing_groups_to_differ()
    alone = STUDY.estimate(trusted=VALUES[:500], local=None, single_group=True, random_state=1)
    assert alone.comparison is None


def test_a_total_of_the_trusted_values_is_not_enough() -> None:
    reports = MEAN.randomize(VALUES, random_state=1)
    with pytest.raises(DataError, match="A TrustedSummary holds the total of the values only"):
        STUDY.estimate(trusted=MEAN.summarize_trusted(VALUES[:500]), local=reports)


def test_implausible_codes_are_refused() -> None:
    with pytest.raises(DataError, match="cannot come from this study's channel"):
        STUDY.estimate(trusted=VALUES[:500], local=np.full(5000, 7))


def test_it_makes_no_reports_of_its_own() -> None:
    with pytest.raises(ProtocolError, match="Make them with that study"):
        STUDY.randomize([5.0])


def test_its_text_holds_the_mean_study() -> None:
    for study in (STUDY, DistributionStudy.from_mean_study(MEAN, scale="log"), STUDY.part("country", "DE")):
        again = DistributionStudy.from_json(study.to_json())
        assert again == study
        assert again.mean_study == study.mean_study
        assert again.whole_digest == MEAN.digest
    assert STUDY.digest != MEAN.digest
    assert "from reports for a mean" in repr(STUDY)


def test_what_is_known_of_the_spread_stays_with_the_mean() -> None:
    """It is no part of what devices get, and a distribution has no use for it: reports that refute it say enough."""
    known = MeanStudy("minutes", bounds=(0, 240), epsilon=1, sd_at_most=1)
    study = DistributionStudy.from_mean_study(known)
    assert study == STUDY
    assert DistributionStudy.from_json(study.to_json()) == study
    reports = known.randomize(np.where(VALUES > 30, 240.0, 0.0), random_state=1)
    with pytest.raises(DataError, match="The reports vary more than sd_at_most"):
        known.estimate(trusted=VALUES[:500], local=reports, random_state=2)
    assert study.estimate(trusted=VALUES[:500], local=reports, random_state=2).n_local == len(VALUES)


def test_only_window_channels_will_do() -> None:
    with pytest.raises(ParameterError, match="which says nothing about a distribution"):
        DistributionStudy.from_mean_study(MeanStudy("x", bounds=(0, 1), epsilon=1, channel="laplace"))
    with pytest.raises(ParameterError, match="^study must be a MeanStudy"):
        DistributionStudy.from_mean_study("minutes")
