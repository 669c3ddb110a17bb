"""Texts of K-means studies, rounds and turns for vectors/kmeans.json: odd ones, and wrong ones."""

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from frequency_texts import plain
from make_vectors import entry, small_window, tampered

from hybriddp.channels import Channel, RandomizedResponse, UnaryEncoding
from hybriddp.channels.hashing import LocalHashing
from hybriddp.channels.response import ChoiceResponse
from hybriddp.channels.unary import symbol_channel
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.protocol.turns import Turns
from hybriddp.kmeans.reports.base import Ask, GridQuestion, Labels, Projection
from hybriddp.kmeans.reports.codebook import Directions
from hybriddp.kmeans.reports.means import DirectionQuestion, LabelSignsQuestion
from hybriddp.kmeans.reports.moments import length_ask, pair_ask
from hybriddp.kmeans.study import KMeansStudy

BAD: list[Any] = [None, True, "1", [], {}, 0, -1, 1.5, 10**400, [[]], "", [None]]
NUMBERS = (
    "1e999",
    "-1e999",
    "NaN",
    "1e101",
    "-1e101",
    "1e-101",
    "5e-324",
    "0",
    "null",
    '"0.5"',
    "true",
    "[0.5]",
    "0.50",
)


def base_study() -> KMeansStudy:
    """The study of the rounds that are refused."""
    return KMeansStudy("½ points", n_clusters=2, bounds=[(0, 1), (-5, 5)], epsilon=1)


def base_round() -> Round:
    """A round of it with a question of three kinds; `other_round` has the others."""
    labels, radii = Labels(np.array([[0.25, 0.5], [0.75, 0.1]])), np.array([0.25, 0.5])
    signs = LabelSignsQuestion(labels, radii, np.array([[0], [1]]))
    projection = Projection(np.array([0.5, 0.5]), np.array([[0.6, 0.8]]))
    grid = GridQuestion(projection, np.array([-0.5]), np.array([0.125]), (9,))
    direction = DirectionQuestion(labels, radii, Directions.of(2), 1)
    third = Fraction(1, 3)
    asks = (
        Ask(signs, symbol_channel("1", signs.n_symbols), third),
        Ask(grid, symbol_channel("1", 9), third),
        Ask(direction, ChoiceResponse(epsilon=1, n_codes=4, n_chosen=1), third),
    )
    return Round(base_study(), 1, "what vectors ask", asks)


def other_round() -> Round:
    """A round of the other two kinds."""
    center, part = np.array([0.5, 0.25]), Fraction(1, 2)
    pairs = pair_ask(center, 0.75, epsilon="1", user_fraction=part)
    return Round(
        base_study(), 2, "moments", (length_ask(center, 0.75, epsilon="1", user_fraction=Fraction(1, 4)), pairs)
    )


# Studies --------------------------------------------------------------------------------------------------------------


def accepted_studies() -> Iterator[dict[str, Any]]:
    """Studies that look odd and are fine, with their digests."""
    pair = [(0.0, 1.0), (-1e-3, 5e16)]
    studies = [
        KMeansStudy('עִברִית 🙂 "quoted" \\ \u2028 ½', n_clusters=1, bounds=[(0, 1)], epsilon=1),
        KMeansStudy("🙂" * 1000, n_clusters=1024, bounds=[(0, 1)] * 256, epsilon=1),
        KMeansStudy("\ufeff", n_clusters=3, bounds=pair, epsilon=1, scale="none"),
        KMeansStudy("weights", n_clusters=3, bounds=pair, epsilon=1, scale=[1e-7, 3e22]),
        KMeansStudy("thin", n_clusters=3, bounds=pair, epsilon=1, scale=[1e-50, 1]),
        KMeansStudy("wide", n_clusters=3, bounds=[(-1e139, 1e120), (1e-139, 1)], epsilon=1),
    ]
    studies += [
        KMeansStudy("ε", n_clusters=2, bounds=pair, epsilon=e) for e in ("0.01", "20", "0.12345678901234567890")
    ]
    for study in studies:
        yield {"epsilon": study.privacy.epsilon, "text": study.to_json(), "digest": study.digest}


