import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from hybriddp.errors import ParameterError
from hybriddp.figures.frequencies import bars_of
from hybriddp.items import HeavyHitters, HeavyHitterStudy
from hybriddp.items.counts import ItemCounts
from hybriddp.shares import Frequencies, FrequencyStudy
from hybriddp.shares.law import GroupShares
from hybriddp.shares.selection import largest, level_words, selected_level, selection_lines
from hybriddp.study.summary import TrustedSummary
from tests.levels import LEVEL

MANY = FrequencyStudy("word", categories=range(200), other=False, epsilon=1)


def _found(study: FrequencyStudy, n_trusted: int, n_local: int, seed: int = 0) -> tuple[Frequencies, np.ndarray]:
    """Zipf's law; and the true shares among the users."""
    k = len(study.categories)
    law = 1 / np.arange(1.0, k + 1)
    rng = np.random.default_rng([k, seed])
    mine, theirs = (rng.multinomial(n, law / law.sum()) for n in (n_trusted, n_local))
    reports = study.randomize(np.repeat(np.arange(k), theirs), random_state=rng)
    counts = TrustedSummary(study.digest, int(mine.sum()), tuple(mine.tolist()))
    return study.estimate(trusted=counts, local=reports, random_state=rng), (mine + theirs) / (n_trusted + n_local)


FOUND, _ = _found(MANY, 200, 2000)


def test_the_level_is_that_of_the_false_coverage_rate() -> None:
    for n, m, level in (
        (1, 2, 0.975),
        (10, 1000, 0.9995),
        (5, 100, 0.9975),
        (2, 2, 0.95),
        (7, 5, 0.95),
        (0, 4, 0.9875),
    ):
        assert selected_level(n, m) == pytest.approx(level)
    assert selected_level(1, 10, 0.5) == pytest.approx(0.95)
    assert selected_level(0, 0) == 0.95


def test_the_first_of_equal_shares_are_the_largest() -> None:
    assert largest(np.full(5, 0.2), 3).tolist() == [0, 1, 2]
    assert largest(np.array([0.1, 0.3, 0.2, 0.3, 0.2]), 3).tolist() == [1, 3, 2]
    assert largest(np.array([-0.1, -0.3]), 9).tolist() == [0, 1]


def test_levels_have_two_digits_of_what_they_miss() -> None:
    levels = (0.5, 0.9, 0.95, 0.975, 0.99975, 1 - 0.05 * 5 / 4043)
    assert [level_words(level) for level in levels] == ["50 %", "90 %", "95 %", "97.5 %", "99.975 %", "99.9938 %"]
    assert selection_lines(3, 3) == []
    (line,) = selection_lines(5, 1000)
    assert line == (
        "The 5 largest of 1,000 shares were selected by their size. So each of their intervals has a level of "
        "99.975 %, and 95 % of those shown hold on average."
    )


def test_every_place_that_selects_has_the_level_of_its_selection() -> None:
    rows, ends = FOUND.top(7), FOUND.stated_intervals(selected_level(7, 200))
    places = [FOUND.items.index(row.name) for row in rows]
    assert [row.interval.lower for row in rows] == ends.lower[places].tolist()
    assert {(row.interval.level, row.selected) for row in rows} == {(selected_level(7, 200), True)}
    plain = FOUND.rows()
    assert {(row.interval.level, row.selected) for row in plain} == {(0.95, False)}
    assert all(row.interval.half_width > plain[i].interval.half_width for row, i in zip(rows, places, strict=True))
    assert str(FOUND).endswith(
        "[95 % intervals for the 5 largest of 200, if the groups are alike]. A simulation: NOT a private release."
    )
    assert selection_lines(5, 200)[0] in FOUND.explain()
    console = Console(width=250)
    with console.capture() as shown:
        console.print(FOUND)
    assert selection_lines(20, 200)[0] in " ".join(shown.get().split())
    bars = bars_of(FOUND)
    first = FOUND.top(50)
    assert bars.level == first[0].interval.level
    assert bars.upper.tolist() == [100 * row.interval.upper for row in first]


