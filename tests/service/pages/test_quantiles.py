import re

import numpy as np
import pytest

from hybriddp import DistributionStudy
from hybriddp.distribution import DistributionEstimate
from hybriddp.service.pages.quantiles import curator_quantiles_page, quantiles_page
from hybriddp.service.pages.result import downloads


def found(*, local: bool = True) -> DistributionEstimate:
    study = DistributionStudy("<script>pay</script>", bounds=(0, 10_000), epsilon=1.0, scale="log")
    values = np.random.default_rng(0).lognormal(6.0, 0.8, 20_000)
    reports = study.randomize(values[500:], random_state=1) if local else None
    return study.estimate(trusted=values[:500], local=reports, single_group=True, random_state=2)


BOTH = found()


@pytest.mark.parametrize("page", [quantiles_page, curator_quantiles_page])
def test_everything_is_escaped_and_nothing_is_loaded(page: object) -> None:
    text = page(BOTH, warnings=["A <warning>."])
    assert "<script" not in text
    assert "<h1>&lt;script&gt;pay&lt;/script&gt;</h1>" in text
    assert 0 < text.index("A &lt;warning&gt;.") < text.index('class="answer"') < text.index("<svg") < text.index("<td>")
    assert not re.search(
        r"(?:src|href|url|style)\s*=", text.replace(downloads(), "")
    )  # the content policy forbids what these load
    for name, value, interval, _ in BOTH.cells():
        assert f"<td>{name}</td><td>{value}</td><td>{interval}</td>" in text


def test_a_curator_sees_the_groups_and_everybody_does_not() -> None:
    public, own = quantiles_page(BOTH, warnings=[]), curator_quantiles_page(BOTH, warnings=[])
    for words in ("trusted alone", "local alone", "If the groups may differ", "by-product"):
        assert words in own
        assert words not in public
    assert (public.count("<polyline"), own.count("<polyline")) == (1, 3)
    assert "500 trusted participants and 19,500 local participants" in public
    assert "The intervals assume that those who trust are like those who do not." in public


def test_the_second_table_assumes_nothing() -> None:
    own = curator_quantiles_page(BOTH, warnings=[])
    for name, value, interval, _ in BOTH.allowing_groups_to_differ().cells():
        assert f"<td>{name}</td><td>{value}</td><td>{interval}</td>" in own[own.index("may differ</h2>") :]


def test_one_group() -> None:
    alone = found(local=False)
    own = curator_quantiles_page(alone, warnings=[])
    assert "single model" in own
    assert "may differ</h2>" not in own
    assert "are like those who do not" not in quantiles_page(alone, warnings=[])