def refused_studies() -> Iterator[dict[str, str]]:
    """Texts of studies that no client may accept when ε = 1 was promised, and why."""
    study = json.loads(KMeansStudy("points", n_clusters=2, bounds=[(0, 1), (-5, 5)], epsilon=1).to_json())
    changes: dict[str, list[Any]] = {
        "type": ["mean", None, "Kmeans", "kmeans-round"],
        "version": [1, 3, "2", True, None],
        "name": [None, "", " ", 7, ["x"], "a\x1b[2J", "\u202esmeti", "a\ufffe", "x" * 1001, "half \ud800"],
        "n_clusters": [*BAD, 1025, 2.5],
        "bounds": [*BAD, [[0.0, 1.0], []], [[0.0, 1.0, 2.0]], [[1.0, 0.0]], [[0.0, 0.0]], [["0", "1"]], [0.0, 1.0]],
        "scale": [*BAD, "Bounds", [1.0], [1.0, 1.0, 1.0], [1.0, 0.0], [1.0, -1.0], [1.0, None], [1, 1], [True, 1.0]],
        "epsilon": [*BAD, "2", "1.0", "1e0", "one"],
        "neighbors": [*BAD, "replace", "add-remove"],
    }
    changes["bounds"] += [
        [[0.0, 1e140]],
        [[0.0, 1e-140]],
        [[-1e308, 1e308]],
        [[True, 2.0]],
        [[0, 1]],
        [[0.0, 1.0]] * 257,
    ]
    changes["scale"] += [[1e-51, 1.0], [1e-30, 1e21], {"0": 1.0, "1": 1.0, "length": 2}]
    for field, values in changes.items():
        for value in values:
            if value != study[field] or type(value) is not type(study[field]):
                yield entry(f"{field} is {str(value)[:30]!r}", written(study, field, value))
    own = plain(study)
    for new in ("[-0.0,1.0]", "[0.0,1.00]", "[0.0,1e0]", "[0.0,1]", "[0.0,1e999]", "[0.0,NaN]"):
        yield entry(f"bounds are {new}", own.replace("[0.0,1.0]", new))
    yield entry("none, thin", plain(study, bounds=[[0.0, 1e-40], [0.0, 1e11]], scale="none"))
    yield entry("a float as its number of clusters", own.replace('"n_clusters":2', '"n_clusters":2.0'))
    yield from wrong_forms(study, own)


def written(fields: dict[str, Any], field: str, value: Any) -> str:
    """A text with another value; half a character is escaped, since no file can hold it."""
    changed = {**fields, field: value}
    half = "\ud800" in str(value)
    return json.dumps(changed, separators=(",", ":")) if half else plain(changed)


def wrong_forms(fields: dict[str, Any], own: str) -> Iterator[dict[str, str]]:
    """Texts that say the same in another form, and texts that say nothing."""
    for field, value in fields.items():
        yield entry(f"without {field}", plain({name: fields[name] for name in fields if name != field}))
        again = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        if len(again) < 500:
            yield entry(f"{field} twice", f'{own[:-1]},"{field}":{again}}}')
    yield entry("one more field", plain(fields, delta="0"))
    yield entry("prototype field", own[:-1] + ',"__proto__":{}}')
    yield entry("another order", plain(dict(reversed(fields.items()))))
    yield entry("spaces", json.dumps(fields, ensure_ascii=False))
    yield entry("an escape that is not needed", own.replace('"type"', '"\\u0074ype"'))
    yield entry("trailing line", own + "\n")
    yield entry("leading space", " " + own)
    yield entry("leading mark", "\ufeff" + own)
    yield entry("cut off", own[:-1])
    for nothing in ("", "null", "[]", "{}", '"kmeans"', "7"):
        yield entry(f"{nothing[:14]!r}", nothing)


# Rounds ---------------------------------------------------------------------------------------------------------------


def refused_rounds() -> Iterator[dict[str, str]]:
    """Texts of rounds that a device of the base study refuses, and why."""
    for asked in (base_round(), other_round()):
        fields = json.loads(asked.to_json())
        yield from wrong_questions(fields)
    fields = json.loads(base_round().to_json())
    yield from wrong_rounds(fields)
    yield from wrong_channels(fields)
    yield from wrong_forms(fields, plain(fields))


def with_question(fields: dict[str, Any], number: int, question: dict[str, Any]) -> dict[str, Any]:
    """A round of which one ask has another question."""
    asks = [{**ask, "question": question} if i == number else ask for i, ask in enumerate(fields["asks"])]
    return {**fields, "asks": asks[number : number + 1]}


