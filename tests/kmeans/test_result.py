"""What a result says of itself in every mode: in words, as JSON, as tables, and as a page with a drawing."""

import json
import re
from dataclasses import replace
from functools import cache
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from hybriddp._check import FloatArray
from hybriddp.errors import DataError, ProtocolError
from hybriddp.kmeans import HybridKMeans, HybridKMeansServer, KMeansResult, KMeansStudy
from hybriddp.kmeans.algorithm.problem import Doubts
from hybriddp.kmeans.report import doubt_words, give_or_take
from hybriddp.kmeans.result import PublishedCenters
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.reporting.wording import SIMULATION, significant
from tests.levels import z_limit

DOUBT = "Doubtful: may cost over 1.2 times as much as the best centers (WCSS)."
HELP = "More users, a larger ε or fewer clusters would help."


def _points(n: int, d: int = 2) -> FloatArray:
    rng = np.random.default_rng([n, d])
    return np.clip(rng.choice([[2.0] * d, [8.0] * d], n) + 0.3 * rng.standard_normal((n, d)), 0, 10)


def _fit(n_trusted: int, n_local: int, d: int = 2, ledger: Ledger | None = None, **change: Any) -> KMeansResult:
    parameters: dict[str, Any] = {"n_clusters": 2, "epsilon": 2, "bounds": [(0, 10)] * d, "random_state": 1}
    model = HybridKMeans(**{**parameters, "name": "visits", **change})
    return model.fit(_points(n_trusted, d), _points(n_local, d), ledger=ledger).result_


@cache
def _usual() -> KMeansResult:
    return _fit(500, 20_000)


def _spending(result: KMeansResult) -> list[tuple[str, str, str]]:
    """Each step's purpose, trusted ε and local reports, as the table shows them."""
    heads, *steps = (re.split("  +", line) for line in result.explain().split("\n\n")[1].splitlines())
    assert heads == ["step", "trusted ε", "local reports"]
    return [(purpose, cost, users) for purpose, cost, users in steps]


# In words


def test_both_groups() -> None:
    story = _usual().explain()
    assert story.startswith(
        "visits: 2 centers in 2 dimensions.\nOf 20,500 users 500 trusted the curator and 20,000 reported locally."
    )
    for words in (
        "The trusted group, 2.4 % of the users, decided",
        "refinement, round 2 of 2",
        "Local users report once",
        "No center is uncertain through noise",
        "Not doubtful: noise puts no center off by more than",
        SIMULATION,
    ):
        assert words in story
    assert "single model" not in story
    assert "bout" not in story


def test_a_doubtful_answer_gives_the_reasons() -> None:
    for d in (2, 5):
        result = _fit(20, 2000, d, n_clusters=8, epsilon=1)
        story = result.explain()
        assert f"{DOUBT}\n" in story
        assert result.doubts.noisy
        off = f"off, by up to {significant(100 * result.doubt**0.5, 2)} % of the typical distance"
        assert (off if result.doubt < 1 else " anywhere in a cluster, or outside of it.") in story
        assert "Not doubtful" not in story
        assert f"{DOUBT.removesuffix(' (WCSS).')}: {doubt_words(result)}." in result._repr_html_()
        assert ("Other first centers looked even better" in story) == result.doubts.contested
        assert story.count("may be empty") == len(result.doubts.empty) + bool(result.doubts.empty)
    assert not _usual().doubtful
    for doubts, words, reason in (
        (Doubts((1,), (), (), contested=False), "center 1 may be empty", "Center 1 may be empty: its size is not "),
        (Doubts((), (0, 1), (), contested=False), "the grid cannot tell centers 0 and 1 apart", "Centers 0 and 1 are"),
        (Doubts((), (), (), contested=True), "other first centers looked better", "Other first centers looked even"),
        (Doubts((), (), (1,), contested=False), "much noise on center 1", "Noise may put center 1 off, by up to "),
    ):
        result = replace(_usual(), doubts=doubts)
        assert doubt_words(result) == words
        lines = result.explain().split("\n\n")[3].splitlines()
        assert lines[0] == DOUBT
        assert lines[1].startswith(reason)
        assert lines[-1].endswith(HELP)
        assert lines[-1].startswith("Check the bounds first") == bool(doubts.empty or doubts.close)
        assert ("The other centers are as certain as their standard errors say" in lines[2]) == bool(doubts.noisy)
        assert ("% of the users; may be empty" in result.explain()) == bool(doubts.empty)


