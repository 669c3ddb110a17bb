"""A round: the message, what devices make of it, and how their reports are counted."""

import json
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from hybriddp.channels import RandomizedResponse, UnaryEncoding, WindowChannel
from hybriddp.channels.response import ChoiceResponse
from hybriddp.errors import DataError, ProtocolError
from hybriddp.kmeans.protocol.round import Round, RoundReports, simulate_devices
from hybriddp.kmeans.reports.base import Ask, GridQuestion, Labels, Projection
from hybriddp.kmeans.reports.codebook import Directions
from hybriddp.kmeans.reports.means import DirectionQuestion, LabelSignsQuestion
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.randomness import byte_source
from tests.kmeans.servers import as_text, started
from tests.levels import z_limit
from tests.refusals import not_refused

STUDY = KMeansStudy("visits", n_clusters=2, bounds=[(0, 24), (0, 60)], epsilon=2)
CENTERS, RADII = np.array([[0.1, 0.2], [0.3, 0.8]]), np.array([0.1, 0.2])
VIEW = Projection(np.array([0.2, 0.5]), np.array([[0.6, 0.8]]))
GRID = Ask(
    GridQuestion(VIEW, np.array([-0.5]), np.array([0.1]), (11,)),
    UnaryEncoding(epsilon=2, n_categories=11),
    Fraction(1, 5),
)
LABEL = Ask(
    LabelSignsQuestion(Labels(CENTERS), RADII, np.empty((1, 0), np.int64)),
    RandomizedResponse(epsilon=2, n_categories=2),
    Fraction(1, 10),
)
DIRECTION = Ask(
    DirectionQuestion(Labels(CENTERS), RADII, Directions.of(2), 2),
    ChoiceResponse(epsilon=2, n_codes=4, n_chosen=2),
    Fraction(3, 10),
)
ROUND = Round(STUDY, 2, "everything at once", (GRID, LABEL, DIRECTION))
POINTS = np.random.default_rng(3).uniform(0, [24, 60], (600, 2))
FIELDS: dict[str, Any] = json.loads(ROUND.to_json())


# The message


def test_text_and_round_are_inverses() -> None:
    again = Round.from_json(ROUND.to_json(), study=STUDY)
    assert again.to_json() == ROUND.to_json()
    assert again.digest == ROUND.digest
    assert again.user_fraction == Fraction(3, 5)
    assert again.study == STUDY
    for mine, other in zip(ROUND.answer(POINTS, random_state=1), again.answer(POINTS, random_state=1), strict=True):
        np.testing.assert_array_equal(mine.codes, other.codes)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a nested value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for key, item in items for inner in _paths(item, (*path, key)))]


def _changed(path: tuple[Any, ...], value: Any) -> str:
    """The message with another value in one place; without it, if the value is Ellipsis."""
    copy = json.loads(ROUND.to_json())
    where = copy
    for key in path[:-1]:
        where = where[key]
    if value is ...:
        del where[path[-1]]
    else:
        where[path[-1]] = value
    return as_text(copy)


BROKEN: tuple[Any, ...] = (
    ...,
    None,
    "x",
    -1,
    0.123,
    [],
    {},
    True,
    [[]],
    10**40,
    float("nan"),
    float("inf"),
    "\ud800",
    "1/0",
)


@pytest.mark.repeated
@pytest.mark.parametrize("path", [path for path in _paths(FIELDS) if path], ids=lambda p: "-".join(map(str, p)))
def test_a_message_that_is_broken_anywhere_is_refused_or_another_message(path: tuple[Any, ...]) -> None:
    """Whatever is in whichever place, there is a round that says exactly that, or a ProtocolError: nothing else."""
    for value in BROKEN:
        text = _changed(path, value)
        if json.loads(text) == FIELDS:
            continue  # true is 1, and one sign more or less in a list of one changes nothing
        try:
            found = Round.from_json(text, study=STUDY)
        except ProtocolError:
            continue
        assert json.loads(found.to_json()) == json.loads(text)
        assert found.study.privacy.epsilon == STUDY.privacy.epsilon
        for ask, reports in zip(found.asks, found.answer(POINTS[:50], random_state=0), strict=True):
            assert found.count(tuple(found.answer(POINTS[:20], random_state=0))).rejected == 0
            assert len(reports.codes) == len(reports.users)
            assert ask.question.n_symbols <= ask.channel.n_symbols


