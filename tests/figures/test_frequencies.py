from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybriddp.figures import frequencies
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.shares import Frequencies, FrequencyStudy
from tests.planning.settings import plan_quantiles, plan_shares


def _found(k: int, n: int = 4000, *, name: str = "question", trusted: int = 400) -> Frequencies:
    study = FrequencyStudy(name, categories=[f"item {i}" for i in range(k)], other=False, epsilon=2)
    items = [f"item {min(i % (2 * k), k - 1)}" for i in range(n)]
    local = study.randomize(items[trusted:], random_state=0) if trusted < n else None
    return study.estimate(trusted=items[:trusted], local=local, single_group=local is None, random_state=1)


@pytest.mark.parametrize(("k", "bars", "more"), [(2, 2, ""), (12, 12, ""), (50, 50, ""), (60, 50, "10 more items")])
def test_bars_have_whiskers_and_both_groups_beside_them(k: int, bars: int, more: str) -> None:
    found = _found(k)
    figure = found.plot()
    axes: Any = figure.axes[0]
    assert len(axes.patches) == bars
    assert len(axes.get_yticklabels()) == bars
    widths = [100 * row.value for row in (found.rows() if k <= 50 else found.top(50))]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(widths)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "both groups, 95 % intervals" if k <= 50 else "both groups, 95.8 % intervals",
        "trusted group alone",
        "local group alone",
    ]
    assert more in axes.get_xlabel()


def test_whiskers_are_the_stated_intervals_and_dots_the_groups() -> None:
    found = _found(3)
    bars = frequencies.bars_of(found)
    ends = found.stated_intervals()
    assert bars.lower.tolist() == (100 * ends.lower).tolist()
    assert bars.upper.tolist() == (100 * ends.upper).tolist()
    trusted, local = bars.groups
    assert found.trusted is not None
    assert found.local is not None
    assert trusted.shares.tolist() == (100 * found.trusted.shares).tolist()
    half = 100 * 1.96 * np.sqrt(found.local.variance(found.shares))
    assert (local.upper - local.shares).tolist() == pytest.approx(half.tolist(), rel=1e-3)


def test_one_group_alone_has_no_legend() -> None:
    figure = _found(3, n=400).plot()
    assert not figure.legends
    assert len(figure.axes[0].patches) == 3


def test_parts_stand_side_by_side(tmp_path: Path) -> None:
    parts = [_found(4, name=f"part {i}") for i in range(4)]
    figure = frequencies.draw(parts, path=tmp_path / "parts.svg")
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert len(shown) == 4
    assert "part 3" in shown[3].get_title(loc="left")


def test_names_are_shown_as_they_are_and_long_ones_keep_their_ends(tmp_path: Path) -> None:
    assert frequencies.short("a" * 32) == "a" * 32
    long = "an item with a rather long name that ends in number 17"
    label = frequencies.short(long)
    assert len(label) <= 32
    assert label.endswith("number 17")
    study = FrequencyStudy("in $ or $x_{", categories=["$x^$", "b"], epsilon=2)
    found = study.estimate(trusted=["b"] * 300, local=None, single_group=True, random_state=1)
    found.plot(tmp_path / "cost.svg")
    text = (tmp_path / "cost.svg").read_text()
    assert "<!-- $x^$ -->" in text
    assert "in $ or $x_{, ε = 2 (a simulation)" in text


def test_heavy_hitters_are_bars_too() -> None:
    study = HeavyHitterStudy("fruit", epsilon=2, delta=1e-6)
    people = ["apple"] * 6000 + ["pear"] * 3000 + ["quince"] * 10
    released = study.release(people[::10], random_state=1)
    reports = study.question(released).randomize([x for i, x in enumerate(people) if i % 10], random_state=2)
    found = study.estimate(trusted=released, local=reports, random_state=3)
    axes: Any = found.plot().axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["apple", "pear"]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx((100 * found.shares).tolist())
    nothing = study.estimate(
        trusted=study.release(["a", "b", "c"], random_state=1), local=None, single_group=True, random_state=1
    )
    (empty,) = nothing.plot().axes
    assert [label.get_text() for label in empty.get_yticklabels()] == ["(none)"]


def test_a_plan_is_shares_and_errors_by_rank(tmp_path: Path) -> None:
    made = plan_shares(n_users=10**5, trusted_fraction=0.05, epsilon=1, delta=1e-6, n_items=500)
    (axes,) = made.plot(tmp_path / "plan.png").axes
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
    assert len(axes.get_lines()) == 4
    assert len(axes.collections) == 1  # what is not listed
    (public,) = made.with_dictionary().plot().axes
    assert not public.collections
    (quantiles,) = plan_quantiles(n_users=10**4, trusted_fraction=0.05, bounds=(0, 1)).plot().axes
    assert len(quantiles.get_lines()) == 3
