"""Make vectors/frequency.json: reports of categories that every client must give for known bytes, and what it refuses.

    python scripts/make_frequency_vectors.py

See vectors/README.md for how a client reads the file. The reports are made by `FrequencyStudy.randomize` itself, with
known bytes in the place of the system's.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from make_vectors import entry, stream, tampered, text
from numpy.typing import NDArray

from hybriddp.channels import TableChannel, WindowChannel
from hybriddp.channels.channel import FiniteChannel
from hybriddp.channels.hashing import LocalHashing
from hybriddp.channels.response import ChoiceResponse, RandomizedResponse
from hybriddp.channels.unary import UnaryEncoding
from hybriddp.channels.window import Window
from hybriddp.frequency import FrequencyStudy
from hybriddp.frequency.categories import OTHER, Item
from hybriddp.frequency.designs import SHAPES, n_sets
from hybriddp.frequency.oracle import FrequencyChannel
from hybriddp.randomness import ByteSource
from hybriddp.release.event import Part

TARGET = Path(__file__).parent.parent / "vectors" / "frequency.json"
COUNT = 20_000
LARGEST = 2**53 - 1


class KnownBytes(ByteSource):
    """Bytes that are known beforehand, one after the other."""

    seeded = False

    def __init__(self, raw: NDArray[np.uint8]) -> None:
        self.raw = raw

    def fill(self, buffer: NDArray[np.uint8]) -> None:
        """The next ones."""
        buffer[:], self.raw = self.raw[: len(buffer)], self.raw[len(buffer) :]


# Reports of studies ---------------------------------------------------------------------------------------------------


def channels() -> Iterator[tuple[FrequencyChannel, int]]:
    """Channels of every kind, each with a number of categories."""
    for epsilon, n in (("0.01", 2), ("0.5", 5), ("1", 2), ("3", 300), ("2", 3000), ("12", 40), ("20", 2)):
        yield RandomizedResponse(epsilon=epsilon, n_categories=n), n
    for epsilon in ("0.1", "1", "12"):
        for n_codes, n_chosen in SHAPES:
            most = n_sets(n_codes, n_chosen)
            yield (
                ChoiceResponse(epsilon=epsilon, n_codes=n_codes, n_chosen=n_chosen),
                most if epsilon == "1" else most - 1,
            )
    for epsilon, n in (("0.01", 2), ("0.5", 8), ("1", 20), ("1", 33), ("4", 53), ("15", 9)):
        yield UnaryEncoding(epsilon=epsilon, n_categories=n), n
    for epsilon, n in (("0.01", 2), ("0.5", 60), ("1", 1000), ("3", 4000), ("7", 300), ("12", 100)):
        yield LocalHashing(epsilon=epsilon), n
    yield LocalHashing(epsilon="1", n_functions=2, n_values=2, seed=2**32 - 1), 30
    yield LocalHashing(epsilon="1", n_functions=65536, n_values=1024, seed=2**31), 30


def categories(n: int, *, texts: bool) -> list[Item]:
    """Categories in no order: texts, or integers of which half are negative."""
    return [f"item {i} ½" if texts else (i * 7919) * (-1) ** i for i in range(n)]


def items(study: FrequencyStudy, seed: str) -> list[Item]:
    """What users have: the *w*-th category, modulo their number; if that is other, an item that no list has."""
    found: list[Item] = []
    for word in stream(f"{seed} inputs", 4 * COUNT).view("<u4").tolist():
        number = word % len(study.names)
        other: Item = f"none of them, {word}" if study.domain.are_texts else word + 2**40
        found.append(study.categories[number] if number < len(study.categories) else other)
    return found


def study_case(number: int, channel: FrequencyChannel, n: int) -> dict[str, Any]:
    """The codes of a study's reports; every other study has other items, and texts and integers take turns."""
    other = number % 2 == 1
    listed = categories(n - other, texts=number // 2 % 2 == 0)
    study = FrequencyStudy(f"vector {number}", categories=listed, epsilon=channel.epsilon, other=other, channel=channel)
    seed = f"hybriddp frequency {number}"
    with known_bytes(seed, channel):
        codes = study.randomize(items(study, seed)).codes
    return {"text": study.to_json(), "digest": study.digest, **case(channel, seed, codes)}


def known_bytes(seed: str, channel: FiniteChannel) -> Any:
    """Known bytes in the place of the system's."""
    source = KnownBytes(stream(f"{seed} bytes", COUNT * channel.bytes_per_report))
    return mock.patch("hybriddp.channels.channel.byte_source", return_value=source)


def case(channel: FiniteChannel, seed: str, codes: NDArray[Any]) -> dict[str, Any]:
    """What all cases have in common; a code is hashed as eight bytes, little endian."""
    return {
        "kind": channel.kind,
        "epsilon": channel.epsilon,
        "seed": seed,
        "count": len(codes),
        "bytes_per_report": channel.bytes_per_report,
        "sha256": hashlib.sha256(codes.astype("<u8").tobytes()).hexdigest(),
        "first": codes[:20].tolist(),
    }


def channel_cases() -> Iterator[dict[str, Any]]:
    """Codes of any sets and of large keys, which no study of known categories has."""
    words = stream("hybriddp frequency keys", 8 * 60).view("<u8")
    keys = [0, 2**32 - 1, 2**32, LARGEST, *(words >> 11).tolist()]
    cases: list[tuple[FiniteChannel, list[int]]] = [
        (ChoiceResponse(epsilon="1", n_codes=8, n_chosen=3), sets(8, 3)),
        (ChoiceResponse(epsilon="4", n_codes=32, n_chosen=5), sets(32, 5)),
        (ChoiceResponse(epsilon="0.5", n_codes=2, n_chosen=1), sets(2, 1)),
        (LocalHashing(epsilon="1", seed=7), keys),
        (LocalHashing(epsilon="14", n_functions=512, n_values=1000, seed=12345), keys),
    ]
    for number, (channel, inputs) in enumerate(cases):
        seed = f"hybriddp frequency channel {number}"
        with known_bytes(seed, channel):
            codes = channel.sample(np.resize(np.array(inputs, np.uint64), COUNT))
        yield {"text": channel.to_json(), "digest": channel.digest, "inputs": inputs, **case(channel, seed, codes)}


def sets(n_codes: int, n_chosen: int) -> list[int]:
    """Some sets of codes: the first codes, the last ones, and others between."""
    rng = np.random.default_rng(n_codes)
    drawn = [rng.permutation(n_codes)[:n_chosen] for _ in range(30)]
    chosen = [range(n_chosen), range(n_codes - n_chosen, n_codes), *drawn]
    return [sum(1 << int(code) for code in one) for one in chosen]


# Texts ----------------------------------------------------------------------------------------------------------------


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
        study = FrequencyStudy(name, categories=listed, epsilon=1, **options)
        yield {"text": study.to_json(), "digest": study.digest}


def written(fields: dict[str, Any], **changes: Any) -> str:
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
        study = FrequencyStudy("items", categories=[f"item {i}" for i in range(k)], epsilon=1)
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
        yield entry(why, written(study, categories=listed, channel=json.loads(channel.to_json())))
    yield entry("no category for other items", written(study, other=True))
    table = TableChannel.from_probabilities([[0.6, 0.4], [0.4, 0.6]], [-1, 1], epsilon=1)
    yield entry("a table", written(study, channel=json.loads(table.to_json())))
    for channel_text in ("null", "[]", "{}", '"response"', "7", "[" * 20_000 + "]" * 20_000):
        changed = written(study, channel=0).replace('"channel":0', f'"channel":{channel_text}')
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
            yield entry(f"{field} is {str(value)[:30]!r}", written(study, **{field: value}))
    yield entry("a category that other items have", written(with_other, categories=["a", OTHER]))
    half = written(study, name="half").replace('"half"', '"half \\ud800"')
    yield entry("half a character in its name", half)
    yield entry("half a character in a category", written(study).replace('"b"]', '"b\\udfff"]'))
    for old, new in (('["a","b"]', "[0,1.0]"), ('["a","b"]', "[-0,1]"), ('["a","b"]', "[0,1e2]"), (":2,", ":2.0,")):
        yield entry(f"{new} as numbers", written(study).replace(old, new))


def wrong_forms() -> Iterator[dict[str, str]]:
    """Texts that say the same in another form, and texts that say nothing."""
    study = json.loads(FrequencyStudy("½ items", categories=["a", "b"], epsilon=1).to_json())
    own = written(study)
    for field, value in study.items():
        yield entry(f"without {field}", written({name: study[name] for name in study if name != field}))
        again = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        yield entry(f"{field} twice", f'{own[:-1]},"{field}":{again}}}')
    yield entry("one more field", written(study, delta="0"))
    yield entry("prototype field", own[:-1] + ',"__proto__":{}}')
    yield entry("another order", written(dict(reversed(study.items()))))
    yield entry("spaces", json.dumps(study, ensure_ascii=False))
    yield entry("escapes", json.dumps(study, separators=(",", ":")))
    yield entry("an escape that is not needed", own.replace('"a"', '"\\u0061"'))
    yield entry("trailing line", own + "\n")
    yield entry("leading space", " " + own)
    yield entry("leading mark", "\ufeff" + own)
    yield entry("cut off", own[:-1])
    for nothing in ("", "null", "[]", "{}", '"frequency"', "7", "[" * 20_000 + "]" * 20_000):
        yield entry(f"{nothing[:11]!r}", nothing)


def main() -> None:
    """Write the file."""
    vectors = {
        "studies": [study_case(number, *made) for number, made in enumerate(channels())],
        "channels": list(channel_cases()),
        "accepted": list(accepted()),
        "refused": list(refused()),
        "refused_channels": list(refused_channels()),
    }
    TARGET.write_text(json.dumps(vectors, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(", ".join(f"{len(cases)} {name}" for name, cases in vectors.items()), f"{TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
