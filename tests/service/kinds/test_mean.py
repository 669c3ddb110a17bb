"""Studies of a mean: what the server takes, turns into integers and releases."""

import json

import numpy as np
import pytest

from hybriddp import MeanStudy
from hybriddp.errors import BudgetError, DataError, ProtocolError
from hybriddp.privacy import Privacy
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.mechanisms import Mechanism
from hybriddp.service.kinds import Gathered, MeanKind, study_kind
from hybriddp.service.problems import Refusal

STUDY = MeanStudy("session minutes", bounds=(0, 240), epsilon=1.0)
KIND = MeanKind(STUDY)


def test_a_kind_is_what_its_text_says() -> None:
    kind = study_kind(STUDY.to_json())
    assert kind == KIND
    assert (kind.name, kind.steps, kind.title) == ("mean", ("release",), "session minutes")
    assert (kind.digest, kind.device_text, kind.text) == (STUDY.digest, STUDY.device_json(), STUDY.to_json())
    assert (kind.privacy, kind.min_group_size) == (STUDY.privacy, STUDY.min_group_size)


def test_a_study_whose_numbers_were_changed() -> None:
    changed = json.loads(STUDY.to_json())
    changed["channel"]["extra"] += 1
    with pytest.raises(ProtocolError):
        study_kind(json.dumps(changed))


def test_studies_that_the_server_does_not_take() -> None:
    with pytest.raises(ProtocolError, match="studies of everybody"):
        MeanKind(MeanStudy("x", bounds=(0, 1), epsilon=1.0).part("country", "DE"))


@pytest.mark.parametrize("code", [0, 1, 255])
def test_a_code_that_a_device_can_send(code: int) -> None:
    assert KIND.report(code) == code


@pytest.mark.parametrize("code", [-1, 256, 2**70, -(2**70)])
def test_a_code_that_no_device_sends(code: int) -> None:
    with pytest.raises(Refusal, match="from 0 to 255") as refused:
        KIND.report(code)
    assert refused.value.reason == "out-of-range"
    assert str(code) not in str(refused.value) or code == 256


@pytest.mark.parametrize(
    ("value", "units"), [(0.0, 0), (-0.0, 0), (240.0, 2**24), (120.0, 2**23), (-1e308, 0), (1e308, 2**24), (5e-324, 0)]
)
def test_a_value_in_units(value: float, units: int) -> None:
    assert KIND.value(value) == units == int(STUDY.grid.units(np.array([value]))[0])
    assert type(KIND.value(value)) is int


def test_a_text_is_no_value() -> None:
    with pytest.raises(Refusal, match="must be a number") as refused:
        KIND.value("37.5")
    assert refused.value.reason == "malformed"


def test_the_release_is_the_study_s_own_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mechanism, "draw", lambda *_: np.int64(77))
    values, codes = [1.0, 100.0, 239.0], [7, 7, 200]
    total = sum(KIND.value(value) for value in values)
    released = KIND.release(Gathered(3, total, {7: 2, 200: 1}), single_group=False, ledger=Ledger(STUDY.privacy))
    expected = STUDY.estimate(trusted=values, local=codes)
    assert released.result["estimate"]["rows"] == expected.to_dict()["rows"]
    assert released.result["estimate"]["privacy"]["counted"]
    assert "session minutes" in released.page


def test_without_a_ledger_everybody_has_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mechanism, "draw", lambda *_: np.int64(0))
    released = KIND.release(Gathered(2, 5, {1: 2}), single_group=False, ledger=None)
    assert released.result["estimate"]["privacy"]["counted"]


def test_a_release_is_paid_for_once() -> None:
    ledger, gathered = Ledger(Privacy.total(epsilon=1.0)), Gathered(2, 5, {1: 2})
    KIND.release(gathered, single_group=False, ledger=ledger)
    with pytest.raises(BudgetError):
        KIND.release(gathered, single_group=False, ledger=ledger)


# What participants send must not stop a release: a closed study cannot be opened again


def test_colluders_are_told_in_the_result_and_on_both_pages() -> None:
    codes = STUDY.randomize(np.linspace(0, 240, 900), random_state=1).codes
    tally = {code: int(count) for code, count in enumerate(np.bincount(codes, minlength=256))}
    tally[17] += 100
    gathered = Gathered(50, 50 * KIND.value(60.0), tally)
    released = KIND.release(gathered, single_group=False, ledger=Ledger(STUDY.privacy), warning="A pilot.")
    estimate = released.result["estimate"]
    assert 50 < estimate["implausible_reports"] <= 100
    words = f"WARNING: at least {estimate['implausible_reports']} of the 1,000 local reports cannot come"
    assert estimate["warnings"][0] == "A pilot."
    assert estimate["warnings"][1].startswith(words)
    assert released.result["answer"].startswith(words)
    assert released.curator_page.index(words) < released.curator_page.index('class="answer"')
    assert released.page.index(words) < released.page.index('class="answer"')


@pytest.mark.parametrize("code", [0, 17, 255])
@pytest.mark.parametrize("n_trusted", [0, 2, 500])
@pytest.mark.parametrize("n_local", [2, 40, 10**6])
@pytest.mark.parametrize("sd", [None, 0.5])
def test_whatever_the_reports_are_there_is_a_release(code: int, n_trusted: int, n_local: int, sd: float | None) -> None:
    kind = MeanKind(MeanStudy("m", bounds=(0, 240), epsilon=1.0, sd_at_most=sd))
    for other in (code, 128):
        gathered = Gathered(n_trusted, 0, {code: n_local, other: n_local})
        estimate = kind.release(gathered, single_group=True, ledger=Ledger(kind.privacy)).result["estimate"]
        (row,) = estimate["rows"]
        assert 0 <= row["lower"] <= row["value"] <= row["upper"] <= 240
        assert estimate["implausible_reports"] > 0 or n_local < 40


def test_a_spread_that_the_reports_refute_is_not_used_and_the_study_is_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Mechanism, "draw", lambda *_: np.int64(77))
    values = np.repeat([0.0, 240.0], 5000)
    plain, told = (MeanKind(MeanStudy("m", bounds=(0, 240), epsilon=3.0, sd_at_most=sd)) for sd in (None, 20.0))
    codes = plain.study.randomize(values, random_state=1).codes
    gathered = Gathered(20, 10 << 24, {code: int(n) for code, n in enumerate(np.bincount(codes))})
    with pytest.raises(
        DataError, match="vary more than sd_at_most=20 allows"
    ):  # whoever can say something else is told
        told.study.estimate(trusted=values[::10], local=plain.study.randomize(values, random_state=1))
    results = {}
    for kind in (plain, told):
        released = kind.release(gathered, single_group=False, ledger=Ledger(kind.privacy))
        results[kind.text] = released.result["estimate"]
        refuted = "the reports vary more than sd_at_most=20 allows"
        assert all((refuted in text) is (kind is told) for text in (released.page, released.curator_page))
    without, fallen = results[plain.text], results[told.text]
    assert fallen["rows"] == without["rows"]
    assert (fallen["digest"], fallen["sd_at_most"]) == (without["digest"], None)
    assert fallen["warnings"][0].startswith("WARNING: the reports vary more than sd_at_most=20 allows")
    agreeing = {code: int(n) for code, n in enumerate(np.bincount(plain.study.randomize([60.0] * 9000).codes))}
    assert told.release(Gathered(20, 5 << 24, agreeing), single_group=False, ledger=None).result["estimate"][
        "sd_at_most"
    ]
