import re

import numpy as np
import pytest

from hybriddp import HeavyHitterStudy
from hybriddp.items.estimate import HeavyHitters
from hybriddp.service.pages.items import curator_items_page, items_page
from hybriddp.service.pages.result import downloads

AWKWARD = "<script>alert(1)</script>"


def found(items: list[str]) -> HeavyHitters:
    study = HeavyHitterStudy("which <word>", epsilon=4, delta="0.000001")
    released = study.release(study.summarize_trusted(items), random_state=1)
    reports = study.question(released).randomize(items * 5, random_state=2) if released.items else None
    return study.estimate(trusted=released, local=reports, single_group=True)


@pytest.mark.parametrize("page", [items_page, curator_items_page])
def test_everything_is_escaped_and_nothing_is_loaded(page: object) -> None:
    names = [AWKWARD, *(f"w{i}" for i in range(50))]
    text = page(found(list(np.repeat(names, 40))), warnings=["A <warning>."])
    assert "<script" not in text
    assert "<h1>which &lt;word&gt;</h1>" in text
    assert 0 < text.index("A &lt;warning&gt;.") < text.index('class="answer"') < text.index("<svg")
    assert not re.search(r"(?:src|href|url|style)\s*=", text.replace(downloads(), ""))
    assert text.count("<rect") == 30
    assert ("weight on trusted" in text) == (page is curator_items_page)


@pytest.mark.parametrize("page", [items_page, curator_items_page])
def test_a_list_with_nothing_on_it(page: object) -> None:
    text = page(found(["a", "b", "c"]), warnings=[])
    assert "<svg" not in text
    assert "result.svg" not in text
    assert 'class="answer"' in text
