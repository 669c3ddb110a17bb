import numpy as np
import pytest

from hybriddp.mean import weights
from hybriddp.mean.divergence import ETA, _smallest_lambda, compare, garrote, null_risk, risk
from hybriddp.mean.weights import LocalStatistics, TrustedStatistics


@pytest.mark.statistical
@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0, 1.5, 3.0])
@pytest.mark.parametrize(("share", "draw"), [(0.0, "normal"), (1.0, "laplace")])
def test_the_risk_is_that_of_the_rule(lam: float, share: float, draw: str) -> None:
    """A score beyond 6.5 has probability below 1e-9; a scale that is 20 % off is rejected."""
    rng = np.random.default_rng(1)
    y = rng.standard_normal(1_000_000) if draw == "normal" else rng.laplace(0, 0.5**0.5, 1_000_000)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = (np.where(np.abs(y) > lam, y - lam**2 / y, 0.0) if lam else y) ** 2
    error = square.std() / len(y) ** 0.5
    assert abs(square.mean() - null_risk(lam, share)) < 6.5 * error
    assert abs(square.mean() - 1.2**2 * null_risk(lam, share)) > 6.5 * error


def test_the_smallest_lambda_is_within_its_limit() -> None:
    lam = _smallest_lambda(0.1, 0.5)
    assert lam is not None
    assert null_risk(lam, 0.5) <= 0.1 < null_risk(lam - 1e-6, 0.5)
    assert _smallest_lambda(1e-40, 0.5) is None
    assert _smallest_lambda(1.0, 0.0) == pytest.approx(0.0, abs=1e-6)


def _report(gap: float, n_t: int = 5000, n_l: int = 95_000) -> float:
    trusted = TrustedStatistics(n_t, 0.5 + gap, 2 / n_t**2, laplace=True)
    local = LocalStatistics(n_l, 0.5, 0.08, 1e-4, 1.0)
    return garrote(trusted, local, weights.adaptive(trusted, local), width=10.0).share


def test_a_larger_gap_leaves_less_of_the_extra_weight() -> None:
    shares = [_report(gap) for gap in (0.0, 0.001, 0.05, 0.1, 0.3)]
    assert shares[0] == shares[1] == 1.0
    assert shares[1] > shares[2] > shares[3] > shares[4] > 0
    assert ETA == 0.02


def test_the_price_is_at_most_its_share_of_the_error() -> None:
    trusted, local = TrustedStatistics(5000, 0.5, 8e-8, laplace=True), LocalStatistics(95_000, 0.5, 0.08, 1e-4, 1.0)
    chosen = weights.adaptive(trusted, local)
    found = garrote(trusted, local, chosen, width=10.0)
    v_t, v_l = 0.08 / 5000 + 8e-8, 1.08 / 95_000
    assert 0 < found.price <= ETA * (v_t * v_l / (v_t + v_l) - 0.08 / 100_000)
    assert compare(trusted, local, 0.08, width=10.0).price == 0.0


def test_the_report_is_in_words_and_in_the_units_of_the_values() -> None:
    trusted, local = TrustedStatistics(5000, 0.8, 8e-8, laplace=True), LocalStatistics(95_000, 0.5, 0.08, 1e-4, 1.0)
    found = garrote(trusted, local, weights.adaptive(trusted, local), width=10.0)
    assert found.difference == pytest.approx(3.0)
    assert found.z > 20
    assert "differ clearly" in found.verdict
    same = garrote(
        TrustedStatistics(5000, 0.5, 8e-8, laplace=True), local, weights.adaptive(trusted, local), width=10.0
    )
    assert "agree within what chance explains" in same.verdict


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("lam", [0.0, 0.5, 1.5, 4.0])
def test_the_risk_of_groups_that_differ_meets_that_of_groups_that_are_alike(lam: float, share: float) -> None:
    assert risk(lam, share, 0.0) == pytest.approx(null_risk(lam, share), rel=2e-3, abs=1e-6)
    assert risk(None, share, 3.0) == 9.0
    assert risk(lam, share, 200.0) == pytest.approx(1.0, rel=0.02)


def test_the_risk_is_largest_where_the_difference_can_hardly_be_seen() -> None:
    risks = [risk(1.5, 0.0, theta) for theta in (0, 1, 2, 3, 6)]
    assert risks == pytest.approx([0.12, 0.87, 1.99, 2.11, 1.29], abs=0.01)  # the design's table
