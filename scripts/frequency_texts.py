"""Texts of frequency studies, their channels and questions for vectors/frequency.json: odd ones, and wrong ones."""

import json
from collections.abc import Iterator
from typing import Any

from make_vectors import TABLE, entry, tampered, text

from hybriddp.channels import WindowChannel
from hybriddp.channels.channel import FiniteChannel
from hybriddp.channels.hashing import LocalHashing
from hybriddp.channels.response import ChoiceResponse, RandomizedResponse
from hybriddp.channels.unary import UnaryEncoding
from hybriddp.channels.window import Window
from hybriddp.items.coding import NAMED_ALPHABETS
from hybriddp.items.discovery import DiscoveryQuestion
from hybriddp.release.event import Part
from hybriddp.shares import FrequencyStudy
from hybriddp.shares.categories import OTHER, Item

LARGEST = 2**53 - 1


def accepted() -> Iterator[dict[str, Any]]:
    """Studies that look odd and are fine."""
    yes_no: list[Item] = ["yes", "no"]
    extremes: list[Item] = [-LARGEST, LARGEST, 0]
    for name, listed, options in (
        ("opened the app", yes_no, {}),
        ('עִברִית 🙂 "quoted" \\ \u2028 ½', yes_no, {}),
        ("\ufeff", yes_no, {}),
        ("one", ["only this"], {"other": True}),
        ("one", [0], {"other": True}),
        ("integers", extremes, {"other": True}),
        ("names of all objects", ["__proto__", "constructor", "toString", "length"], {}),
        ("spaces are no blanks", [" a", "a", "a ", "\u00a0a"], {}),
        ("not normalized", ["é", "e\u0301"], {"other": True}),
        ("long", ["🙂" * 1000, "b"], {}),
        ("other", [OTHER, "that"], {}),
        ("groups", yes_no, {"min_group_size": 10**15}),
        ("part", yes_no, {"users": Part("country", "DE")}),
        ("part", yes_no, {"users": Part("country", "\ufeffDE")}),
        ("part", yes_no, {"users": Part("cell", 123456789012345678901234567890)}),
        ("part", yes_no, {"users": Part("cell", -1)}),
        ("short reports", [str(i) for i in range(20)], {"max_bytes": 1}),
    ):
        study = FrequencyStudy(name, categories=listed, epsilon=1, **{"other": False} | options)
        yield {"text": study.to_json(), "digest": study.digest}


def plain(fields: dict[str, Any], **changes: Any) -> str:
    """A text as studies write it, with some of its fields changed."""
    return json.dumps({**fields, **changes}, separators=(",", ":"), ensure_ascii=False)


def refused_channels() -> Iterator[dict[str, str]]:
    """Texts of channels that no client may accept when ε = 1 was promised, and why."""
    choice = json.loads(ChoiceResponse(epsilon="1", n_codes=16, n_chosen=6).to_json())
    hashing = json.loads(LocalHashing(epsilon="1").to_json())
    for fields in (choice, hashing):
        yield from tampered(fields, ("low", "extra"))
    raised = {"low": choice["low"] - 3, "extra": choice["extra"] + 8}  # 16 codes lose 3 each, 6 gain 8
    yield entry("choice: odds raised with the sum kept", text(choice, **raised))
    raised = {"low": hashing["low"] - 1, "extra": hashing["extra"] + hashing["values"]}
    yield entry("hashing: odds raised with the sum kept", text(hashing, **raised))
    for n_codes, n_chosen in ((64, 32), (12, 1), (65536, 1)):
        window = Window.for_epsilon("1", n_codes=n_codes, width=n_chosen)
        weights = {"codes": n_codes, "chosen": n_chosen, **window.fields()}
        yield entry(f"choice: {n_codes} codes", text(choice, **weights))
    for chosen in (0, 16, 17, -6, 6.5, "6", True, None):
        yield entry(f"choice: {chosen!r} chosen", text(choice, chosen=chosen))
    yield entry("choice: a float as its number of codes", text(choice).replace('"codes":16', '"codes":16.0'))
    window = Window.for_epsilon("1", n_codes=1025, width=1)
    yield entry("hashing: 1025 values", text(hashing, values=1025, **window.fields()))
    for functions in (0, 1, 3, 6, 4095, 4097, 2**17, -4096, 4096.5, "4096", True, None, [4096], 10**400):
        yield entry(f"hashing: {str(functions)[:10]!r} functions", text(hashing, functions=functions))
    for seed in (-1, 2**32, 0.5, "0", True, None, [0], 10**400):
        yield entry(f"hashing: the seed is {str(seed)[:10]!r}", text(hashing, seed=seed))
    for key in ("functions", "values", "seed"):
        as_float = text(hashing).replace(f'"{key}":{hashing[key]}', f'"{key}":{hashing[key]}.0')
        yield entry(f"hashing: {key} as a float", as_float)
    yield entry("hashing: minus zero as its seed", text(hashing).replace('"seed":0', '"seed":-0'))


