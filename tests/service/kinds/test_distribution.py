"""Studies of a distribution: what the server takes, turns into integers and releases."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from hybriddp import DistributionStudy
from hybriddp.errors import BudgetError, DataError, ProtocolError
from hybriddp.grid import UNITS
from hybriddp.release import Statistic
from hybriddp.release import release as door
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.mechanisms import Mechanism
from hybriddp.service.kinds import DistributionKind, Gathered, study_kind
from hybriddp.service.problems import Refusal

LOAD = DistributionStudy("page load ms", bounds=(0, 10_000), epsilon=1.0, scale="log")
AGE = DistributionStudy("age", bounds=(-1, 120), epsilon=4.0)
EDGES = DistributionStudy("score", bounds=(0, 254), epsilon=0.5, scale=range(255))
STUDIES = {"log": LOAD, "equal": AGE, "edges": EDGES}


def gathered(study: DistributionStudy, values: list[float], codes: list[int]) -> Gathered:
    """The sums that the server has after these contributions."""
    kind = DistributionKind(study)
    numbers = [kind.value(value) for value in values]
    tally = Counter(entry for code in codes for entry in kind.sums.entries(kind.report(code)))
    return Gathered(len(values), kind.sums.addend(numbers), dict(tally))


def test_a_kind_is_what_its_text_says() -> None:
    kind = study_kind(LOAD.to_json())
    assert (kind.name, kind.steps, kind.title) == ("distribution", ("release",), "page load ms")
    assert (kind.digest, kind.device_text, kind.text) == (LOAD.digest, LOAD.to_json(), LOAD.to_json())
    assert (kind.privacy, kind.min_group_size) == (LOAD.privacy, LOAD.min_group_size)
    assert kind.sums.total_bytes == 5 * 256 + 1


def test_a_study_whose_numbers_were_changed() -> None:
    changed = json.loads(LOAD.to_json())
    changed["cuts"][7] += 1
    with pytest.raises(ProtocolError):
        study_kind(json.dumps(changed, separators=(",", ":")))


def test_studies_that_the_server_does_not_take() -> None:
    with pytest.raises(ProtocolError, match="of everybody"):
        DistributionKind(LOAD.part("country", "DE"))


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_codes_are_those_of_the_channel(study: DistributionStudy) -> None:
    kind, most = DistributionKind(study), study.channel.n_codes - 1
    assert [kind.report(code) for code in (0, most)] == [0, most]
    for code in (-1, most + 1, 2**53, 2**70, -(2**70)):
        with pytest.raises(Refusal, match=f"from 0 to {most}") as refused:
            kind.report(code)
        assert refused.value.reason == "out-of-range"


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_a_value_is_its_bin(study: DistributionStudy) -> None:
    kind, (lower, upper) = DistributionKind(study), study.bounds
    values = [lower, upper, lower - 5, upper + 1e300, *np.random.default_rng(0).uniform(lower, upper, 200).tolist()]
    counts = study.summarize_trusted(values).sums
    assert kind.sums.counts(kind.sums.addend(map(kind.value, values))) == counts
    assert [kind.value(value) for value in values[:4]] == [0, 255, 0, 255]


def test_a_text_is_no_value() -> None:
    with pytest.raises(Refusal, match="must be a number") as refused:
        DistributionKind(LOAD).value("480")
    assert refused.value.reason == "malformed"
    assert "480" not in str(refused.value)


@pytest.fixture
def _repeatable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that can be drawn again."""

    def repeatable(statistic: Statistic, noise: Mechanism, _: object) -> object:
        return statistic.values + noise.draw(statistic.values.shape, 5)

    monkeypatch.setattr(door, "_add_noise", repeatable)


@pytest.mark.usefixtures("_repeatable")
@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_the_release_is_the_study_s_own_estimate(study: DistributionStudy) -> None:
    values = np.random.default_rng(1).gamma(2.0, 20.0, 6000)
    codes = study.randomize(values[600:]).codes.tolist()
    found = gathered(study, values[:600].tolist(), codes)
    released = DistributionKind(study).release(found, single_group=False, ledger=Ledger(study.privacy))
    expected = study.estimate(trusted=values[:600], local=codes, ledger=Ledger(study.privacy))
    assert released.result["estimate"] == replace(expected, tied=True).to_dict()
    assert released.result["estimate"]["privacy"]["counted"]
    assert released.result["answer"].splitlines()[-1].startswith(f"{study.title}: p50 ")
    for page in (released.page, released.curator_page):
        assert f"<h1>{study.title}</h1>" in page
        assert "<svg" in page


def test_nobody_is_sent_to_a_method() -> None:
    """Groups that differ: the words point at the curator's report, since the estimate itself is gone."""
    values = np.random.default_rng(2).gamma(2.0, 200.0, 6000)
    found = gathered(LOAD, (3 * values[:600]).tolist(), LOAD.randomize(values[600:]).codes.tolist())
    released = DistributionKind(LOAD).release(found, single_group=False, ledger=None)
    assert any("groups" in warning for warning in released.result["estimate"]["warnings"])
    for told in (json.dumps(released.result), released.page, released.curator_page):
        assert "allowing_groups" not in told
    assert "If the groups may differ" in released.curator_page


def test_without_a_ledger_everybody_has_paid() -> None:
    released = DistributionKind(AGE).release(gathered(AGE, [1.0, 2.0], [0, 1]), single_group=False, ledger=None)
    assert released.result["estimate"]["privacy"]["counted"]


def test_a_release_is_paid_for_once() -> None:
    ledger, found = Ledger(AGE.privacy), gathered(AGE, [1.0, 2.0], [0, 1])
    DistributionKind(AGE).release(found, single_group=False, ledger=ledger)
    with pytest.raises(BudgetError):
        DistributionKind(AGE).release(found, single_group=False, ledger=ledger)
    assert len(ledger.events) == 1


def test_one_group_alone() -> None:
    kind = DistributionKind(AGE)
    for found in (gathered(AGE, [1.0] * 3, []), gathered(AGE, [], [0, 1, 1])):
        released = kind.release(found, single_group=True, ledger=Ledger(AGE.privacy))
        assert len(released.result["estimate"]["rows"]) == 4
        assert "If the groups may differ" not in released.curator_page
        with pytest.raises(DataError):
            kind.release(found, single_group=False, ledger=Ledger(AGE.privacy))


def test_counts_that_do_not_add_up_are_not_released() -> None:
    ledger = Ledger(AGE.privacy)
    for total in (3, 1 << 40, -1, 1 << 40 * 256, UNITS):
        with pytest.raises(DataError, match="Nothing was released"):
            DistributionKind(AGE).release(Gathered(2, total, {0: 5}), single_group=False, ledger=ledger)
    assert not ledger.events


def test_a_warning_comes_first() -> None:
    found = gathered(AGE, [1.0, 2.0], [0, 1])
    released = DistributionKind(AGE).release(found, single_group=False, ledger=None, warning="A pilot <1>.")
    assert released.result["estimate"]["warnings"][0] == "A pilot <1>."
    for page in (released.page, released.curator_page):
        assert 0 < page.index("A pilot &lt;1&gt;.") < page.index('class="answer"')
