"""What a study asks one person for: drawn as the study itself does, committed to by its number, told in words."""

from collections import Counter
from pathlib import Path

import httpx
import numpy as np
import pytest

from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy
from hybriddp.client import MockCurator, StudyOffer, commitment
from hybriddp.client.contribution import Contribution
from hybriddp.client.journal import FileJournal
from hybriddp.client.questions import CategoryQuestion, NumberQuestion, question, read_study
from hybriddp.errors import DataError, HybridDPError, ProtocolError
from tests.levels import z_limit
from tests.refusals import not_refused

TEXTS = FrequencyStudy("fruit", categories=["apple", "pear", "fig"], epsilon=1, other=True)
NUMBERS = FrequencyStudy("children", categories=[0, 1, 2, 3], other=False, epsilon=1)
BITS = FrequencyStudy("word", categories=[f"w{i}" for i in range(20)], other=False, epsilon=1)
PAGES = FrequencyStudy("page", categories=list(range(200)), other=False, epsilon=1)
LOAD = DistributionStudy("page load ms", bounds=(0, 10_000), epsilon=1, scale="log")


def offer(study: FrequencyStudy | DistributionStudy) -> StudyOffer:
    return StudyOffer.from_text(study.to_json(), digest=study.digest)


@pytest.mark.parametrize("study", [TEXTS, NUMBERS, BITS, PAGES], ids=lambda study: study.name)
def test_an_offer_without_a_network(study: FrequencyStudy) -> None:
    found = offer(study)
    assert (found.study, found.digest, found.asked.kind) == (study, study.digest, "frequency")
    for _ in range(20):
        drawn = found.draw(study.categories[1])
        assert (drawn.group, drawn.value) == ("local", None)
        assert 0 <= drawn.integer < study.n_codes
        assert found.asked.codes == (0, study.n_codes - 1)


def test_a_trusted_category_is_its_number_and_its_name() -> None:
    drawn = [offer(TEXTS).draw(item, group="trusted") for item in ("apple", "fig", "kiwi", "(other)")]
    assert [(one.integer, one.value) for one in drawn] == [(0, "apple"), (2, "fig"), (3, "(other)"), (3, "(other)")]
    drawn = [offer(NUMBERS).draw(item, group="trusted") for item in (0, 3, np.int64(2))]
    assert [(one.integer, one.value, type(one.value)) for one in drawn] == [(0, 0, int), (3, 3, int), (2, 2, int)]
    assert drawn[1].commitment == commitment(NUMBERS.digest, "trusted", 3, drawn[1].nonce)
    assert b'"value":3,' in drawn[1].body()


@pytest.mark.parametrize("group", ["local", "trusted"])
def test_what_is_no_category_is_not_drawn_and_not_shown(group: str) -> None:
    def draw(case: tuple[FrequencyStudy, object]) -> None:
        study, item = case
        try:
            offer(study).draw(item, group=group)
        except DataError as error:
            if item not in ("", None) and repr(item) in str(error):
                raise AssertionError("the item is shown") from error
            raise

    for study, words, items in (
        (BITS, "one of the study's categories", ("w20", "", "W1", "(other)")),
        (BITS, "must be one text", (1, None, True, b"w1", ["w1"], np.array(["w1"]), 1.0)),
        (NUMBERS, "one of the study's categories", (4, -1, 2**70)),
        (NUMBERS, "must be one whole number", ("1", True, 1.0, None, [1], float("nan"))),
    ):
        assert not_refused([(repr(item), (study, item)) for item in items], draw, DataError, words) == []


@pytest.mark.statistical
def test_one_device_draws_as_the_study_does() -> None:
    """5,000 single draws; a hit probability that is a fifth off is 0.1, more than 14 standard errors of 0.007."""
    study = FrequencyStudy("opened it", categories=["yes", "no"], epsilon=1)
    made, n = offer(study), 5000
    hits = Counter(made.draw("no").integer for _ in range(n))[1] / n
    hit = study.oracle.hit
    assert abs(hits - hit) < z_limit() * np.sqrt(hit * (1 - hit) / n)
    assert abs(hits - 0.8 * hit) > z_limit() * np.sqrt(hit * (1 - hit) / n)