def refused() -> Iterator[dict[str, str]]:
    """Texts of studies that no client may accept when ε = 1 was promised, and why."""
    for k in (3, 11, 20, 60):  # for each kind of channel
        study = FrequencyStudy("items", categories=[f"item {i}" for i in range(k)], other=False, epsilon=1)
        own = study.channel.to_json()
        weights = ("one", "zero") if '"one"' in own else ("low", "extra")
        for bad in tampered(json.loads(own), weights):
            yield entry(f"channel {bad['why']}", study.to_json().replace(own, bad["text"]))
    yield from misfits()
    yield from wrong_fields()
    yield from wrong_forms()


def misfits() -> Iterator[dict[str, str]]:
    """Channels that do not ask for one of the study's categories."""
    study = json.loads(FrequencyStudy("items", categories=["a", "b"], epsilon=1).to_json())
    others: list[tuple[str, int, FiniteChannel]] = [
        ("randomized response for one more", 2, RandomizedResponse(epsilon=1, n_categories=3)),
        ("randomized response for one less", 4, RandomizedResponse(epsilon=1, n_categories=3)),
        ("sets that are no design", 2, ChoiceResponse(epsilon=1, n_codes=8, n_chosen=3)),
        ("pairs of two codes", 2, ChoiceResponse(epsilon=1, n_codes=2, n_chosen=1)),
        ("fewer sets than categories", 16, ChoiceResponse(epsilon=1, n_codes=16, n_chosen=8)),
        ("fewer cells than categories", 17, ChoiceResponse(epsilon=1, n_codes=16, n_chosen=6)),
        ("unary encoding of one more", 2, UnaryEncoding(epsilon=1, n_categories=3)),
        ("unary encoding beyond all integers", 54, UnaryEncoding(epsilon=1, n_categories=54)),
        ("a channel for numbers", 2, WindowChannel(epsilon=1)),
    ]
    for why, k, channel in others:
        listed = [f"item {i}" for i in range(k)]
        yield entry(why, plain(study, categories=listed, channel=json.loads(channel.to_json())))
    yield entry("no category for other items", plain(study, other=True))
    yield entry("a table", plain(study, channel=json.loads(TABLE)))
    for channel_text in ("null", "[]", "{}", '"response"', "7", "[" * 20_000 + "]" * 20_000):
        changed = plain(study, channel=0).replace('"channel":0', f'"channel":{channel_text}')
        yield entry(f"{channel_text[:9]} for a channel", changed)


def wrong_fields() -> Iterator[dict[str, str]]:
    """Values that no study has."""
    study = json.loads(FrequencyStudy("items", categories=["a", "b"], epsilon=1).to_json())
    with_other = json.loads(FrequencyStudy("items", categories=["a", "b"], epsilon=1, other=True).to_json())
    changes: dict[str, list[Any]] = {
        "type": ["mean", None, "Frequency"],
        "version": [2, 0, "1", True, None],
        "name": [
            None,
            "",
            " ",
            "\u3000",
            7,
            ["items"],
            "a\x1b[2J",
            "a\nb",
            "\u202esmeti",
            "a\u2069",
            "a\x7f",
            "a\ufffe",
        ],
        "categories": [None, "ab", {"a": 0, "b": 1}, [], ["a"], ["a", "a"], ["a", 1], ["a", None], [True, False]],
        "other": [None, 0, 1, "false", []],
        "epsilon": ["2", "1.0", 1, None, ""],
        "min_group_size": [0, -1, 2.5, True, "2", None, [2]],
        "users": [{}, False, 0, "", [], {"by": "country"}, {"by": "country", "key": 1.5}, {"by": "", "key": "DE"}],
    }
    changes["categories"] += [["a", ["b"]], [0, 1.5], [0, 2**53], [-(2**53), 0], [0, 10**400], ["a", ""], ["a", " "]]
    changes["categories"] += [["a", "b\x00"], ["a", "\u202eb"], ["a", "b" * 1001], ["a", "🙂" * 1001], ["a", "\u2028"]]
    changes["users"] += [{"by": "country", "key": key} for key in ("DE ", " DE", "", None, True, ["DE"], "D\x00")]
    changes["users"] += [{"by": "country", "key": "DE", "of": "EU"}, {"key": "DE", "by": "country"}, [["by", "c"]]]
    for field, values in changes.items():
        for value in values:
            yield entry(f"{field} is {str(value)[:30]!r}", plain(study, **{field: value}))
    yield entry("a category that other items have", plain(with_other, categories=["a", OTHER]))
    half = plain(study, name="half").replace('"half"', '"half \\ud800"')
    yield entry("half a character in its name", half)
    yield entry("half a character in a category", plain(study).replace('"b"]', '"b\\udfff"]'))
    for old, new in (('["a","b"]', "[0,1.0]"), ('["a","b"]', "[-0,1]"), ('["a","b"]', "[0,1e2]"), (":2,", ":2.0,")):
        yield entry(f"{new} as numbers", plain(study).replace(old, new))