def test_these_messages_are_refused() -> None:
    changes: list[tuple[tuple[Any, ...], object]] = [
        *(((name,), ...) for name in FIELDS),
        *((("asks", 0, name), ...) for name in FIELDS["asks"][0]),
        *((("study", name), ...) for name in FIELDS["study"]),
        (("type",), "kmeans-state"),
        (("version",), 3),
        (("number",), 0),
        (("number",), "2"),
        (("number",), 2.5),
        (("number",), float("inf")),
        (("purpose",), 5),
        (("purpose",), "\ud800"),
        (("purpose",), "\u202egnitsop"),
        (("asks",), []),
        (("asks",), {}),
        (("asks", 0), None),
        (("asks", 0, "question"), "grid"),
        (("asks", 0, "user_fraction"), "0"),
        (("asks", 0, "user_fraction"), "-1/2"),
        (("asks", 0, "user_fraction"), "3/2"),
        (("asks", 0, "user_fraction"), "1/0"),
        (("asks", 0, "user_fraction"), float("inf")),
        (("asks", 0, "user_fraction"), 0.5),
        (("asks", 0, "channel", "zero"), 1),
        (("asks", 0, "channel", "categories"), 10),
        (("asks", 0, "question", "sizes"), [12]),
        (("study", "n_clusters"), 0),
        (("study", "epsilon"), "2.0"),
        (("study", "version"), 3),
    ]
    cases = [(f"{path}: {value!r}", _changed(path, value)) for path, value in changes]
    assert not_refused(cases, partial(Round.from_json, study=STUDY), ProtocolError, "refused") == []


def test_each_refusal_says_why() -> None:
    """A device answers what strangers ask, so that what breaks the study's promise, or is larger than needed, ends."""
    text, first = ROUND.to_json(), ("asks", 0, "channel")
    unary, window = UnaryEncoding(epsilon=3, n_categories=11), WindowChannel(epsilon=2)
    view = {"kind": "grid", "origin": [0, 0], "axes": [[1, 0]] * 6, "low": [0] * 6, "step": [0.1] * 6, "sizes": [2] * 6}
    centers = {"kind": "label_signs", "centers": [[0.1, 0.2]] * 7, "radii": [0.1] * 7, "coordinates": [[]]}
    many = RandomizedResponse(epsilon=2, n_categories=60_000)
    refused: list[tuple[Any, str]] = [
        *(
            (none, "The round is refused")
            for none in ("", "null", "[]", "{}", "5", "{", "[" * 100_000, None, 5, b"\xff")
        ),
        (_changed(first, json.loads(UnaryEncoding(epsilon=2.5, n_categories=11).to_json())), "the study's epsilon"),
        (_changed(first, json.loads(UnaryEncoding(epsilon=1.9, n_categories=11).to_json())), "the study's epsilon"),
        (_changed(first, {**json.loads(unary.to_json()), "epsilon": "2"}), "not 2-private"),  # it only says so
        (_changed(first, json.loads(window.to_json())), "not one of symbols"),
        (_changed(("asks", 1, "channel"), json.loads(many.to_json())), "more symbols than its question"),
        (_changed(("asks", 0, "question"), view), "other than 1 to 2 directions"),
        (_changed(("asks", 0, "question"), centers), "more than 6 centers"),
        (_changed(("asks", 0, "user_fraction"), "1"), "more than all of them"),
        (_changed(("asks",), FIELDS["asks"][:1] * 4), "other than 1 to 3 questions"),
        (_changed(("number",), 65), "its number is not from 1 to 64"),
        (_changed(("number",), 10**30), "its number is not from 1 to 64"),
        (_changed(("purpose",), "a grid " * 100), "not a readable text of at most 200"),
        (text + " " * 1000, "not the one that to_json writes"),
        (text + " " * 100_000, "more than the .* it can need"),
        (
            text.replace('"number":', '"number":7,"number":', 1),
            "names something twice",
        ),  # others may read the other one
    ]
    for message, reason in refused:
        with pytest.raises(ProtocolError, match=reason):
            Round.from_json(message, study=STUDY)
    with pytest.raises(TypeError, match="study"):
        Round.from_json(text)  # type: ignore[call-arg]
    agreed = KMeansStudy("points", n_clusters=2, bounds=[(0, 1)], epsilon=1)
    for study in (agreed, KMeansStudy("points", n_clusters=2, bounds=[(0, 1)], epsilon=5)):
        asked = started(study, n_local=100).round
        assert asked is not None
        if study == agreed:
            assert Round.from_json(asked.to_json(), study=agreed).study == agreed
        else:  # else a server could simply ask with a larger ε
            with pytest.raises(ProtocolError, match="another study than the one agreed to"):
                Round.from_json(asked.to_json(), study=agreed)


def test_no_round_can_be_made_whose_channel_does_not_keep_the_promise() -> None:
    """Nor by hand: devices answer rounds, wherever these come from."""
    for channel, reason in (
        (UnaryEncoding(epsilon=20, n_categories=11), "the study's epsilon"),
        (UnaryEncoding(epsilon=1, n_categories=11), "the study's epsilon"),
        (UnaryEncoding(epsilon=2, n_categories=10), "fewer symbols than its question"),
        (RandomizedResponse(epsilon=2, n_categories=12), "more symbols than its question"),
        (ChoiceResponse(epsilon=2, n_codes=16, n_chosen=1), "more symbols"),
        (WindowChannel(epsilon=2), "not one of symbols"),
    ):
        with pytest.raises(ProtocolError, match=f"The ask is refused: .*{reason}"):
            Round(STUDY, 1, "a grid", (replace(GRID, channel=channel),))