def test_what_the_curator_takes_a_value_for() -> None:
    texts, numbers = CategoryQuestion(TEXTS), CategoryQuestion(NUMBERS)
    assert [texts.received(sent) for sent in ("apple", "kiwi", "(other)")] == [0, 3, 3]
    assert [numbers.received(sent) for sent in (0.0, 3.0)] == [0, 3]
    for asked, sent, error in (
        (numbers, 4.0, DataError),
        (numbers, 0.5, ProtocolError),
        (numbers, "1", ProtocolError),
        (texts, 1.0, ProtocolError),
        (CategoryQuestion(BITS), "kiwi", DataError),
        (NumberQuestion(MeanStudy("minutes", bounds=(0, 1), epsilon=1)), "1", ProtocolError),
    ):
        with pytest.raises(error):
            asked.received(sent)


def test_the_promise_is_about_categories() -> None:
    told = offer(TEXTS).promise()
    assert "asks for one of 3 categories: fruit. They are apple; pear; fig. Anything else counts as other." in told
    assert "your answer stays here" in told
    assert "who counts it with the others' and publishes" in told
    assert "narrowed your answer down to two candidates" in told
    assert "Whoever has none of these does not take part." in offer(NUMBERS).promise()
    assert "w11; and 8 more." in offer(BITS).promise()
    wordy = FrequencyStudy("x", categories=["a", "b" * 500], epsilon=1)
    assert "They are a; bbb" in offer(wordy).promise()
    assert "b" * 80 not in offer(wordy).promise()


def test_texts_of_other_kinds() -> None:
    assert read_study(TEXTS.to_json()) == TEXTS
    for text in ('{"type":"kmeans"}', "{}", '{"type":null}', "[]", "x"):
        with pytest.raises(HybridDPError):
            read_study(text)
    weak = TEXTS.to_json().replace('"epsilon":"1"', '"epsilon":"0.5"')
    with pytest.raises(ProtocolError):
        StudyOffer.from_text(weak)
    assert question(TEXTS) == CategoryQuestion(TEXTS)


def test_with_a_curator_in_memory(tmp_path: Path) -> None:
    curator = MockCurator(TEXTS)
    curator.lose_answers(1)
    with curator.client("alice", journal=tmp_path / "a.json") as alice:
        receipt = alice.report("pear")
        again = alice.report("apple")
        assert (receipt.group, again.resent, again.commitment) == ("local", True, receipt.commitment)
    codes = {body for method, path, body in curator.requests if path.endswith("/reports")}
    assert len(codes) == 1  # the first draw, however often it is sent
    assert b"pear" not in b"".join(body for *_, body in curator.requests)
    assert "pear" not in (tmp_path / "a.json").read_text()
    with curator.client("bob", journal=tmp_path / "b.json") as bob:
        bob.trust("kiwi")
        assert (curator.contributions["bob"].integer, curator.contributions["bob"].value) == (3, "(other)")
        assert b"kiwi" not in b"".join(body for *_, body in curator.requests)
    entry = FileJournal(tmp_path / "b.json").read()
    assert entry is not None
    assert entry.contribution == curator.contributions["bob"]
    with curator.client("bob", journal=tmp_path / "b.json") as bob:
        assert bob.withdraw().withdrawn
    assert set(curator.contributions) == {"alice"}
    with curator.client("carol") as carol:
        assert carol.send(offer(TEXTS).draw("fig", group="trusted")).group == "trusted"


@pytest.mark.parametrize(
    ("study", "value", "status"),
    [(BITS, "kiwi", 422), (BITS, 1, 400), (NUMBERS, 4, 422), (NUMBERS, "1", 400), (NUMBERS, 10**400, 400)],
)
def test_the_curator_in_memory_refuses_what_the_real_one_refuses(
    study: FrequencyStudy, value: float | str, status: int
) -> None:
    curator = MockCurator(study)
    body = {"digest": study.digest, "value": value, "nonce": "0" * 32}
    headers = {"Authorization": f"Bearer {curator.token('a')}"}
    request = httpx.Request("POST", "https://c.org/studies/mock-study/values", json=body, headers=headers)
    assert curator.answer(request).status_code == status
    assert curator.contributions == {}


