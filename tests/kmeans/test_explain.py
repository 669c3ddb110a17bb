"""What a model says of itself, in every mode."""

import re
from typing import Any

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.errors import ProtocolError
from hybriddp.kmeans.algorithm.problem import Doubts
from hybriddp.kmeans.estimator import HybridKMeans
from hybriddp.kmeans.explain import _give_or_take as give_or_take
from hybriddp.kmeans.explain import doubt_words
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.reporting.wording import significant
from tests.levels import z_limit


def _points(n: int, d: int = 2) -> FloatArray:
    rng = np.random.default_rng([n, d])
    return np.clip(rng.choice([[2.0] * d, [8.0] * d], n) + 0.3 * rng.standard_normal((n, d)), 0, 10)


def _story(
    n_trusted: int,
    n_local: int,
    d: int = 2,
    ledger: Ledger | None = None,
    **parameters: Any,
) -> str:
    parameters = {
        "n_clusters": 2,
        "epsilon": 2,
        "bounds": [(0, 10)] * d,
        "random_state": 1,
        "name": "visits",
        **parameters,
    }
    return HybridKMeans(**parameters).fit(_points(n_trusted, d), _points(n_local, d), ledger=ledger).explain()


def _spending(story: str) -> list[tuple[str, str, str]]:
    """Each step's purpose, trusted ε and local reports, as the table shows them."""
    heads, *steps = (re.split("  +", line) for line in story.split("\n\n")[1].splitlines())
    assert heads == ["step", "trusted ε", "local reports"]
    return [(purpose, cost, users) for purpose, cost, users in steps]


def test_both_groups() -> None:
    story = _story(500, 20_000)
    assert story.startswith(
        "visits: 2 centers in 2 dimensions.\n500 users trusted the curator and 20,000 reported locally."
    )
    assert "The trusted group, 2.4 % of the users, decided" in story
    assert "refinement, round 2 of 2" in story
    assert "Every user is promised ε = 2. Neighbors: one user's value is replaced" in story
    assert "Local users report once" in story
    assert "No center is uncertain through noise" in story
    assert "Not doubtful: noise puts no center off by more than" in story
    assert "a simulation, not a private release" in story
    assert "single model" not in story
    assert "bout" not in story


@pytest.mark.parametrize("d", [2, 5])
def test_an_answer_that_is_doubtful_says_so(d: int) -> None:
    model = HybridKMeans(8, epsilon=1, bounds=[(0, 10)] * d, random_state=1).fit(_points(20, d), _points(2000, d))
    story = model.explain()
    assert "Doubtful: may cost over 1.2 times as much as the best centers (WCSS).\n" in story
    assert model.doubts_.noisy
    off = f"off, by up to {significant(100 * model.doubt_**0.5, 2)} % of the typical distance"
    assert (off if model.doubt_ < 1 else " anywhere in a cluster, or outside of it.") in story
    assert "Not doubtful" not in story
    assert (
        f"Doubtful: may cost over 1.2 times as much as the best centers: {doubt_words(model)}." in model._repr_html_()
    )
    assert ("Other first centers looked even better" in story) == model.doubts_.contested
    assert story.count("may be empty") == len(model.doubts_.empty) + bool(model.doubts_.empty)


DOUBT = "Doubtful: may cost over 1.2 times as much as the best centers (WCSS)."
HELP = "More users, a larger ε or fewer clusters would help."


@pytest.mark.parametrize(
    ("doubts", "words", "told"),
    [
        (Doubts((1,), (), (), contested=False), "center 1 may be empty", "Center 1 may be empty: its size is not "),
        (
            Doubts((), (0, 1), (), contested=False),
            "the grid cannot tell centers 0 and 1 apart",
            "Centers 0 and 1 are c",
        ),
        (Doubts((), (), (), contested=True), "other first centers looked better", "Other first centers looked even"),
        (Doubts((), (), (1,), contested=False), "much noise on center 1", "Noise may put center 1 off, by up to "),
    ],
)
def test_the_reason_is_the_rule_that_fired(doubts: Doubts, words: str, told: str) -> None:
    model = HybridKMeans(2, epsilon=2, bounds=[(0, 10)] * 2, random_state=1).fit(_points(500), _points(20_000))
    assert not model.doubtful_
    assert not model.doubts_
    model.doubts_, model.doubtful_ = doubts, True
    assert doubt_words(model) == words
    lines = model.explain().split("\n\n")[3].splitlines()
    assert lines[0] == DOUBT
    assert lines[1].startswith(told)
    assert lines[-1].endswith(HELP)
    assert lines[-1].startswith("Check the bounds first") == bool(doubts.empty or doubts.close)
    assert ("The other centers are as certain as their standard errors say" in lines[2]) == bool(doubts.noisy)
    assert ("% of the users; may be empty" in model.explain()) == bool(doubts.empty)