@pytest.mark.parametrize("factor", [40, 100])
@pytest.mark.parametrize("epsilon", [1, 7])
def test_bounds_that_are_far_too_wide_are_doubtful(factor: int, epsilon: float) -> None:
    result = _fit(200, 20_000, epsilon=epsilon, bounds=[(0, 10 * factor)] * 2, random_state=3)
    assert result.doubts.empty or result.doubts.close
    assert "Check the bounds first: far wider ones than the points need can do this." in result.explain()


def test_sizes_come_with_their_errors() -> None:
    result = _usual()
    assert result.size_errors.shape == (2,)
    assert np.all(np.abs(result.sizes - 0.5) < z_limit(2) * result.size_errors)
    result = replace(result, sizes=np.array([0.0312, 0.96881]), size_errors=np.array([0.0134, 0.00121]))
    assert "), 3 ± 1 % of the users" in result.explain()
    assert "<td>96.9 ± 0.1 %</td>" in result._repr_html_()
    assert give_or_take(23862.93, 341.2) == "23,863 ± 341"
    assert give_or_take(0.50123, 0.00312) == "0.5012 ± 0.0031"
    assert give_or_take(0.5, 1e-9) == "0.5 ± 1e-09"


@pytest.mark.parametrize("d", [1, 2, 5])
def test_one_group(d: int) -> None:
    for n_trusted, n_local, only in ((0, 20_000, "local"), (3000, 0, "trusted")):
        story = _fit(n_trusted, n_local, d).explain()
        assert f"There was only the {only} group, so this is the answer of a single model, not a hybrid." in story
        assert "± is one standard error, of noise and sampling" in story
        assert ("in 1 dimension." in story) == (d == 1)
        assert "decided" not in story


def test_a_trusted_group_that_cannot_help_is_not_used_and_pays_nothing() -> None:
    result = _fit(10, 20_000, 5)
    assert "The trusted group was not used: at ε = 2 it is too small to help in 5 dimensions." in result.explain()
    assert "It paid nothing, and this is the answer of the local group alone" in result.explain()
    assert "decided" not in result.explain()
    assert {cost for _, cost, _ in _spending(result)} == {"-"}
    assert sum(int(users.replace(",", "")) for _, _, users in _spending(result)) == 20_000
    assert not result.privacy.released


def test_a_release_with_and_without_a_ledger() -> None:
    ledger = Ledger(Privacy(epsilon=2))
    counted = _fit(500, 5000, ledger=ledger, random_state=None)
    assert (counted.privacy.counted, counted.privacy.seeded, counted.privacy.released) == (True, False, True)
    assert "simulation" not in counted.explain()
    assert "Nobody is counting" not in counted.explain()
    assert "Nobody is counting" in _fit(500, 5000, random_state=None).explain()
    # A simulation is not written down, whatever ledger it is given.
    ledger = Ledger(Privacy(epsilon=2))
    simulated = _fit(500, 5000, ledger=ledger)
    assert (simulated.privacy.counted, simulated.privacy.seeded) == (False, True)
    assert not ledger.events


def test_the_table_has_a_line_for_each_step_and_costs_add_up() -> None:
    result = _fit(5000, 20_000, 5)
    steps = [(step.purpose, step.trusted_epsilon, f"{step.local_users:,}") for step in result.steps]
    shown = [(purpose, "-" if cost == "0" else cost, "-" if users == "0" else users) for purpose, cost, users in steps]
    assert _spending(result) == shown
    assert {cost for _, cost, _ in steps} > {"0"}
    assert sum(float(step.trusted_epsilon) for step in result.steps) == pytest.approx(2)
    assert sum(step.local_users for step in result.steps) == result.n_answered == 20_000