def wrong_questions(fields: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Questions that no device answers."""
    for number, ask in enumerate(fields["asks"]):
        question = ask["question"]
        kind = question["kind"]
        for name, value in question.items():
            rest = {field: question[field] for field in question if field != name}
            yield entry(f"{kind}: without {name}", plain(with_question(fields, number, rest)))
            for bad in [*BAD, *wrong_values(name, value)]:
                if bad == value or (name, bad) == ("radius", 1.5):
                    continue
                changed = plain(with_question(fields, number, {**question, name: bad}))
                yield entry(f"{kind}: {name} is {str(bad)[:40]}", changed)
        numbers = plain(with_question(fields, number, question))
        first = numbers.index('"question"')
        for old in ("0.5", "0.25", "0.125", "0.75"):
            if old in numbers[first:]:
                for new in NUMBERS:
                    changed = numbers[:first] + numbers[first:].replace(old, new, 1)
                    yield entry(f"{kind}: {old} is {new}", changed)
        yield entry(f"{kind}: one more field", plain(with_question(fields, number, {**question, "note": 1})))
        for other in ("residual", "pair", "__proto__", "constructor", "toString"):
            yield entry(f"{kind}: kind is {other}", plain(with_question(fields, number, {**question, "kind": other})))


def wrong_values(name: str, value: Any) -> Iterator[Any]:
    """What else a field of a question must not be."""
    if name in ("centers", "axes", "coordinates", "sign_flips", "left_sign_flips", "right_sign_flips"):
        row = value[0]
        yield from ([*value, row + row], [row[:-1]], [row] * 300, [*value[:1], None], [str(row)], {"0": row}, [[row]])
        yield [[str(x) for x in row] for row in value]
        yield [[True for _ in row] for row in value]
    if name in ("radii", "low", "step", "origin", "center", "sizes"):
        yield from (value[:-1], [*value, value[0]], [value], [str(value[0])] * len(value), [0.0] * (len(value) + 1))
    if name in ("radii", "step"):
        yield from ([0.0] * len(value), [-0.5] * len(value))
    if name == "centers":
        yield from ([value[0]] * 7, [[0, 0], [1, 1]])
    if name == "axes":
        yield from ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1, 0]])
    if name == "coordinates":
        yield from ([[0], [2]], [[0], [-1]], [[0, 0], [1, 1]], [[0], [1], [0]], [0, 1], [[0], [0, 1]], [[0.0], [1.0]])
    if name.endswith("sign_flips"):
        yield from ([[1, 2]], [[1, 0]], [[1, -1]] * 65, [[1.0, -1.0]] * len(value))
    if name.endswith("t_sign_flips"):
        yield value[:1] * 17
    if name == "sizes":
        yield from ([1], [4097], [9.0], [8], [10], [2**53 + 9])
    if name == "chosen":
        yield from (2, 3, 2.0, 1.0, 32)
    if name == "radius":
        yield from (1, 0.0, -0.75, 1e-101, 1e101, [0.75])


def wrong_rounds(fields: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Rounds of another study, with another number, purpose or fractions."""
    changes: dict[str, list[Any]] = {
        "type": ["kmeans", None],
        "version": [1, "2", True, None],
        "number": [*BAD, 65, 1.0],
        "purpose": [None, "", " ", 7, "x" * 201, "a\x1b[2J", "\u202ea", ["x"]],
        "asks": [*BAD, "abc", [{}], [fields["asks"][0]] * 4, {"0": fields["asks"][0], "length": 1}],
        "study": [None, {}, "", []],
    }
    for field, values in changes.items():
        for value in values:
            if value != fields[field] or type(value) is not type(fields[field]):
                yield entry(f"{field} is {str(value)[:30]!r}", plain({**fields, field: value}))
    others: dict[str, Any] = {
        "name": "points",
        "n_clusters": 3,
        "epsilon": "2",
        "scale": "none",
        "neighbors": "add-remove",
    }
    others["bounds"] = [[0.0, 1.0], [-5.0, 6.0]]
    for field, value in others.items():
        yield entry(f"a study with another {field}", plain(fields, study={**fields["study"], field: value}))
    one = fields["asks"][0]
    for fraction in (
        *BAD,
        "0",
        "0/1",
        "1/0",
        "2",
        "4/3",
        "2/6",
        "0.5",
        "1/3 ",
        "-1/3",
        "+1/3",
        "1e-1",
        "01/3",
        "1/1",
        "٣/4",
    ):
        if fraction != "1":
            ask = {**one, "user_fraction": fraction}
            yield entry(f"a fraction of {str(fraction)[:20]!r}", plain({**fields, "asks": [ask]}))
    for fraction in (f"1/{10**18}", f"{10**18}/{10**18 + 1}"):
        yield entry(f"a fraction of {fraction}", plain({**fields, "asks": [{**one, "user_fraction": fraction}]}))
    more = [{**one, "user_fraction": part} for part in ("1/2", "1/3", "1/5")]
    yield entry("fractions of more than all", plain({**fields, "asks": more}))
    for missing in one:
        ask = {name: one[name] for name in one if name != missing}
        yield entry(f"an ask without {missing}", plain({**fields, "asks": [ask]}))
    yield entry("an ask with one more field", plain({**fields, "asks": [{**one, "note": 1}]}))


def wrong_channels(fields: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Channels that promise less, or do not fit their question."""
    for number, weights in ((0, ("low", "extra")), (2, ("low", "extra"))):
        ask = fields["asks"][number]
        for bad in tampered(ask["channel"], weights):
            own = plain({**fields, "asks": [ask]})
            yield entry(f"channel {bad['why']}", own.replace(plain(ask["channel"]), bad["text"]))
    unary = json.loads(UnaryEncoding(epsilon=1, n_categories=9).to_json())
    grid = {**fields["asks"][1], "channel": unary}
    for step in ({"one": unary["one"] + 1}, {"zero": unary["zero"] - 1}, {"categories": 8}, {"categories": 10}):
        yield entry(f"unary: {step}", plain({**fields, "asks": [{**grid, "channel": {**unary, **step}}]}))
    wrong: list[tuple[int, Channel]] = [
        (0, RandomizedResponse(epsilon=1, n_categories=3)),
        (0, RandomizedResponse(epsilon=1, n_categories=5)),
        (0, RandomizedResponse(epsilon="0.5", n_categories=4)),
        (0, RandomizedResponse(epsilon=2, n_categories=4)),
        (0, UnaryEncoding(epsilon=2, n_categories=4)),
        (0, ChoiceResponse(epsilon=1, n_codes=4, n_chosen=1)),
        (0, small_window()),
        (0, LocalHashing(epsilon=1, n_functions=2, n_values=2)),
        (1, RandomizedResponse(epsilon=1, n_categories=8)),
        (2, RandomizedResponse(epsilon=1, n_categories=4)),
        (2, UnaryEncoding(epsilon=1, n_categories=4)),
        (2, ChoiceResponse(epsilon=1, n_codes=4, n_chosen=2)),
        (2, ChoiceResponse(epsilon=1, n_codes=8, n_chosen=1)),
        (2, ChoiceResponse(epsilon=2, n_codes=4, n_chosen=1)),
    ]
    for number, channel in wrong:
        ask = {**fields["asks"][number], "channel": json.loads(channel.to_json())}
        yield entry(f"ask {number} with {channel!r}", plain({**fields, "asks": [ask]}))
    others: list[Any] = [None, [], {}, "unary", 7, {"type": "unary"}]
    for other in others:
        yield entry(f"channel is {other!r}", plain({**fields, "asks": [{**fields["asks"][0], "channel": other}]}))


# Turns ----------------------------------------------------------------------------------------------------------------


def turns() -> Turns:
    """The turns that participants of the base study are looked up in."""
    return Turns(
        base_study().digest,
        (Fraction(1, 4), Fraction(1, 20), Fraction(333333333333333333, 10**18 - 1), Fraction(1, 5)),
    )


SUBJECTS = (
    "1",
    "participant 1",
    "u-7f3a",
    " ",
    "a\nb",
    "½",
    "🙂",
    "\ufeff",
    "x" * 256,
    "🙂" * 256,
    "\x00",
    "null",
    "é",
    "e\u0301",
)


def refused_turns() -> Iterator[dict[str, str]]:
    """Texts of turns that a device of the base study refuses, and why."""
    fields = json.loads(turns().to_json())
    lists: list[Any] = [
        *BAD,
        ["1/2", "1/3", "1/5"],
        ["1/101"],
        ["99/10000"],
        ["1/2", "0"],
        ["2"],
        ["2/4"],
        [0.5],
        ["0.5"],
    ]
    lists += [["1/100"] * 65, ["1/100"] * 101, {"0": "1"}, ["1", "1"], [None], [["1/2"]], ["1/2 "], ["1/2", ""]]
    for value in lists:
        yield entry(f"fractions are {str(value)[:30]}", plain(fields, fractions=value))
    for value in [*BAD, "0" * 64, fields["study"].upper(), fields["study"][:-1]]:
        yield entry(f"study is {str(value)[:20]}", plain(fields, study=value))
    for value in (None, "kmeans", "kmeans-round"):
        yield entry(f"type is {value}", plain(fields, type=value))
    for value in (None, 1, "2", 3):
        yield entry(f"version is {value}", plain(fields, version=value))
    yield from wrong_forms(fields, plain(fields))