def test_what_cannot_be_answered_or_counted_is_refused() -> None:
    with pytest.raises(DataError, match="NaN"):
        ROUND.answer([[np.nan, 1.0]])
    assert sum(len(reports.users) for reports in ROUND.answer(np.empty((0, 2)))) == 0
    reports = ROUND.answer(POINTS, random_state=1)
    with pytest.raises(ProtocolError, match="has 3 asks, got reports to 2"):
        ROUND.count(reports[:2])
    answers = ROUND.count(reports).answers
    with pytest.raises(ProtocolError, match="do not add up"):
        answers[1] + answers[2]


def test_a_symbol_that_the_channel_does_not_have_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def escaped(self: GridQuestion, points: np.ndarray, *_: object) -> np.ndarray:
        return np.full(len(points), self.n_symbols)

    monkeypatch.setattr(GridQuestion, "symbols", escaped)
    with pytest.raises(DataError, match="categories must be integers from 0 to 10"):
        Round(STUDY, 1, "a grid", (GRID,)).answer(POINTS)


@pytest.mark.parametrize("thin", [1e-3, 1e-12, 1e-40])
def test_rounds_in_a_thin_box_are_within_the_limits(thin: float) -> None:
    """Coordinates of next to nothing are 0: devices refuse numbers that a processor takes longer over."""
    bounds = [(0, 1)] * 4 + [(0, thin)] * 2
    study = KMeansStudy("x", n_clusters=2, bounds=bounds, epsilon=2, scale="none")
    points = np.random.default_rng(0).random((4000, 6)) * [1, 1, 1, 1, thin, thin]
    server = started(study, n_local=4000, random_state=1)
    rounds = 0
    while server.round is not None:
        on_device = Round.from_json(server.round.to_json(), study=study)
        server.absorb(server.round.count(on_device.answer(points[:400], random_state=1)))
        rounds += 1
    assert rounds == 10


# On devices


@pytest.mark.parametrize("at_a_time", [1, 7, 600])
def test_every_device_answers_exactly_one_ask(at_a_time: int) -> None:
    source = np.random.default_rng(5)
    for first in range(0, 60 if at_a_time == 1 else 600, at_a_time):
        some = POINTS[first : first + at_a_time]
        reports = Round.from_json(ROUND.to_json(), study=STUDY).answer(some, random_state=source)
        assert sorted(np.concatenate([r.users for r in reports]).tolist()) == list(range(len(some)))
        counted = ROUND.count(reports)
        assert sum(int(answers.users.sum()) for answers in counted.answers) == len(some)
        assert counted.rejected == 0


@pytest.mark.statistical
def test_asks_are_drawn_by_their_fractions_of_users() -> None:
    """All numbers of users and variants together. A fraction that is wrong by a fifth would be off by tens."""
    n, limit = 60_000, z_limit(sum(1 + ask.question.n_variants for ask in ROUND.asks))
    reports = ROUND.answer(np.tile(POINTS, (100, 1)), random_state=1)
    for ask, some in zip(ROUND.asks, reports, strict=True):
        p = float(ask.user_fraction / ROUND.user_fraction)
        assert abs(len(some.users) - 1.2 * n * p) > limit * np.sqrt(n * p * (1 - p))
        assert abs(len(some.users) - n * p) < limit * np.sqrt(n * p * (1 - p))
        variants = np.bincount(some.variants, minlength=ask.question.n_variants)
        q = 1 / ask.question.n_variants
        assert np.abs(variants - len(some.users) * q).max() <= limit * np.sqrt(len(some.users) * q * (1 - q))


def test_a_seed_repeats_reports_and_no_seed_does_not() -> None:
    first, second, third = (
        np.concatenate([r.codes.ravel() for r in ROUND.answer(POINTS, random_state=s)[1:]]) for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, third)
    system = [ROUND.answer(POINTS)[2].users.tolist() for _ in range(2)]
    assert system[0] != system[1]


def test_reports_and_their_tally_say_whether_they_were_seeded() -> None:
    seeded, private = ROUND.answer(POINTS, random_state=1), ROUND.answer(POINTS)
    assert all(reports.seeded for reports in seeded)
    assert not any(reports.seeded for reports in private)
    assert ROUND.count(seeded).seeded
    assert ROUND.count((*private[:2], seeded[2])).seeded
    assert not ROUND.count(private).seeded


# At the curator