def wrong_forms() -> Iterator[dict[str, str]]:
    """Texts that say the same in another form, and texts that say nothing."""
    study = json.loads(FrequencyStudy("½ items", categories=["a", "b"], epsilon=1).to_json())
    own = plain(study)
    for field, value in study.items():
        yield entry(f"without {field}", plain({name: study[name] for name in study if name != field}))
        again = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        yield entry(f"{field} twice", f'{own[:-1]},"{field}":{again}}}')
    yield entry("one more field", plain(study, delta="0"))
    yield entry("prototype field", own[:-1] + ',"__proto__":{}}')
    yield entry("another order", plain(dict(reversed(study.items()))))
    yield entry("spaces", json.dumps(study, ensure_ascii=False))
    yield entry("escapes", json.dumps(study, separators=(",", ":")))
    yield entry("an escape that is not needed", own.replace('"a"', '"\\u0061"'))
    yield entry("trailing line", own + "\n")
    yield entry("leading space", " " + own)
    yield entry("leading mark", "\ufeff" + own)
    yield entry("cut off", own[:-1])
    for nothing in ("", "null", "[]", "{}", '"frequency"', "7", "[" * 20_000 + "]" * 20_000):
        yield entry(f"{nothing[:11]!r}", nothing)


def refused_discovery() -> Iterator[dict[str, str]]:
    """Texts of questions of local discovery that no client may accept when ε = 1 was promised, and why."""
    own = DiscoveryQuestion("½ items", epsilon=1, alphabet="ab")
    question = json.loads(own.to_json())
    for bad in tampered(question["channel"], ("low", "extra")):
        yield entry(f"channel {bad['why']}", own.to_json().replace(own.channel.to_json(), bad["text"]))
    response = json.loads(RandomizedResponse(epsilon=1, n_categories=4).to_json())
    changes: dict[str, list[Any]] = {
        "type": ["frequency", None],
        "version": [2, "1", True],
        "name": [None, "", " ", 7, "a\x1b[2J", "\u202esmeti", "half \ud800"],
        "epsilon": ["2", "1.0", 1, None],
        "alphabet": [None, 0, False, [], ["a", "b"], "a", "aa", "aba", " ", "a\x00", "a\u2069", *NAMED_ALPHABETS],
        "levels": [None, [], [16, 24, 32, 40], [16, 24, 32, 40, 47], [48], "16", [16, 24, 32, 40, 48.5]],
        "channel": [None, {}, [], response],
    }
    changes["alphabet"] += ["".join(chr(0x4E00 + i) for i in range(1025)), "a\ud800"]
    for field, values in changes.items():
        for value in values:
            yield entry(f"{field} is {str(value)[:30]!r}", plain(question, **{field: value}))
    for field, value in question.items():
        yield entry(f"without {field}", plain({name: question[name] for name in question if name != field}))
        again = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        yield entry(f"{field} twice", f'{own.to_json()[:-1]},"{field}":{again}}}')
    yield entry("one more field", plain(question, users=None))
    yield entry("another order", plain(dict(reversed(question.items()))))
    yield entry("spaces", json.dumps(question, ensure_ascii=False))
    yield entry("trailing line", own.to_json() + "\n")
    yield entry("a level as a float", own.to_json().replace("[16,", "[16.0,"))
    for nothing in ("", "null", "[]", "{}", "7", "[" * 20_000 + "]" * 20_000):
        yield entry(f"{nothing[:11]!r}", nothing)
