import argparse
import math

import numpy as np
import pytest

from benchmarks.kmeans_accuracy import PAPER, PLANS, S1, chosen, main
from benchmarks.kmeans_peers import diffprivlib_spends
from benchmarks.kmeans_summary import (
    Estimate,
    Target,
    excess_over_better,
    geometric_mean,
    log_excess,
    mean,
    mean_of_sets,
    worst,
)


def test_mean_and_its_standard_error() -> None:
    assert mean([1.0, 2.0, 3.0, 6.0]) == Estimate(3.0, pytest.approx(math.sqrt(14 / 3 / 4)))
    assert math.isnan(mean([1.0]).se)


def test_sets_count_alike_whatever_their_seeds() -> None:
    found = mean_of_sets({"a": [1.0, 3.0], "b": [10.0, 10.0, 10.0]})
    assert found == Estimate(6.0, pytest.approx(0.5))


def test_geometric_mean_is_that_of_all_ratios_if_sets_are_equally_large() -> None:
    ratios = {"a": [1.1, 1.3], "b": [2.0, 5.0]}
    found = geometric_mean(ratios)
    assert found.value == pytest.approx((1.1 * 1.3 * 2 * 5) ** 0.25)
    within = [abs(math.log(1.3 / 1.1)) / 2, abs(math.log(5 / 2)) / 2]
    assert found.se == pytest.approx(math.hypot(*within) / 2)


def test_differences_between_sets_are_no_error() -> None:
    assert geometric_mean({"a": [1.0, 1.0], "b": [4.0, 4.0]}) == Estimate(pytest.approx(2.0), 0.0)


def test_excess_is_over_the_better_and_paired() -> None:
    better, excess = excess_over_better([1.2, 2.2, 3.2], {"good": [1.0, 2.0, 3.0], "bad": [9.0, 9.0, 9.0]})
    assert better == "good"
    assert excess.value == pytest.approx(0.2)
    assert excess.se < 1e-12
    assert excess.is_measurably_positive


def test_log_excess_of_a_constant_factor_is_its_logarithm() -> None:
    local = {"a": [1.0, 1.5], "b": [3.0, 2.0]}
    ours = {name: [1.1 * x for x in ratios] for name, ratios in local.items()}
    assert log_excess(ours, local).value == pytest.approx(math.log(1.1))


@pytest.mark.parametrize(("value", "expected"), [(0.21, True), (0.19, False), (-1.0, False)])
def test_measurable_is_two_standard_errors(value: float, expected: bool) -> None:
    assert Estimate(value, 0.1).is_measurably_positive is expected


@pytest.mark.parametrize(
    ("bound", "allowed_se", "met"), [(1.02, 0.0, True), (1.019, 0.0, False), (1.001, 2.0, True), (0.99, 2.0, False)]
)
def test_targets(bound: float, allowed_se: float, met: bool) -> None:
    target = Target("here", bound, Estimate(1.02, 0.01), allowed_se=allowed_se)
    assert target.met is met
    assert str(target).endswith("| met |" if met else "| missed |")


def test_the_worst_cell_is_shown() -> None:
    cells = {"a": Estimate(1.0, 0.0), "b": Estimate(1.3, 0.01), "c": Estimate(1.1, 0.5)}
    assert str(worst("here", 1.2, cells)) == "| here | 1.2 | 1.3000 ± 0.0100 (b) | missed |"


@pytest.mark.parametrize(("dimensions", "spent"), [(2, 0.905), (4, 0.959), (5, 1.003), (8, 1.133), (16, 1.412)])
def test_what_diffprivlib_spends(dimensions: int, spent: float) -> None:
    """Measured in its 0.6.6: the epsilons its mechanisms were made with, added up."""
    assert diffprivlib_spends(dimensions) == pytest.approx(spent, abs=5e-4)


def test_every_bound_is_measured() -> None:
    for plan in PLANS:
        cells = {(e, c) for e in plan.epsilons for c in plan.fractions}
        assert {(bound.epsilon, bound.trusted_fraction) for bound in plan.bounds} <= cells


def test_a_part_of_a_plan() -> None:
    words = argparse.Namespace(trials=2, sets=["paper"], epsilons=[7.0], fractions=None)
    part = chosen(PAPER, words)
    assert (part.trials, part.sets, part.epsilons, part.fractions) == (2, ("paper",), (7.0,), (0.001, 0.01))
    assert chosen(S1, words).sets == ()
    everything = argparse.Namespace(trials=None, sets=None, epsilons=None, fractions=None)
    assert chosen(PAPER, everything) == PAPER
    assert np.all([bound.at_most > 1 for bound in PAPER.bounds])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--trials", "1"], "at least 2"),
        (["--epsilons", "5"], "invalid choice"),
        (["--sets", "paper", "--epsilons", "2"], "not measured"),
    ],
)
def test_a_part_that_does_not_exist(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(words)
    assert message in capsys.readouterr().err