def test_counts_of_shards_add_up_to_the_count_of_all() -> None:
    reports = ROUND.answer(POINTS, random_state=1)
    whole = ROUND.count(reports)
    shards = [[RoundReports(r.users[i::3], r.variants[i::3], r.codes[i::3]) for r in reports] for i in range(3)]
    parts = [ROUND.count(shard) for shard in shards]
    for i, answers in enumerate(whole.answers):
        added = parts[0].answers[i] + parts[1].answers[i] + parts[2].answers[i]
        np.testing.assert_array_equal(added.supports, answers.supports)
        np.testing.assert_array_equal(added.users, answers.users)


def test_counts_are_those_of_the_reports_one_by_one() -> None:
    reports = ROUND.answer(POINTS, random_state=1)
    grid, _, direction = ROUND.count(reports).answers
    rows = [np.unpackbits(row, bitorder="little")[:11] for row in reports[0].codes]
    np.testing.assert_array_equal(grid.supports[0], np.sum(rows, axis=0))
    for variant in range(DIRECTION.question.n_variants):
        mine = reports[2].codes[reports[2].variants == variant]
        np.testing.assert_array_equal(direction.supports[variant], [np.sum(mine == code) for code in range(4)])


def test_reports_that_are_no_answers_are_left_out_and_counted() -> None:
    grid, label, direction = ROUND.answer(POINTS, random_state=1)
    spoiled = grid.codes.copy()
    spoiled[0, -1] |= 0b1000  # the report has 11 bits, of 16
    spoiled[1, -1] |= 0b1000_0000
    codes, variants = label.codes.astype(np.int64), direction.variants.copy()
    codes[:2] = (2, -1)
    variants[:3] = (DIRECTION.question.n_variants, -1, 1000)
    counted = ROUND.count(
        [
            RoundReports(grid.users, grid.variants, spoiled),
            RoundReports(label.users, label.variants, codes),
            RoundReports(direction.users, variants, direction.codes),
        ]
    )
    assert counted.rejected == 7
    good = ROUND.count(
        [
            RoundReports(r.users[i:], r.variants[i:], r.codes[i:])
            for i, r in zip((2, 2, 3), (grid, label, direction), strict=True)
        ]
    )
    for some, expected in zip(counted.answers, good.answers, strict=True):
        np.testing.assert_array_equal(some.supports, expected.supports)
        np.testing.assert_array_equal(some.users, expected.users)


# A whole crowd


@pytest.mark.statistical
@pytest.mark.representative
def test_a_crowd_answers_as_its_devices_would() -> None:
    """The mean counts of the crowd and of devices over 40 runs, all counts together."""
    runs, users = 40, 6000
    limit = z_limit(sum(ask.question.n_symbols * ask.question.n_variants for ask in ROUND.asks), runs)
    points = np.tile(POINTS[:60], (users // 60, 1))
    placed = STUDY.box.place(points).points
    for ask in ROUND.asks:
        alone = Round(STUDY, 1, "alone", (Ask(ask.question, ask.channel, Fraction(1)),))
        by_crowd, by_devices = [], []
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            order = rng.permutation(users)
            blocks = iter([placed[order[:400]], placed[order[400:]]])
            answers = simulate_devices(ask, blocks, source=byte_source(seed), rng=rng)
            assert answers.users.sum() == users
            assert np.ptp(answers.users) <= 1
            by_crowd.append(answers.counts(ask.channel).sum(axis=0))
            (alike,) = alone.count(alone.answer(points, random_state=rng)).answers
            by_devices.append(alike.counts(ask.channel).sum(axis=0))
        a, b = np.array(by_crowd), np.array(by_devices)
        error = np.sqrt((a.var(axis=0, ddof=1) + b.var(axis=0, ddof=1)) / runs)
        assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) < limit * error).all()
        assert (np.abs(1.2 * a.mean(axis=0) - b.mean(axis=0)) > limit * error).any()  # a fifth would be noticed


@pytest.mark.statistical
def test_a_crowd_does_not_favor_the_first_variants() -> None:
    """If there are fewer users than variants, or not a multiple of them, chance says which are answered."""
    ask, points = DIRECTION, STUDY.box.place(POINTS[:11]).points
    runs, answered = 1500, np.zeros(ask.question.n_variants)
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        users = simulate_devices(ask, iter([points[:5], points[5:]]), source=byte_source(seed), rng=rng).users
        assert (users.sum(), users.max() - users.min()) == (11, 1)
        answered += users > users.min()
    # 11 = 8 + 3: each variant is one of the remaining ones equally often.
    fraction = (11 % ask.question.n_variants) / ask.question.n_variants
    limit = z_limit(answered.size) * np.sqrt(fraction * (1 - fraction) / runs)
    assert np.abs(answered / runs - fraction).max() < limit
    assert np.abs(1.2 * answered / runs - fraction).max() > limit