@pytest.mark.parametrize("factor", [40, 100])
@pytest.mark.parametrize("epsilon", [1, 7])
def test_bounds_that_are_far_too_wide_are_doubtful(factor: int, epsilon: float) -> None:
    bounds = [(0, 10 * factor)] * 2
    model = HybridKMeans(2, epsilon=epsilon, bounds=bounds, random_state=3).fit(_points(200), _points(20_000))
    assert model.doubts_.empty or model.doubts_.close
    assert "Check the bounds first: far wider ones than the points need can do this." in model.explain()


def test_sizes_come_with_their_errors() -> None:
    model = HybridKMeans(2, epsilon=2, bounds=[(0, 10)] * 2, random_state=1).fit(_points(500), _points(20_000))
    assert model.size_errors_.shape == (2,)
    assert np.all(np.abs(model.sizes_ - 0.5) < z_limit(2) * model.size_errors_)
    model.sizes_, model.size_errors_ = np.array([0.0312, 0.96881]), np.array([0.0134, 0.00121])
    assert "), 3 ± 1 % of the users" in model.explain()
    assert "<td>96.9 ± 0.1 %</td>" in model._repr_html_()


@pytest.mark.parametrize(("n_trusted", "n_local", "only"), [(0, 20_000, "local"), (3000, 0, "trusted")])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_one_group(n_trusted: int, n_local: int, only: str, d: int) -> None:
    story = _story(n_trusted, n_local, d)
    assert f"There was only the {only} group, so this is the answer of a single model, not a hybrid." in story
    assert "± is one standard error, of noise and sampling" in story
    assert ("in 1 dimension." in story) == (d == 1)
    assert "decided" not in story


def test_a_trusted_group_that_cannot_help_is_not_used_and_pays_nothing() -> None:
    story = _story(10, 20_000, 5)
    assert "The trusted group was not used: at ε = 2 it is too small to help in 5 dimensions. It paid nothing" in story
    assert "this is the answer of the local group alone" in story
    assert "decided" not in story
    assert {cost for _, cost, _ in _spending(story)} == {"-"}
    assert sum(int(users.replace(",", "")) for _, _, users in _spending(story)) == 20_000


def test_a_release_with_and_without_a_ledger() -> None:
    told = _story(500, 5000, ledger=Ledger(Privacy(epsilon=2)), random_state=None)
    assert "simulation" not in told
    assert "No ledger" not in told
    untold = _story(500, 5000, random_state=None)
    assert "No ledger records this study: whoever counts what these users have spent must add it." in untold
    # A simulation is not written down, whatever ledger it is given.
    ledger = Ledger(Privacy(epsilon=2))
    assert "a simulation" in _story(500, 5000, ledger=ledger)
    assert not ledger.events


def test_uncertain_centers_are_named() -> None:
    story = _story(5, 100, n_clusters=4, epsilon=0.5)
    assert "Uncertain, compared with the distance to the next center: 0, 1, 2, 3.\n" in story


def test_the_table_has_a_line_for_each_step_and_costs_add_up() -> None:
    model = HybridKMeans(2, epsilon=2, bounds=[(0, 10)] * 5, random_state=1).fit(_points(5000, 5), _points(20_000, 5))
    steps = [(step.purpose, step.trusted_epsilon, f"{step.local_users:,}") for step in model.spending_]
    assert _spending(model.explain()) == [
        (purpose, "-" if cost == "0" else cost, "-" if users == "0" else users) for purpose, cost, users in steps
    ]
    assert {cost for _, cost, _ in steps} > {"0"}
    assert sum(float(step.trusted_epsilon) for step in model.spending_) == pytest.approx(2)
    assert sum(step.local_users for step in model.spending_) == 20_000


def test_many_coordinates_are_cut_short() -> None:
    assert ", …)" in _story(5000, 20_000, 8)
    assert "…" not in _story(500, 5000, 3)


def test_one_center_has_no_next_one() -> None:
    story = _story(500, 5000, n_clusters=1)
    assert "visits: 1 center in 2 dimensions." in story
    assert "next one" not in story


def test_noise_beyond_a_cluster_is_no_percentage() -> None:
    """All users at one place: most of the centers have nobody, and may be anywhere."""
    same = np.full((1000, 2), 0.37)
    model = HybridKMeans(3, epsilon=7, bounds=[(0, 1)] * 2, random_state=1).fit(same)
    assert model.doubt_ > 1
    assert " anywhere in a cluster, or outside of it." in model.explain()


def test_there_is_no_story_before_the_end() -> None:
    with pytest.raises(ProtocolError, match="This HybridKMeans is not fitted. Call fit"):
        HybridKMeans(2, epsilon=1, bounds=[(0, 1)]).explain()


def test_a_number_has_as_many_digits_as_its_error_leaves() -> None:
    assert give_or_take(23862.93, 341.2) == "23,863 ± 341"
    assert give_or_take(0.50123, 0.00312) == "0.5012 ± 0.0031"
    assert give_or_take(0.5, 1e-9) == "0.5 ± 1e-09"
