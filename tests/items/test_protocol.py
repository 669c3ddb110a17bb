import math

import numpy as np
import pytest

import hybriddp as hdp
from hybriddp.errors import BudgetError, DataError
from hybriddp.items import HeavyHitterStudy, PrivateItems
from hybriddp.items.protocol import (
    AskLocal,
    ChargeReports,
    ReleaseList,
    discovery_steps,
    list_steps,
    report_evidence,
    trusted_shares,
)
from hybriddp.privacy import Privacy
from hybriddp.shares import FrequencyStudy, blend
from tests.levels import z_limit

STUDY = HeavyHitterStudy("words", epsilon=4, delta=1e-6)
RULE = STUDY.rule


# Definition: what the parts say alone, blended


def test_the_answer_is_the_blend_of_list_and_reports() -> None:
    words = np.random.default_rng(1).choice(["a", "b", "c", "d"], 9000, p=[0.4, 0.3, 0.2, 0.1]).tolist()
    released = PrivateItems.from_json(STUDY.release(words[:1000], random_state=1).to_json())
    question = FrequencyStudy.from_json(STUDY.question(released).to_json())
    assert (question.names, question.privacy.epsilon) == ((*released.items, "(other)"), "4")
    reports = question.randomize(words[1000:], random_state=2)
    found = STUDY.estimate(trusted=released, local=reports)
    assert (found.n_trusted, found.n_local, found.method) == (1000, 8000, "list")
    assert found.tied
    assert found.privacy.seeded
    summary = question.summarize_local(reports[:2000]) + question.summarize_local(reports[2000:])
    again = STUDY.estimate(trusted=released, local=summary)
    assert (again.items, again.shares.tolist()) == (found.items, found.shares.tolist())
    y, n = np.array(released.counts), 1000
    noise = released.rule.variance / n**2
    shares = np.append(y / n, 1 - y.sum() / n)
    local = question.oracle.group_shares(question.summarize_local(reports).array(), 8000)
    variance = np.append(np.full(len(y), noise), len(y) * noise)
    f = np.clip(local.shares, 0, 1)
    for _ in range(3):
        v_t, v_l = f * (1 - f) / n + variance, local.variance(f)
        w = v_l / (v_t + v_l)
        f = np.clip(w * shares + (1 - w) * local.shares, 0, 1)
    expected = dict(zip(released.items, (w * shares + (1 - w) * local.shares)[:-1], strict=True))
    assert {item: pytest.approx(share) for item, share in expected.items()} == dict(
        zip(found.items, found.unbiased, strict=True)
    )
    assert list(found.unbiased) == sorted(found.unbiased, reverse=True)


def test_others_have_what_is_left() -> None:
    group = trusted_shares([30, 20], 100, RULE, np.array([True, False]))
    noise = RULE.variance / 100**2
    np.testing.assert_allclose(group.shares, [0.3, 0.2, 0.5])
    np.testing.assert_allclose(group.noise, [noise, noise, 2 * noise])
    assert group.listing is not None
    assert group.listing.listed.tolist() == [True, False, False]
    assert (group.listing.threshold, group.listing.scale) == (RULE.threshold, RULE.scale)
    assert trusted_shares([], 100, RULE, np.zeros(0, np.bool_)).shares.tolist() == [1.0]


def test_reports_that_are_refused_after_the_list_do_not_take_it_back() -> None:
    released = STUDY.release(["a"] * 500 + ["b"] * 300, random_state=1)
    with pytest.raises(DataError, match="Nothing was released now"):
        STUDY.estimate(trusted=released, local=np.zeros(1000, np.int64))


# A dictionary


def test_a_dictionary_is_the_study_of_its_categories() -> None:
    study = HeavyHitterStudy("words", epsilon=1, domain=["a", "b", "never"])
    words = ["a"] * 3000 + ["b"] * 1000 + ["elsewhere"] * 1000
    reports = study.dictionary.randomize(words, random_state=1)
    found = study.estimate(trusted=words[::10], local=reports, random_state=2)
    plain = study.dictionary.estimate(trusted=words[::10], local=reports, random_state=2)
    assert found.method == "dictionary"
    assert {item: found.shares[i] for i, item in enumerate(found.items)} == {
        item: plain.share(item) for item in ("a", "b", "never")
    }
    assert found.other_share == plain.share("(other)")
    assert found.privacy == plain.privacy
    assert "public dictionary of 3" in found.explain()
    summary = study.dictionary.summarize_trusted(words[::10])
    assert study.estimate(trusted=summary, local=reports, random_state=2).items == found.items


# Discovery


@pytest.mark.slow
@pytest.mark.parametrize("n_users", [20, 1000])
def test_few_users_discover_no_string_that_nobody_has(n_users: int) -> None:
    """Few reports are not normal: scores far above the noise are found among 2^48 strings by chance."""
    study = HeavyHitterStudy("words", epsilon=4, delta=1e-6, alphabet="letters")
    letters = np.random.default_rng(1).choice(list("abcdefghij"), (n_users, 8))
    reports = study.discovery.randomize(["".join(row) for row in letters], random_state=1)
    assert study.estimate(trusted=None, local=reports, single_group=True).items == ()