def test_odd_numbers_of_centers_and_dimensions() -> None:
    names = "Uncertain, compared with the distance to the next center: 0, 1, 2, 3.\n"
    assert names in _fit(5, 100, n_clusters=4, epsilon=0.5).explain()
    assert ", …)" in _fit(5000, 20_000, 8).explain()
    assert "…" not in _fit(500, 5000, 3).explain()
    alone = _fit(500, 5000, n_clusters=1).explain()
    assert "visits: 1 center in 2 dimensions." in alone
    assert "next one" not in alone
    # All users at one place: most of the centers have nobody, and may be anywhere.
    same = HybridKMeans(3, epsilon=7, bounds=[(0, 1)] * 2, random_state=1).fit(np.full((1000, 2), 0.37)).result_
    assert same.doubt > 1
    assert " anywhere in a cluster, or outside of it." in same.explain()
    points = np.random.default_rng(0).random((2000, 5))
    many = HybridKMeans(5, epsilon=4, bounds=[(0, 1)] * 5, random_state=1).fit(points[:1000], points[1000:]).result_
    assert "; and others." in many.answer
    assert ", …)" in many.answer


# As plain values


def test_plain_values_have_the_names_of_other_results() -> None:
    result = replace(_usual(), columns=("age", "income"))
    plain = json.loads(result.to_json())
    assert plain == json.loads(json.dumps(result.to_dict()))
    assert (plain["type"], plain["version"], plain["study"]) == ("kmeans", 1, "visits")
    assert (plain["n_trusted"], plain["n_local"], plain["n_answered"]) == (500, 20_000, 20_000)
    assert plain["digest"] == result.study.digest
    assert plain["privacy"] == json.loads(json.dumps(result.privacy.to_dict()))
    assert plain["centers"] == result.centers.tolist()
    assert plain["columns"] == ["age", "income"]
    assert sum(float(step["trusted_epsilon"]) for step in plain["steps"]) <= 2
    assert [(row["name"], row["value"]) for row in plain["rows"]] == list(enumerate(result.sizes.tolist()))
    assert str(result).startswith("visits: 2 centers; ")
    assert repr(result).startswith("KMeansResult('visits': 2 centers in 2 dimensions, ε = 2, a simulation")
    again = KMeansResult.from_json(result.to_json())
    assert isinstance(again, PublishedCenters)
    assert json.loads(again.to_json()) == plain
    for wrong in ("{}", result.to_json().replace('"kmeans"', '"mean"', 1)):
        with pytest.raises(DataError, match="no released result"):
            KMeansResult.from_json(wrong)


def test_a_table_has_a_row_for_each_center() -> None:
    result = replace(_usual(), columns=("age", "income"))
    table = result.to_pandas()
    assert isinstance(table, pd.DataFrame)
    np.testing.assert_array_equal(table[["age", "income"]], result.centers)
    np.testing.assert_array_equal(table["income (error)"], result.standard_errors[:, 1])
    assert table["size"].sum() == pytest.approx(1)


def test_a_server_that_has_ended_has_a_result() -> None:
    study = KMeansStudy("visits", n_clusters=2, bounds=[(0, 10)], epsilon=2)
    points = np.random.default_rng(0).choice([2.0, 7.0], (500, 1))
    server = HybridKMeansServer(study, n_local=0, trusted=points, random_state=1)
    with pytest.raises(ProtocolError, match="There is no result yet"):
        _ = server.result
    server.start()
    np.testing.assert_array_equal(server.result.centers, server.cluster_centers)
    assert server.result.study == study


def test_nothing_is_shown_before_fit() -> None:
    for show in (HybridKMeans.explain, HybridKMeans.plot):
        with pytest.raises(ProtocolError, match="This HybridKMeans is not fitted. Call fit"):
            show(HybridKMeans(epsilon=1, bounds=[(0, 1)]))


# As a page


@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_the_drawing_is_one_of_the_centers(d: int) -> None:
    result = _fit(1500, 1500, d, epsilon=4, name="visits & more")
    drawn = ElementTree.fromstring(result.drawing())  # noqa: S314  (our own)
    assert len(drawn.findall(".//ellipse")) == 2 * -(-d // 2)
    for page in (result.to_html(), result._repr_html_()):
        assert "<script" not in page
        assert "visits &amp; more" in page
        assert "visits & more" not in page
        assert SIMULATION in page
