"""Studies of frequencies: what the server takes, turns into integers and releases."""

import json
from collections import Counter

import numpy as np
import pytest

from hybriddp import FrequencyStudy
from hybriddp.channels.hashing import LocalHashing
from hybriddp.errors import BudgetError, DataError, ProtocolError
from hybriddp.privacy import Privacy
from hybriddp.release import Statistic
from hybriddp.release import release as door
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.mechanisms import Mechanism
from hybriddp.service.kinds import FrequencyKind, Gathered, study_kind
from hybriddp.service.problems import Refusal
from hybriddp.shares.categories import OTHER

YES_NO = FrequencyStudy("opened the app", categories=["yes", "no"], epsilon=1.0)
STUDIES = {
    "response": YES_NO,
    "subset": FrequencyStudy("color", categories=[f"c{i}" for i in range(12)], other=False, epsilon=1.0),
    "unary": FrequencyStudy("fruit", categories=[f"f{i}" for i in range(20)], epsilon=1.0, other=True),
    "hashing": FrequencyStudy("page", categories=list(range(100)), epsilon=1.0, other=True),
}


def gathered(study: FrequencyStudy, items: list[str | int], codes: list[int]) -> Gathered:
    """The sums that the server has after these contributions."""
    kind = FrequencyKind(study)
    numbers = [kind.value(item if isinstance(item, str) else float(item)) for item in items]
    tally = Counter(entry for code in codes for entry in kind.sums.entries(kind.report(code)))
    return Gathered(len(items), kind.sums.addend(numbers), dict(tally))


def test_a_kind_is_what_its_text_says() -> None:
    kind = study_kind(YES_NO.to_json())
    assert (kind.name, kind.steps, kind.title) == ("frequency", ("release",), "opened the app")
    assert (kind.digest, kind.device_text, kind.text) == (YES_NO.digest, YES_NO.to_json(), YES_NO.to_json())
    assert (kind.privacy, kind.min_group_size) == (YES_NO.privacy, YES_NO.min_group_size)


def test_a_study_whose_numbers_were_changed() -> None:
    changed = json.loads(YES_NO.to_json())
    changed["channel"]["extra"] += 1
    with pytest.raises(ProtocolError):
        study_kind(json.dumps(changed, separators=(",", ":")))


def test_studies_that_the_server_does_not_take() -> None:
    with pytest.raises(ProtocolError, match="of everybody"):
        FrequencyKind(YES_NO.part("country", "DE"))
    many = FrequencyStudy("page", categories=list(range(4096)), other=False, epsilon=1.0)
    assert FrequencyKind(many).sums.total_bytes == 20_481
    for study in (
        FrequencyStudy("page", categories=list(range(4097)), other=False, epsilon=1.0),
        FrequencyStudy("page", categories=list(range(4096)), epsilon=1.0, other=True),
    ):
        with pytest.raises(ProtocolError, match=r"at most 4,096 categories, and this one has 4,097\. Ask"):
            FrequencyKind(study)
    channel = LocalHashing(epsilon="1", n_functions=1 << 16, n_values=128)
    with pytest.raises(ProtocolError, match="at most 4,194,304 codes"):
        FrequencyKind(FrequencyStudy("page", categories=list(range(100)), other=False, epsilon=1.0, channel=channel))


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_codes_are_those_of_the_oracle(study: FrequencyStudy) -> None:
    kind, most = FrequencyKind(study), study.n_codes - 1
    assert [kind.report(code) for code in (0, most)] == [0, most]
    for code in (-1, most + 1, 2**53, 2**70, -(2**70)):
        with pytest.raises(Refusal, match=f"from 0 to {most}") as refused:
            kind.report(code)
        assert refused.value.reason == "out-of-range"


def test_a_category_is_its_number() -> None:
    texts, numbers = FrequencyKind(STUDIES["unary"]), FrequencyKind(STUDIES["hashing"])
    assert [texts.value(name) for name in ("f0", "f19", "a kiwi", OTHER)] == [0, 19, 20, 20]
    assert [numbers.value(number) for number in (0.0, 99.0, 100.0, -1.0, 2.0**60, -0.0)] == [0, 99, 100, 100, 100, 0]
    assert numbers.value(OTHER) == 100


