"""Against the numbers of an independent program, stored in ``reference.npz``; identities; groups that differ.

The file has, for four studies, counts of reports and noisy counts of the trusted group, and what a direct
implementation in dense matrices made of them: the linear CDF, its standard errors, the statistic of the groups'
difference, τ² and some quantiles on the unit range.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.special import chdtrc, ndtri

from hybriddp.channels import MaskedResponse
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.fit import (
    DistributionFit,
    GroupComparison,
    _TrustedGroup,
    compare,
    fit,
    fit_groups,
    monotone,
    pilot_of,
    spread,
)
from hybriddp.distribution.least_squares import MaskedEvidence, Masses, equal_pieces
from hybriddp.distribution.quantile import quantile
from hybriddp.distribution.release import PrivateHistogram
from hybriddp.grid import Grid
from hybriddp.release.mechanisms import laplace_variance
from tests.levels import LEVEL

STORED = dict(np.load(Path(__file__).with_name("reference.npz")))
STUDIES = ("alike", "differ", "few_trusted", "many_labels")


class _NormalNoise(PrivateHistogram):
    """What the reference takes noise for, when it compares groups."""

    @property
    def fourth_cumulant(self) -> float:
        return 0.0


def _groups(name: str, kind: type[PrivateHistogram] = PrivateHistogram) -> tuple[PrivateHistogram, MaskedEvidence]:
    epsilon = float(STORED[f"{name}_epsilon"])
    noisy, n = STORED[f"{name}_noisy"].astype(np.int64), int(STORED[f"{name}_n_trusted"])
    trusted = kind(n, noisy, laplace_variance(4 / epsilon), counted=False, seeded=True)
    return trusted, MaskedEvidence(STORED[f"{name}_counts"].astype(np.int64), MaskedResponse(epsilon=epsilon))


def _cdf(found: DistributionFit) -> np.ndarray:
    return np.cumsum(found.linear)[:-1]


@pytest.mark.parametrize("name", STUDIES)
def test_the_numbers_are_the_references(name: str) -> None:
    """To 2e-9: the channel's weights are whole multiples of 2^-32, the reference's are not."""
    trusted, local = _groups(name, _NormalNoise)
    for kind, groups in {"both": (trusted, local), "local": (None, local), "trusted": (trusted, None)}.items():
        found, _ = fit(*groups)
        assert np.abs(_cdf(found) - STORED[f"{name}_{kind}_cdf"]).max() < 2e-9
        assert np.abs(found.standard_errors - STORED[f"{name}_{kind}_se"]).max() < 1e-9
    found, comparison = fit(trusted, local)
    assert comparison is not None
    assert comparison.statistic == pytest.approx(float(STORED[f"{name}_statistic"]), rel=1e-6)
    assert comparison.tau**2 == pytest.approx(float(STORED[f"{name}_tau2"]), rel=1e-6, abs=1e-12)
    for q, expected in zip((0.1, 0.5, 0.9, 0.99), STORED[f"{name}_quantiles"], strict=True):
        answer = quantile(found, Bins(Grid(0, 1)), q, 0.95)
        assert [answer.value, *answer.interval] == pytest.approx(expected, abs=1e-7)


def test_the_fits_of_both_groups_and_of_each() -> None:
    trusted, local = _groups("alike")
    fits = fit_groups(trusted, local)
    c = trusted.count / (trusted.count + local.count)
    assert fits.trusted is not None
    assert fits.local is not None
    assert np.allclose(_cdf(fits.both), STORED["alike_both_cdf"], atol=1e-8)
    honest = c * STORED["alike_trusted_cdf"] + (1 - c) * STORED["alike_local_cdf"]
    assert np.allclose(_cdf(fits.if_groups_differ), honest, atol=1e-8)
    squares = (c * STORED["alike_trusted_se"]) ** 2 + ((1 - c) * STORED["alike_local_se"]) ** 2
    assert np.allclose(fits.if_groups_differ.standard_errors, np.sqrt(squares), atol=1e-8)
    alone = fit_groups(None, local)
    assert alone.both is alone.local is alone.if_groups_differ
    assert alone.trusted is None
    assert alone.comparison is None


def test_both_groups_are_better_than_either() -> None:
    trusted, local = _groups("alike")
    fits = fit_groups(trusted, local)
    assert fits.trusted is not None
    assert fits.local is not None
    better = np.minimum(fits.trusted.standard_errors, fits.local.standard_errors)
    assert np.mean(fits.both.standard_errors**2) < 0.8 * np.mean(better**2)


def test_a_difference_takes_weight_from_the_trusted_group() -> None:
    trusted, local = _groups("differ")
    fits = fit_groups(trusted, local)
    assert fits.comparison is not None
    assert fits.trusted is not None
    assert fits.local is not None
    assert fits.comparison.z > 6
    gap = np.abs(_cdf(fits.trusted) - _cdf(fits.local)).max()
    assert np.abs(_cdf(fits.both) - _cdf(fits.local)).max() < 0.4 * gap
    assert "differ clearly" in fits.comparison.verdict
    assert "those who trust may be other people than those who do not" in fits.comparison.verdict


def test_the_words_follow_the_difference() -> None:
    assert GroupComparison(15.0, 15, 0.0).verdict == (
        "The two groups' distributions agree within what chance explains."
    )
    assert "differ slightly (2.2 standard errors)" in GroupComparison(27.5, 15, 0.02).verdict
    assert "a sample of at most 2,500 of the others" in GroupComparison(27.5, 15, 0.02).effect
    assert GroupComparison(3.841458820694124, 1, 0.0).z == pytest.approx(1.959963984540054)
    assert GroupComparison(1e6, 15, 1.0).z == 37


def test_laplace_noise_makes_the_statistic_vary_more() -> None:
    """By the fourth cumulants of 272 counts: their shares of the statistic add up to its mean, but for other noise."""
    trusted, local = _groups("few_trusted")
    _, comparison = fit(trusted, local)
    assert comparison is not None
    assert 1.02 < comparison.excess < 2.5
    assert fit(*_groups("few_trusted", _NormalNoise))[1] == GroupComparison(
        comparison.statistic, comparison.n_edges, comparison.tau, 1.0
    )
    chance = float(chdtrc(15 / 1.6, 30.0 / 1.6))
    assert chance > float(chdtrc(15, 30.0))
    assert GroupComparison(30.0, 15, 0.0, 1.6).z == pytest.approx(float(-ndtri(chance / 2)))


@pytest.mark.repeated
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_alike_groups_differ_in_five_percent_of_studies_with_20_trusted_users(epsilon: float) -> None:
    """40,000 draws of the statistic where the local group is known to a millionth; plain chi-square: 8 to 10 %."""
    rng, pilot, n = np.random.default_rng(2), np.full(256, 1 / 256), 40_000
    scale = 4 / epsilon
    released = PrivateHistogram(20, np.zeros(272, np.int64), laplace_variance(scale), counted=False, seeded=True)
    group, local = _TrustedGroup.of(released), Masses(pilot, spread(pilot) * 1e-6)
    comparison, _ = compare(local, group, pilot)
    table, ratio = np.tri(256)[equal_pieces(pilot)], 1 - math.exp(-1 / scale)
    precision = np.linalg.inv(table @ (local.covariance + group.covariance(pilot)) @ table.T)
    noise = rng.geometric(ratio, (n, 272)) - rng.geometric(ratio, (n, 272))
    people = rng.multinomial(20, pilot, n) / 20 - pilot
    difference = people @ table.T + noise @ (table @ released.noise_influence).T
    statistic = np.sum(difference @ precision * difference, axis=1)
    k, excess = comparison.n_edges, comparison.excess
    assert float(np.var(statistic)) == pytest.approx(2 * k * excess, rel=0.1)
    fires = int(np.count_nonzero(statistic > excess * stats.chi2.isf(0.05, k / excess)))
    assert stats.binom.ppf(LEVEL / 2, n, 0.048) <= fires <= stats.binom.isf(LEVEL / 2, n, 0.052)
    assert np.mean(statistic > stats.chi2.isf(0.05, k)) > 0.07


def test_monotone_masses_are_a_distribution_and_leave_one_alone() -> None:
    rng = np.random.default_rng(0)
    proper = rng.dirichlet(np.ones(256))
    assert np.allclose(monotone(proper), proper, atol=1e-12)
    rough = proper + rng.normal(0, 0.02, 256)
    found = monotone(rough / rough.sum())
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    assert pilot_of(rough / rough.sum()).min() >= 0.02 / 256 * (1 - 1e-9)


def test_nobody_can_write_into_a_fit() -> None:
    found, _ = fit(*_groups("alike"))
    arrays = (found.linear, found.covariance, found.masses, found.cdf, found.standard_errors)
    assert not any(array.flags.writeable for array in arrays)
    assert np.allclose(found.cdf, np.cumsum(found.masses)[:-1])
    assert np.all(np.diff(found.cdf) >= -1e-15)
