import numpy as np
import pytest

from hybriddp.mean import Estimate, MeanStudy, diagnostics
from hybriddp.reporting.wording import HEADING

STUDY = MeanStudy("minutes", bounds=(0, 240), epsilon=1)


def _estimate(trusted: float, local: float) -> Estimate:
    reports = STUDY.randomize(np.full(100_000, local), random_state=1)
    return STUDY.estimate(trusted=np.full(2000, trusted), local=reports, random_state=2)


@pytest.mark.parametrize(("value", "side"), [(240.0, "upper"), (0.5, "lower"), (236.0, "upper"), (10.0, None)])
def test_an_answer_at_a_bound_asks_for_the_units(value: float, side: str | None) -> None:
    estimate = _estimate(value, value)
    assert [f"at the {side} bound" in warning for warning in estimate.warnings] == [True] * (side is not None)
    assert ("check the units and the bounds" in str(estimate)) == (side is not None)


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
    texts = (estimate.explain(), estimate.to_html(), estimate.to_json(full=True), repr(estimate), repr(trusted))
    for shown in texts:
        assert "777" not in shown
        assert "39 %" not in shown


def test_diagnostics_of_many_parts_are_added_up() -> None:
    one, none = STUDY.summarize_trusted([300.0, 1.0]), None
    text = diagnostics([one, one, none], [STUDY.summarize_local(STUDY.randomize([1.0])), None])
    assert "2 of 4 values (50 %)" in text
    assert "1 counted, all tied to the study" in text
    assert diagnostics(None, None) == HEADING
    assert "Check" not in diagnostics(STUDY.summarize_trusted([1.0] * 99 + [300.0]), None)


# Groups and pictures


def test_one_group_alone_is_named_so() -> None:
    both = _estimate(100, 100)
    assert [row[0] for row in both.cells()] == ["trusted alone", "local alone", "hybrid"]
    alone = STUDY.estimate(trusted=[100.0] * 9, local=None, single_group=True)
    assert [row[0] for row in alone.cells()] == ["trusted only"]
    reports = STUDY.randomize([100.0] * 99)
    assert [row[0] for row in STUDY.estimate(trusted=None, local=reports, single_group=True).cells()] == ["local only"]


def test_the_picture_has_one_bar_per_answer() -> None:
    (axes,) = _estimate(100, 100).plot().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["trusted alone", "local alone", "hybrid"]
    assert "a simulation" in axes.get_title(loc="left")