def test_plain_values_carry_level_and_selection() -> None:
    content = FOUND.to_dict()
    assert [(row["level"], row["selected"]) for row in content["rows"]] == [(0.95, False)] * 200
    chosen, rows = content["largest"], FOUND.top(30)
    assert [row["name"] for row in chosen] == [row.name for row in rows]
    assert {(row["level"], row["selected"]) for row in chosen} == {(selected_level(30, 200), True)}
    assert all(low["lower"] <= row.lower for low, row in zip(chosen, rows, strict=True))
    assert FOUND.from_json(FOUND.to_json()).to_dict() == content
    wide = FOUND.published(level=0.8, top=10).rows
    assert [(row.level, row.selected) for row in wide] == [(selected_level(10, 200, 0.8), True)] * 10
    everything = FOUND.published(top=500).rows
    assert {(row.level, row.selected) for row in everything} == {(0.95, False)}
    for wrong in (0, 1.5, True):
        with pytest.raises(ParameterError, match="^top must be"):
            FOUND.published(top=wrong)
    with pytest.raises(ParameterError, match="^level must be"):
        FOUND.published(level=95, top=3)


def test_two_categories_and_equal_shares() -> None:
    study = FrequencyStudy("x", categories=["yes", "no"], epsilon=1)
    found = study.estimate(trusted=["yes", "no"] * 50, local=study.randomize(["yes", "no"] * 50, random_state=1))
    assert [row.interval.level for row in found.top(1)] == [0.975]
    assert [row.interval.level for row in found.top(2)] == [0.95, 0.95]
    assert "largest" not in found.explain()
    equal = GroupShares(100, np.full(200, 0.005), 1e-4)
    same = Frequencies(MANY, FOUND.blend.__class__(None, equal, np.zeros(200), None, 100), privacy=FOUND.privacy)
    assert [row.name for row in same.top(3)] == [0, 1, 2]
    assert len({(row.value, row.interval) for row in same.top(10)}) == 1


def _listed(n: int) -> HeavyHitters:
    study = HeavyHitterStudy("items", epsilon=4, delta=1e-6)
    held = {f"item {i}": 400 - 5 * i for i in range(n)}
    counts = ItemCounts(study.digest, sum(held.values()), held)
    return study.estimate(trusted=study.release(counts, random_state=1), local=None, single_group=True)


def test_selected_items_of_a_list() -> None:
    found = _listed(40)
    rows, ends = found.top(4), found.stated_intervals(selected_level(4, 40))
    assert [row.interval.upper for row in rows] == ends.upper[:4].tolist()
    assert all(row.selected for row in rows)
    assert "[95 % intervals for the 5 largest of 40 of the noise only]" in str(found)
    assert selection_lines(5, 40)[0] in found.explain()
    content = found.to_dict()
    assert ({row["level"] for row in content["rows"]}, len(content["largest"])) == ({0.95}, 30)
    assert found.published(top=3).to_pandas()["level"].tolist() == [selected_level(3, 40)] * 3
    assert all(row.selected for row in found.published(top=3).rows)


def test_a_list_without_items_selects_nothing() -> None:
    study = HeavyHitterStudy("items", epsilon=1, delta=1e-6)
    empty = study.estimate(trusted=study.release(["a", "b"], random_state=1), local=None, single_group=True)
    assert (empty.top(3), empty.rows(), empty.to_dict()["largest"]) == ([], [], None)
    assert (len(empty.published(top=3).to_pandas()), empty.published(top=3).rows) == (0, ())


@pytest.mark.statistical
def test_selected_intervals_hold_and_plain_ones_do_not() -> None:
    """At least 93 % of the 10 largest of 200 shares in 50 studies; plain intervals hold far less often.

    Misses of one study are nearly independent, being those of separate noise. Plain intervals are 40 % too narrow.
    """
    misses, plain, n = 0, 0, 0
    for seed in range(50):
        found, truth = _found(MANY, 50, 2000, seed)
        rows = {row.name: row.interval for row in found.top(10)}
        ends = found.stated_intervals()
        for item, interval in rows.items():
            n += 1
            i = int(item)
            misses += truth[i] not in interval
            plain += not ends.lower[i] <= truth[i] <= ends.upper[i]
    most = stats.binom.isf(LEVEL / 2, n, 0.07)
    assert misses <= most
    assert plain > most