@pytest.mark.parametrize(
    ("study", "value", "reason"),
    [
        ("response", "maybe", "out-of-range"),
        ("response", "", "out-of-range"),
        ("response", "Yes", "out-of-range"),
        ("response", OTHER, "out-of-range"),
        ("response", 1.0, "malformed"),
        ("unary", 3.0, "malformed"),
        ("hashing", "3", "malformed"),
        ("hashing", 3.5, "malformed"),
    ],
)
def test_what_is_no_category(study: str, value: float | str, reason: str) -> None:
    with pytest.raises(Refusal) as refused:
        FrequencyKind(STUDIES[study]).value(value)
    assert refused.value.reason == reason
    assert not str(value) or str(value) not in str(refused.value)


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_the_release_is_the_study_s_own_estimate(study: FrequencyStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    items: list[str | int] = [study.categories[i] for i in rng.integers(0, 2, 300)]
    codes = study.randomize([study.categories[i] for i in rng.integers(0, 2, 3000)]).codes.tolist()

    def repeatable(statistic: Statistic, noise: Mechanism, _: object) -> object:
        return statistic.values + noise.draw(statistic.values.shape, 5)

    monkeypatch.setattr(door, "_add_noise", repeatable)
    kind = FrequencyKind(study)
    released = kind.release(gathered(study, items, codes), single_group=False, ledger=Ledger(study.privacy))
    expected = study.estimate(trusted=items, local=codes, ledger=Ledger(study.privacy)).to_dict()
    assert released.result["estimate"] == expected | {"tied": True}
    assert released.result["estimate"]["privacy"]["counted"]
    for page in (released.page, released.curator_page):
        assert f"<h1>{study.title}</h1>" in page
        assert "<svg" in page


def test_without_a_ledger_everybody_has_paid() -> None:
    released = FrequencyKind(YES_NO).release(gathered(YES_NO, ["yes"] * 3, [0, 1]), single_group=False, ledger=None)
    assert released.result["estimate"]["privacy"]["counted"]


def test_a_release_is_paid_for_once() -> None:
    ledger, found = Ledger(Privacy.total(epsilon=1.0)), gathered(YES_NO, ["yes"] * 3, [0, 1])
    FrequencyKind(YES_NO).release(found, single_group=False, ledger=ledger)
    with pytest.raises(BudgetError):
        FrequencyKind(YES_NO).release(found, single_group=False, ledger=ledger)


def test_one_group_alone() -> None:
    kind = FrequencyKind(YES_NO)
    for found in (gathered(YES_NO, ["yes"] * 3, []), gathered(YES_NO, [], [0, 1, 1])):
        released = kind.release(found, single_group=True, ledger=Ledger(YES_NO.privacy))
        assert len(released.result["estimate"]["rows"]) == 2
        with pytest.raises(DataError):
            kind.release(found, single_group=False, ledger=Ledger(YES_NO.privacy))


def test_counts_that_do_not_add_up_are_not_released() -> None:
    ledger = Ledger(YES_NO.privacy)
    for total in (3, 1 << 40, -1, 1 << 400):
        with pytest.raises(DataError, match="Nothing was released"):
            FrequencyKind(YES_NO).release(Gathered(2, total, {0: 5}), single_group=False, ledger=ledger)
    assert not ledger.events


def test_a_warning_comes_first() -> None:
    found = gathered(YES_NO, ["yes"] * 3, [0, 1])
    released = FrequencyKind(YES_NO).release(found, single_group=False, ledger=None, warning="A pilot <1>.")
    assert released.result["estimate"]["warnings"][0] == "A pilot <1>."
    for page in (released.page, released.curator_page):
        assert 0 < page.index("A pilot &lt;1&gt;.") < page.index('class="answer"')


@pytest.mark.parametrize("n_categories", [2, 5, 12, 20, 300])
def test_whatever_the_reports_are_there_is_a_release_that_tells(n_categories: int) -> None:
    """Also if all of them are the same: a closed study cannot be opened again."""
    kind = FrequencyKind(FrequencyStudy("x", categories=range(n_categories), other=False, epsilon=1))
    for code in (0, kind.study.n_codes - 1):
        for n_trusted in (0, 50):
            trusted = kind.sums.change(0, [0] * n_trusted, 1)
            tally = dict.fromkeys(kind.sums.entries(code), 1000)
            found = kind.release(Gathered(n_trusted, trusted, tally), single_group=True, ledger=None)
            estimate = found.result["estimate"]
            words = f"WARNING: at least {estimate['implausible_reports']} of the 1,000 local reports cannot come"
            assert 0 < estimate["implausible_reports"] <= 1000
            assert estimate["warnings"][0].startswith(words)
            assert found.result["answer"].startswith(words)
            for page in (found.page, found.curator_page):
                assert page.index(words) < page.index('class="answer"')
            assert all(0 <= row["lower"] <= row["upper"] <= 1 for row in estimate["rows"])
