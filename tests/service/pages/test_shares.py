import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from hybriddp import FrequencyStudy
from hybriddp.service.pages.result import downloads
from hybriddp.service.pages.shares import bars, curator_shares_page, shares_page
from hybriddp.shares import Frequencies

AWKWARD = '<script>alert(1)</script> & "quotes" \'n more of it'


def found(n_categories: int = 3, *, local: bool = True) -> Frequencies:
    categories = [AWKWARD, *(f"c{i}" for i in range(1, n_categories))]
    study = FrequencyStudy("which <one>", categories=categories, other=False, epsilon=1.0)
    items = np.array(categories)[np.random.default_rng(0).integers(0, n_categories, 3000)].tolist()
    reports = study.randomize(items[500:], random_state=1) if local else None
    return study.estimate(trusted=items[:500], local=reports, single_group=True, random_state=2)


@pytest.mark.parametrize("page", [shares_page, curator_shares_page])
@pytest.mark.parametrize("n_categories", [2, 40, 600])
def test_everything_is_escaped_and_nothing_is_loaded(page: object, n_categories: int) -> None:
    text = page(found(n_categories), warnings=["A <warning>."])
    assert "<script" not in text
    assert "<h1>which &lt;one&gt;</h1>" in text
    assert 0 < text.index("A &lt;warning&gt;.") < text.index('class="answer"') < text.index("<svg")
    assert not re.search(
        r"(?:src|href|url|style)\s*=", text.replace(downloads(), "")
    )  # the content policy forbids what these load
    assert ("The 30 largest of" in text) == (n_categories > 30)
    assert ("The 500 largest of 600 shares are in the table" in text) == (n_categories > 500)


def test_bars_are_as_long_as_shares() -> None:
    rows = found(3).rows()
    drawing = ET.fromstring(bars(rows))  # noqa: S314  (our own)
    widths = [float(bar.get("width", "")) for bar in drawing.iter("rect")]
    shares = [row.value for row in rows]
    assert widths == pytest.approx([share * widths[0] / shares[0] for share in shares], abs=0.2)
    assert max(widths) <= 400
    lines = [line for line in drawing.iter("line") if line.get("stroke-width")]
    assert all(float(line.get("x1", "")) < float(line.get("x2", "")) for line in lines)
    assert len(lines) == 3


def test_a_long_name_is_cut() -> None:
    (first, *_) = (text.text or "" for text in ET.fromstring(bars(found().rows())).iter("text"))  # noqa: S314
    assert first == f"{AWKWARD[:25]}…"


def test_a_curator_sees_the_groups_and_everybody_does_not() -> None:
    both = found()
    assert "weight on trusted" in curator_shares_page(both, warnings=[])
    assert "weight on" not in shares_page(both, warnings=[])
    assert "500 trusted participants and 2,500 local participants" in shares_page(both, warnings=[])
    assert "single model" in curator_shares_page(found(local=False), warnings=[])


def test_shares_of_nothing_can_be_drawn() -> None:
    assert bars([]).startswith("<svg")
