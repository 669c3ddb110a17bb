"""One door: the syntax tree says who may draw noise, charge a ledger, and call OpenDP."""

import ast
from collections import defaultdict
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import hybriddp
from hybriddp.errors import BudgetError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger, ReleaseCost, Statistic
from hybriddp.release import release as door
from hybriddp.release.charging import Charged
from hybriddp.release.release import release, release_all, simulate_printed_noise
from tests.refusals import refused
from tests.release.numbers import cost

PACKAGE = Path(hybriddp.__file__).parent

LAWS = frozenset(
    """
    beta binomial choice dirichlet exponential gamma geometric hypergeometric integers laplace lognormal multinomial
    multivariate_hypergeometric multivariate_normal negative_binomial normal pareto permutation permuted poisson random
    shuffle standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular uniform vonmises
    weibull
    """.split()  # noqa: SIM905
)
"""Methods by which numpy's generators draw."""
CHECKS = ("_check", "stats")
"""Modules of ours and of scipy that have functions of these names and draw nothing."""
SIMULATED = "seeded: a simulation"
PEOPLE = "made-up people of a simulation"
PUBLIC = "public draws, the same for everybody"
DEVICE = "on a device"
MAY_DRAW = {
    "cli/crowd_people.py": PEOPLE,
    "cli/crowd_rounds.py": PEOPLE,
    "cli/demo.py": PEOPLE,
    "client/exchange.py": "how long to wait before trying again",
    "kmeans/clustering.py": PUBLIC,
    "kmeans/protocol/round.py": DEVICE,
    "kmeans/reports/base.py": DEVICE,
    "kmeans/reports/codebook.py": DEVICE,
    "kmeans/reports/means.py": DEVICE,
    "kmeans/reports/moments.py": DEVICE,
    "paper/blender.py": SIMULATED,
    "paper/figures/clustering.py": PEOPLE,
    "paper/kmeans/groups.py": "devices of a simulation",
    "paper/kmeans/sphere_packing.py": PUBLIC,
    "paper/mean.py": SIMULATED,
    "planning/quantile_law.py": PUBLIC,
    "release/mechanisms.py": "the laws of simulated releases",
    "release/release.py": "noise as a paper prints it, in a simulation",
    "service/demo.py": PEOPLE,
    "simulation/crowd.py": SIMULATED,
    "simulation/quantiles.py": SIMULATED,
}
DRAWS_CODES = {"channels/channel.py", "channels/response.py", "channels/window_channel.py", "study/numbers.py"}
DRAWS_CODES |= {"items/discovery.py", "kmeans/protocol/round.py"}
"""Where reports are drawn: channels, and what devices do."""
DOOR = {
    "items/protocol.py": {"charge_reports"},
    "items/open_release.py": {"release_open"},
    "kmeans/protocol/budget.py": {"charge_reports", "release"},
    "paper/blender.py": {"simulate_printed_noise"},
    "paper/kmeans/groups.py": {"simulate_printed_noise"},
    "paper/mean.py": {"release"},  # always with a seed
    "simulation/mean.py": {"release"},  # always with a seed
    "study/study.py": {"release_all"},
}
"""Who knocks at the door."""


@cache
def trees() -> dict[str, ast.Module]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in paths}


def called(names: frozenset[str]) -> dict[str, set[str]]:
    """Find the methods of these names that are called: by file, as they are written."""
    found = defaultdict(set)
    for file, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names:
                found[file].add(ast.unparse(node.func))
    return dict(found)


