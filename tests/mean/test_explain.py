import io

import numpy as np
import pytest
from rich.console import Console

from hybriddp.mean import Estimate, MeanStudy, diagnostics
from hybriddp.mean.explain import parts_table, warnings
from hybriddp.mean.page import page
from hybriddp.reporting.wording import HEADING, UNTIED

STUDY = MeanStudy("minutes", bounds=(0, 240), epsilon=1)


def _estimate(trusted: float, local: float, *, tied: bool = True, n: int = 100_000) -> Estimate:
    reports = STUDY.randomize(np.full(n, local), random_state=1)
    return STUDY.estimate(trusted=np.full(2000, trusted), local=reports if tied else reports.codes, random_state=2)


def _shown(estimate: Estimate) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, width=1000)
    console.print(parts_table([estimate]))
    seen, table = " ".join(stream.getvalue().split()), stream.getvalue()
    answer = estimate.published().number(estimate.published().value)
    assert all(warning in seen for warning in warnings(estimate))
    assert not warnings(estimate) or table.index("WARNING") < table.index(answer)  # above the table
    return [str(estimate), estimate.explain(), estimate.to_html(), estimate.to_json(), estimate._repr_html_()]


def test_untied_reports_far_from_the_trusted_group_are_doubted_before_the_number() -> None:
    estimate = _estimate(40, 200, tied=False)
    published = estimate.published()
    for text in _shown(estimate):
        assert text.index("do not use this number yet") < text.index(published.number(published.value))
    first = _estimate(40, 200, tied=False).explain().splitlines()[0]
    assert first.startswith("WARNING: do not use this number yet")
    assert "nothing ties the reports to this study" in first


def test_tied_reports_and_groups_that_agree_are_not_doubted() -> None:
    assert warnings(_estimate(100, 100)) == ()


def test_tied_groups_that_are_far_apart_may_have_other_units() -> None:
    (found,) = warnings(_estimate(40, 200))
    assert "check that both groups' values have the same units" in found
    assert warnings(_estimate(100, 100, tied=False)) == ()


def test_untied_reports_are_said_to_be() -> None:
    untied, tied = _estimate(100, 100, tied=False), _estimate(100, 100)
    assert (untied.tied, tied.tied) == (False, True)
    assert UNTIED in untied.explain()
    assert UNTIED not in tied.explain()
    assert UNTIED in untied.to_html()
    assert untied.to_dict()["tied"] is False
    assert STUDY.estimate(trusted=[1.0] * 5, local=None, single_group=True).tied


@pytest.mark.parametrize(("value", "side"), [(240.0, "upper"), (0.5, "lower"), (236.0, "upper"), (10.0, None)])
def test_an_answer_at_a_bound_asks_for_the_units(value: float, side: str | None) -> None:
    estimate = _estimate(value, value)
    found = " ".join(warnings(estimate))
    if side is None:
        assert not found
        return
    assert f"at the {side} bound" in found
    for text in (*_shown(estimate), page([estimate])):
        assert "check the units and the bounds" in text


def test_values_a_thousand_times_too_large_are_noticed() -> None:
    seconds = np.random.default_rng(0).gamma(2.0, 20.0, 102_000) * 1000
    reports = STUDY.randomize(seconds[2000:], random_state=1)
    estimate = STUDY.estimate(trusted=seconds[:2000], local=reports, random_state=2)
    assert "check the units and the bounds" in str(estimate)


# Diagnostics: for the curator, on request only


def test_diagnostics_count_what_no_result_shows() -> None:
    trusted = STUDY.summarize_trusted([30.0] * 1234 + [9999.0] * 777 + [None] * 55)
    codes = STUDY.randomize(np.full(4000, 100.0), random_state=1)
    local = STUDY.summarize_local([*codes, 300, 301])
    text = diagnostics(trusted, local)
    assert text.startswith(HEADING)
    assert "NOT FOR PUBLICATION" in HEADING
    for words in (
        "2,011 counted",
        "can be used: 55",
        "777 of 2,011 values (38.6 %)",
        "Check the units",
        "2 are no codes",
    ):
        assert words in text
    assert "4,000 counted, not tied" in text
    estimate = STUDY.estimate(trusted=trusted, local=local, random_state=1)
    for shown in (*_shown(estimate), estimate.to_json(full=True), repr(estimate), repr(trusted)):
        assert "777" not in shown
        assert "39 %" not in shown


def test_diagnostics_of_many_parts_are_added_up() -> None:
    one, none = STUDY.summarize_trusted([300.0, 1.0]), None
    text = diagnostics([one, one, none], [STUDY.summarize_local(STUDY.randomize([1.0])), None])
    assert "2 of 4 values (50 %)" in text
    assert "1 counted, all tied to the study" in text
    assert diagnostics(None, None) == HEADING
    assert "Check" not in diagnostics(STUDY.summarize_trusted([1.0] * 99 + [300.0]), None)