def test_the_evidence_of_many_reports_is_that_of_a_normal_score() -> None:
    channel = STUDY.discovery.channel
    small, huge = report_evidence(np.array([1e-5, 100.0]), channel).tolist()
    assert small == pytest.approx(1e-10 / channel.count_variance / 2, rel=1e-3)
    assert huge == pytest.approx(-math.log(channel.miss_probability))  # no report says more
    assert report_evidence(np.array([0.0, -1.0]), channel).tolist() == [0.0, 0.0]


@pytest.fixture(scope="module")
def small() -> HeavyHitterStudy:
    """Study with few hash functions, so that a search is quick, and a δ at which one user is never listed."""
    study = HeavyHitterStudy("words", epsilon=4, delta=1e-12)
    from hybriddp.channels import LocalHashing
    from hybriddp.items import DiscoveryQuestion

    channel = LocalHashing(epsilon=4, n_functions=128)
    study.__dict__["discovery"] = DiscoveryQuestion("words", epsilon=4, channel=channel)
    return study


SHARES = {"apple": 0.3, "pear": 0.2, "fig": 0.1, "pineapple": 0.1, "plum": 0.05}


def _words(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    rest = 1 - sum(SHARES.values())
    drawn: list[str] = rng.choice([*SHARES, "~~~~~~"], n, p=[*SHARES.values(), rest]).tolist()
    return drawn


def test_discovery_finds_short_words_and_the_trusted_group_long_ones(small: HeavyHitterStudy) -> None:
    words = _words(20_000, 1)
    trusted = [word if word != "~~~~~~" else f"rare {i}" for i, word in enumerate(words[:300])]
    reports = small.discovery.randomize(words[300:], random_state=2)
    found = small.estimate(trusted=trusted, local=reports, random_state=3)
    assert found.method == "discovery"
    assert set(found.items) == {*SHARES, "~~~~~~"}
    for item, share in SHARES.items():
        weight = found.weight[found.items.index(item)]
        row = next(row for row in found.rows() if row.name == item)
        assert abs(row.value - share) < z_limit(len(SHARES)) * row.standard_error + 0.01
        assert (weight > 0.999) == (item == "pineapple")  # too long for a code
    assert found.n_without_code == 1
    told = found.explain()
    assert "strings of up to 6 bytes" in told
    assert "1 item is counted by the trusted group alone" in told
    assert not any("rare" in item for item in found.items)


def test_discovery_without_a_trusted_group(small: HeavyHitterStudy) -> None:
    reports = small.discovery.randomize(_words(20_000, 4), random_state=2)
    summary = small.discovery.summarize_local(reports)
    found = small.estimate(trusted=None, local=summary, single_group=True)
    assert set(found.items) == {"apple", "pear", "fig", "plum", "~~~~~~"}
    assert (found.n_trusted, found.n_local) == (0, 20_000)
    assert not found.privacy.released
    assert "single model" in found.explain()


@pytest.mark.slow
def test_discovery_pays_before_it_draws_and_shows_nothing_else(small: HeavyHitterStudy) -> None:
    ledger = hdp.Ledger(Privacy(epsilon=1, delta=1e-3))
    reports = small.discovery.randomize(_words(200, 4))
    with pytest.raises(BudgetError):
        small.estimate(trusted=["a"] * 100, local=reports, ledger=ledger)
    assert ledger.events == ()
    rich = hdp.Ledger(Privacy(epsilon=4, delta=1e-12))
    found = small.estimate(trusted=["a"] * 100 + ["alone"], local=reports, ledger=rich)
    assert len(rich.events) == 1
    assert found.privacy.counted
    assert "a" in found.items
    assert "alone" not in found.items


def test_steps_follow_from_published_numbers(small: HeavyHitterStudy) -> None:
    steps = list_steps(STUDY, 100, seeded=True)
    assert next(steps) == ReleaseList()
    released = STUDY.release(["a"] * 500, random_state=1)
    question = STUDY.question(released)
    assert steps.send(released) == AskLocal(question)
    with pytest.raises(StopIteration) as end:
        steps.send(question.summarize_local(question.randomize(["a"] * 100)))
    assert (end.value.value.items, end.value.value.n_local) == (("a",), 100)
    for n_trusted, expected in ((0, ChargeReports), (500, ReleaseList)):
        steps = discovery_steps(small, n_trusted, seeded=False)
        assert next(steps) == AskLocal(small.discovery)
        step = steps.send(small.discovery.summarize_local(small.discovery.randomize(_words(2000, 4))))
        assert isinstance(step, expected)


def test_without_local_users_the_list_remains() -> None:
    found = STUDY.estimate(trusted=["a"] * 100, local=None, single_group=True)
    assert (found.method, found.items) == ("list", ("a",))


def test_the_divergence_of_groups_is_kept_in_order() -> None:
    """Sorting the items moves everything that belongs to them."""
    released = STUDY.release(["a"] * 500 + ["b"] * 400, random_state=1)
    question = STUDY.question(released)
    reports = question.randomize(["b"] * 5000 + ["a"] * 1000, random_state=1)
    found = STUDY.estimate(trusted=released, local=reports)
    assert found.items == ("b", "a")
    assert found.divergence is not None
    assert found.divergence.differences[0] < 0 < found.divergence.differences[1]
    assert found.blend.trusted is not None
    np.testing.assert_allclose(found.blend.trusted.shares[:2], [4 / 9, 5 / 9], atol=0.02)
    assert "WARNING" in found.explain()
    again = blend(found.blend.trusted, found.blend.local)
    np.testing.assert_allclose(again.shares, found.blend.shares)