def imported(module: str) -> dict[str, set[str]]:
    """Find what is imported from a module or package: by file, the names."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for file, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{module}."):
                found[file] |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and module.rpartition(".")[0] == node.module:
                found[file] |= {alias.name for alias in node.names if alias.name == module.rpartition(".")[2]}
            elif isinstance(node, ast.Import):
                found[file] |= {alias.name for alias in node.names if f"{alias.name}.".startswith(f"{module}.")}
    return {file: names for file, names in found.items() if names}


# Who draws


def test_opendp_is_called_in_one_file() -> None:
    assert set(imported("opendp")) == {"release/mechanisms.py"}
    assert set(called(frozenset({"_measurement", "import_opendp"}))) <= {"release/mechanisms.py"}


def test_the_door_alone_adds_noise() -> None:
    """Others may ask how large noise is. Only the door has a `Mechanism` that draws, and calls its `draw`."""
    makers = {file for file, names in imported("hybriddp.release.mechanisms").items() if names & {"Mechanism"}}
    assert makers == {"release/release.py", "release/threshold.py"}
    functions = {"laplace_scale", "laplace_variance", "mechanism_for"}
    for file, names in imported("hybriddp.release.mechanisms").items():
        assert file in makers or names <= functions, file
    draws = {
        file: {call for call in calls if not call.startswith(("picture.", "figure.", "offer."))}
        for file, calls in called(frozenset({"draw"})).items()
    }
    assert draws.pop("release/release.py") == {"noise.draw", "rule.mechanism.draw"}
    people = ("simulation/", "paper/mean.py")  # who draw made-up users
    reports = {file for file, calls in draws.items() if calls and not file.startswith(people)}
    assert reports == DRAWS_CODES
    assert all(".channel.draw" in call or call == "self.draw" for file in reports for call in draws[file])


def test_nothing_else_draws_random_numbers_but_these_places() -> None:
    found = {file: {call for call in calls if call.split(".")[0] not in CHECKS} for file, calls in called(LAWS).items()}
    assert {file for file, calls in found.items() if calls} == set(MAY_DRAW)
    assert found["release/release.py"] == {"generator.laplace"}


def test_everybody_who_releases_is_known() -> None:
    functions = {"release", "release_all", "release_open", "charge_reports", "simulate_printed_noise"}
    found = {file: names & functions for file, names in imported("hybriddp.release.release").items()}
    assert {file: names for file, names in found.items() if names} == DOOR


# Who charges


def test_a_ledger_is_charged_by_the_door_and_by_the_server_s_transactions() -> None:
    charging = {file for file, names in imported("hybriddp.release.charging").items() if "charge_study" in names}
    assert charging == {"release/release.py"}
    spending = called(frozenset({"spend", "spend_all", "spend_decided"}))
    assert {file for file in spending if not file.startswith("release/ledger/")} == {
        "release/charging.py",
        "service/budgets.py",  # everybody, when a study under a shared budget opens
        "service/drafts.py",  # what the door has charged to a copy of the ledger
    }


# What the door does

TRUSTED = Statistic("numbers", np.array([3, 4]), 2, 10)


def test_a_statistic_keeps_its_numbers_to_itself() -> None:
    assert repr(TRUSTED) == "Statistic('numbers', 2 numbers of 10 users: not private)"
    for values, sensitivity in (([3, 4], 2), (np.array([1.0]), 2), (np.empty(0, np.int64), 2), (np.array([1]), 0)):
        with pytest.raises(ParameterError):
            Statistic("numbers", values, sensitivity, 10)


def test_check_charge_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """What can be refused is refused before the ledger is charged, and noise comes last."""
    steps: list[str] = []

    def watch(name: str) -> None:
        real = getattr(door, name)

        def watched(*given: object, **more: object) -> object:
            steps.append(name)
            return real(*given, **more)

        monkeypatch.setattr(door, name, watched)

    for name in ("mechanism_for", "_charge", "_add_noise"):
        watch(name)
    ledger = Ledger(Privacy(epsilon=1))
    for bad in (
        cost(Privacy(epsilon=1, delta=1e-6)),
        ReleaseCost("d", None, Privacy(epsilon=1), Privacy(epsilon="0.5")),
    ):
        with pytest.raises((ParameterError, BudgetError)):
            release(TRUSTED, bad, ledger=ledger)
    assert "_charge" not in steps
    assert ledger.events == ()
    steps.clear()
    assert release(TRUSTED, cost(Privacy(epsilon=1)), ledger=ledger).counted
    assert steps == ["mechanism_for", "_charge", "_add_noise"]


def test_a_batch_is_charged_as_a_whole_or_not_at_all() -> None:
    """As the questions of a survey will be: several releases at different ε of one promise, in one transaction."""
    half, whole = Privacy(epsilon="0.5"), Privacy(epsilon=1)
    parts = [
        (TRUSTED, ReleaseCost("d", None, half, whole)),
        (Statistic("a total", np.array([7]), 5, 10), ReleaseCost("d", None, half, whole)),
    ]
    for count in ("everybody", "trusted"):
        ledger = Ledger(whole, count=count)
        batch = release_all(parts, ledger=ledger)
        assert [one.mechanism.scale for one in batch.released] == pytest.approx([4.0, 10.0])
        assert all(one.counted and not one.seeded for one in batch.released)
        assert batch.charged is Charged.NOW
        assert ledger.spent("trusted").epsilon == 1
        poor = Ledger(Privacy(epsilon="0.75"), count=count)
        with pytest.raises(BudgetError):
            release_all(parts, ledger=poor)
        assert poor.events == ()


def test_a_study_that_has_spent_its_promise_releases_nothing_more_even_without_a_ledger() -> None:
    one = Privacy(epsilon=1)
    assert release(TRUSTED, ReleaseCost("d", None, Privacy(epsilon="0.5"), one, spent=Fraction(1, 2))).values.shape == (
        2,
    )
    with pytest.raises(BudgetError, match="numbers would cost the trusted users ε = 1, but of the ε = 1 .* spent 0.1"):
        release(TRUSTED, ReleaseCost("d", None, one, one, spent=Fraction(1, 10)))


def test_a_simulation_costs_nothing_and_says_so() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    assert not release(TRUSTED, cost(Privacy(epsilon=1))).counted  # no ledger has it
    seeded = release(TRUSTED, cost(Privacy(epsilon=1)), ledger=ledger, random_state=1)
    assert (seeded.seeded, seeded.counted, ledger.events) == (True, False, ())
    refused(ParameterError, "generator", simulate_printed_noise, np.zeros(3), 1.0, None)
