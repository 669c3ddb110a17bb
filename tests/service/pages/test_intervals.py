import re

import numpy as np
import pytest

from hybriddp import MeanStudy
from hybriddp.mean import Estimate
from hybriddp.mean.explain import published_rows
from hybriddp.service.kinds import Gathered, MeanKind
from hybriddp.service.pages.intervals import interval_blocks
from tests.service.pages.test_operator import Read

STUDY = MeanStudy("minutes", bounds=(0, 240), epsilon=1)
KIND = MeanKind(STUDY)


def _estimate(n_trusted: int, n_local: int, study: MeanStudy = STUDY) -> Estimate:
    low, high = study.bounds
    trusted, values = np.full(n_trusted, low + 0.4 * (high - low)), np.linspace(low, high, n_local)
    local = study.randomize(values, random_state=1)
    return study.estimate(trusted=trusted, local=local, single_group=True, random_state=3)


def _places(drawing: str, name: str) -> list[float]:
    return [float(x) for x in re.findall(rf'{name}="([-0-9.]+)"', drawing)]


def test_both_groups_and_the_answer_are_drawn_with_the_numbers_that_may_be_published() -> None:
    estimate = _estimate(200, 5000)
    drawing, words = interval_blocks(estimate)
    rows = published_rows(estimate)
    assert [row.name for row in rows] == ["trusted alone", "local alone", "hybrid"]
    (said,) = Read(drawing).all("aria-label")
    for name, row in zip(("Trusted group alone, 200", "Local group alone, 5,000", "Both groups"), rows, strict=True):
        assert name in said
        assert f"{row.value:.1f}, between {row.interval.lower:.1f} and {row.interval.upper:.1f}" in said
        assert f">{row.value:.1f} ({row.interval.lower:.1f} … {row.interval.upper:.1f})<" in drawing
    assert drawing.count("<circle") == 3
    assert "a part of 0 to 240" in words
    assert "arrow" not in words


def test_values_are_where_the_scale_says() -> None:
    drawing, _ = interval_blocks(_estimate(200, 5000))
    found = re.findall('<text x="([0-9.]+)" y="[0-9]+" text-anchor="[a-z]+">([0-9.]+)<', drawing)
    ticks = {float(words): float(x) for x, words in found}
    (first, x0), *_, (last, x1) = sorted(ticks.items())
    rows = published_rows(_estimate(200, 5000))
    for row, place in zip(rows, _places(drawing, "cx"), strict=True):
        assert place == pytest.approx(x0 + (row.value - first) * (x1 - x0) / (last - first), abs=0.2)


def test_a_wide_interval_is_cut_so_that_the_answer_stays_visible() -> None:
    drawing, words = interval_blocks(_estimate(4, 25_000))
    assert "<path" in drawing
    assert "A line with an arrow goes on" in words
    lengths = [right - left for left, right in zip(_places(drawing, "x1"), _places(drawing, "x2"), strict=True)]
    assert max(lengths) / lengths[-1] < 30
    assert all(0 <= x <= 420 for name in ("x1", "x2", "cx") for x in _places(drawing, name))


def test_one_group_is_drawn_alone() -> None:
    drawing, _ = interval_blocks(_estimate(0, 5000))
    assert drawing.count("<circle") == 1
    assert "Local group, 5,000 participants" in drawing


def test_long_numbers_do_not_stand_in_the_drawing() -> None:
    study = MeanStudy("far", bounds=(1e15, 1e15 + 10), epsilon=1)
    drawing, _ = interval_blocks(_estimate(200, 5000, study))
    assert "1,000,000,000" in Read(drawing).all("aria-label")[0]
    assert max(len(words) for words in re.findall(">([^<]*)<", drawing)) <= 50


def test_the_result_page_has_the_drawing_and_the_result_the_groups() -> None:
    released = KIND.release(Gathered(3, 3 << 22, {7: 2, 200: 1}), single_group=False, ledger=None)
    assert 'class="intervals"' in released.page
    assert [row["name"] for row in released.result["groups"]] == ["trusted alone", "local alone"]
    alone = KIND.release(Gathered(3, 3 << 22, {}), single_group=True, ledger=None)
    assert alone.result["groups"] == []