@pytest.mark.parametrize(
    "study",
    [
        LOAD,
        DistributionStudy("x", bounds=(-1, 120), epsilon=4),
        DistributionStudy("x", bounds=(0, 254), epsilon=0.5, scale=range(255)),
        DistributionStudy("x", bounds=(2.0**50, 2.0**50 + 64), epsilon=1),  # floats are as far apart as bins are wide
    ],
    ids=repr,
)
def test_a_trusted_number_is_its_bin_and_the_middle_of_it(study: DistributionStudy) -> None:
    found, (lower, upper) = offer(study), study.bounds
    values = [lower, upper, lower - 7, upper + 7, *np.random.default_rng(0).uniform(lower, upper, 100).tolist()]
    drawn = [found.draw(value, group="trusted") for value in values]
    assert np.bincount([one.integer for one in drawn], minlength=256).tolist() == list(
        study.summarize_trusted(values).sums
    )
    assert [one.integer for one in drawn] == [found.asked.received(one.value) for one in drawn]
    assert [one.value for one in drawn[:4]] == [lower, upper, lower, upper]
    assert len({one.value for one in drawn}) == len({one.integer for one in drawn})  # no more than the bin is sent


def test_a_bin_whose_middle_no_float_is_in_is_sent_as_the_number_itself() -> None:
    floats = 2.0**50 + np.arange(254) / 4  # two units apart: one float and the middle between two are in each bin
    study = DistributionStudy("x", bounds=(2.0**50, 2.0**50 + 2**21), epsilon=1, scale=[*floats, 2.0**50 + 2**21])
    found = offer(study)
    drawn = [found.draw(value, group="trusted") for value in floats]
    assert [one.integer for one in drawn] == [found.asked.received(one.value) for one in drawn]
    assert any(study.bins.of_value(study.bins.value_in(one.integer)) != one.integer for one in drawn)


def test_a_device_s_report_of_a_number() -> None:
    found = offer(LOAD)
    assert (found.study, found.asked.kind, found.asked.codes) == (LOAD, "distribution", (0, LOAD.channel.n_codes - 1))
    assert all(0 <= found.draw(480).integer < LOAD.channel.n_codes for _ in range(20))
    told = found.promise()
    assert "asks for one number: page load ms, from 0 to 10,000. A number outside counts as the nearer bound." in told
    assert (
        "If you trust: the bin of your number, one of 256, goes to the curator, who counts it with the others'" in told
    )
    assert "The curator could see that bin." in told
    for value in ("480", None, float("nan"), [1.0], True):
        with pytest.raises(DataError) as error:
            found.draw(value)
        assert "480" not in str(error.value)
    for sent in ("480", float("nan"), float("inf")):
        with pytest.raises(ProtocolError):
            found.asked.received(sent)


def test_a_distribution_with_a_curator_in_memory(tmp_path: Path) -> None:
    curator = MockCurator(LOAD)
    curator.lose_answers(1)
    with curator.client("alice", journal=tmp_path / "a.json") as alice:
        assert (alice.report(480).group, alice.report(99).resent) == ("local", True)
    with curator.client("bob", journal=tmp_path / "b.json") as bob:
        bob.trust(481.25)
        assert curator.contributions["bob"].integer == LOAD.bins.of_value(481.25)
        assert b"481.25" not in b"".join(body for *_, body in curator.requests)
        assert bob.withdraw().opened
    assert set(curator.contributions) == {"alice"}
    headers = {"Authorization": f"Bearer {curator.token('c')}"}
    for to, body, status in (("values", {"value": "480"}, 400), ("reports", {"code": LOAD.channel.n_codes}, 422)):
        sent = body | {"digest": LOAD.digest, "nonce": "0" * 32}
        url = f"https://c.org/studies/mock-study/{to}"
        assert curator.answer(httpx.Request("POST", url, json=sent, headers=headers)).status_code == status


@pytest.mark.parametrize("value", [0, "x", -(2**53) + 1, 1.5, "x" * 1000])
def test_a_contribution_keeps_numbers_and_texts(value: float | str) -> None:
    made = Contribution("0" * 64, "trusted", 7, "0" * 32, value)
    assert Contribution.from_dict(made.to_dict()) == made


@pytest.mark.parametrize("value", ["", "x" * 1001, 2**53, True, float("nan"), b"x", ("x",)])
def test_a_contribution_keeps_nothing_else(value: object) -> None:
    with pytest.raises(DataError):
        Contribution("0" * 64, "trusted", 7, "0" * 32, value)
