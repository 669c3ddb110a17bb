import numpy as np
import pytest

from hybriddp.errors import ParameterError
from hybriddp.items import HeavyHitters, HeavyHitterStudy
from hybriddp.shares import project_to_simplex

ITEMS = np.random.default_rng(3).choice(["sun", "moon", "star"], 9000, p=[0.6, 0.3, 0.1]).tolist()


def _found(**given: object) -> HeavyHitters:
    study = HeavyHitterStudy("sky", **{"epsilon": 2, "delta": 1e-6, **given})
    released = study.release(ITEMS[:2000], random_state=1)
    reports = study.question(released).randomize(ITEMS[2000:], random_state=2)
    return study.estimate(trusted=released, local=reports)


FOUND = _found()


def test_rows_columns_and_texts_agree() -> None:
    rows, ends = FOUND.rows(), FOUND.intervals()
    assert [row.name for row in rows] == list(FOUND.items) == ["sun", "moon", "star"]
    assert len(FOUND) == 3
    for i, row in enumerate(rows):
        assert (row.value, row.standard_error) == (FOUND.shares[i], FOUND.standard_errors[i])
        assert (row.lower, row.upper) == (ends.lower[i], ends.upper[i])
        assert row.lower < row.value < row.upper
    plain = FOUND.to_dict(full=True)
    assert [row["weight"] for row in plain["curator"]["rows"]] == FOUND.weight.tolist()
    assert FOUND.from_json(FOUND.to_json(full=True)).to_dict() == plain
    assert [row.name for row in FOUND.top(2)] == ["sun", "moon"]
    assert FOUND.top(3) == FOUND.top(99) == rows
    assert not any(row.selected for row in rows)


def test_intervals_that_assume_nothing_are_wider() -> None:
    alike, honest = FOUND.intervals(), FOUND.intervals(groups_may_differ=True)
    population = FOUND.intervals(population=True)
    assert np.all(honest.upper - honest.lower > alike.upper - alike.lower)
    assert np.all(population.upper - population.lower > alike.upper - alike.lower)


def test_a_distribution_is_the_projection_of_all_shares() -> None:
    distribution = FOUND.distribution()
    assert list(distribution) == ["sun", "moon", "star", "(other)"]
    assert sum(distribution.values()) == pytest.approx(1)
    np.testing.assert_allclose(list(distribution.values()), project_to_simplex(FOUND.blend.shares))


def test_it_explains_itself() -> None:
    told = FOUND.explain()
    for words in (
        "sky: sun: ",
        "reached 15 trusted users, noise included",
        "only one person has is shown with a probability of",
        "a public dictionary (domain=…), where there is one, finds more",
    ):
        assert words in told
    assert str(FOUND).startswith("sky: sun: ")
    assert repr(FOUND) == "HeavyHitters('sky': 3 items by list, ε = 2, a simulation)"
    assert "noise only" not in told
    alone = FOUND.study.estimate(
        trusted=FOUND.study.release(ITEMS[:2000], random_state=1), local=None, single_group=True
    )
    assert "[95 % intervals of the noise only]" in str(alone)
    assert "about the shares among these trusted users and contain the noise only" in alone.explain()


def test_it_draws_itself() -> None:
    figure = FOUND.plot()
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["sun", "moon", "star"]


@pytest.mark.parametrize("bad", [0, -1, 1.5])
def test_the_number_of_rows_is_checked(bad: object) -> None:
    with pytest.raises(ParameterError, match="^n must be"):
        FOUND.top(bad)


def test_rows_and_texts_have_the_stated_intervals() -> None:
    study = HeavyHitterStudy("words", epsilon=2, delta=1e-6)
    released = study.release(["a"] * 1500 + ["b"] * 500, random_state=1)
    reports = study.question(released).randomize(["a"] * 1500 + ["b"] * 2500, random_state=1)
    found = study.estimate(trusted=released, local=reports)
    honest, stated = found.intervals(groups_may_differ=True), found.stated_intervals()
    assert found.divergence is not None
    assert found.divergence.clearly_differ
    for i in range(2):
        assert (stated.lower[i], stated.upper[i]) == tuple(found.rows()[i].interval)[:2]
        assert stated.lower[i] <= honest.lower[i]
        assert stated.upper[i] >= honest.upper[i]
    assert not found.assumes_groups_alike
    assert "the intervals are those that hold however much they do" in found.explain()
