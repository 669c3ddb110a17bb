"""Make vectors/heavy.json: studies of heavy hitters, questions about their lists, and items as they are trusted.

    python scripts/make_heavy_vectors.py

See vectors/README.md for how a client reads the file. Its integers are decimal texts: they have up to 65 bytes.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from frequency_texts import plain
from make_protocol_vectors import nonce
from make_vectors import entry

from hybriddp import FrequencyStudy, HeavyHitterStudy
from hybriddp.client import Contribution
from hybriddp.client.questions import ItemQuestion
from hybriddp.items.coding import NAMED_ALPHABETS
from hybriddp.release.event import Part

TARGET = Path(__file__).parent.parent / "vectors" / "heavy.json"
STUDY = HeavyHitterStudy("search word ½", epsilon=1, delta="0.000001", min_group_size=3)
ITEMS = (
    *(
        "weather",
        "news",
        "ünïcode",
        "\N{UMBRELLA}",
        "\N{UMBRELLA}\ufe0f",
        "\N{UMBRELLA}\ufe0e and rain",
        "a b",
        " a",
        "a ",
    ),
    *("日本語", "e\u0301", "é", "🙂", "🙂" * 16, "a" * 64, "ü" * 32, "non\u00a0breaking", "1", "0", "__proto__", "﷽"),
    *(
        "",
        " ",
        "\t",
        "\u00a0",
        "(other)",
        "(OTHER)",
        "a" * 65,
        "ü" * 33,
        "🙂" * 17,
        "a" * 2000,
        "tab\there",
        "line\nbreak",
    ),
    *(
        "zero\u200bwidth",
        "join\u200ded",
        "soft\u00adhyphen",
        "\u202eturned",
        "\u2066turned",
        "\ufeff",
        "a\ufeff",
        "\x00",
    ),
    *(
        "half \ud800",
        "\udfff",
        "line\u2028",
        "paragraph\u2029",
        "private \ue000",
        "nothing \uffff",
        "unassigned \u0378",
    ),
    *(
        "letter\ufe0f",
        "\ufe0f",
        "\N{UMBRELLA}\ufe0f\ufe0f",
        "\u00a9\ufe0f",
        "5\ufe0f",
        "blank \u3164",
        "\u2800",
        "\u115f",
    ),
    *("grapheme\u034fjoiner", "variant \ufe00", "variant \U000e0100", "tag \U000e0041", "family 👨\u200d👩"),
)


def accepted() -> Iterator[dict[str, Any]]:
    """Studies that look odd and are fine."""
    odd: list[tuple[str, dict[str, Any]]] = [
        ("search word ½", {"min_group_size": 3}),
        ('עִברִית 🙂 "quoted" \\ \u2028 ½', {}),
        ("least", {"delta": "1e-300"}),
        ("most", {"delta": "0.001"}),
        ("groups", {"min_group_size": 10**15}),
        ("own alphabet", {"alphabet": "ab"}),
        ("own alphabet", {"alphabet": 'a"\\½🙂'}),
        *((f"alphabet {alphabet}", {"alphabet": alphabet}) for alphabet in NAMED_ALPHABETS),
        ("named by its characters", {"alphabet": NAMED_ALPHABETS["digits"]}),
    ]
    for name, options in odd:
        study = HeavyHitterStudy(name, **{"epsilon": 1, "delta": "0.000001", **options})
        yield {"text": study.to_json(), "digest": study.digest}


def refused() -> Iterator[dict[str, str]]:
    """Texts that no client may accept when ε = 1 was promised, and why."""
    own, fields = STUDY.to_json(), json.loads(STUDY.to_json())
    changes: dict[str, list[Any]] = {
        "type": ["frequency", None],
        "version": [2, "1", True],
        "name": [None, "", " ", 7, "a\x1b[2J", "\u202esmeti", "half \ud800"],
        "epsilon": ["2", "1.0", 1, None],
        "delta": ["0", "0.0", 0, "1e-6", "0.0011", "-0.1", None, 0.000001],
        "domain": [[], ["a", "b"], {}, False],
        "max_records": [2, 0, "1", True, 1.5],
        "records": ["all", None, "samples"],
        "levels": [2, 0, "1", True],
        "alphabet": [None, 0, False, [], "", "a", "aa", "aba", " ", "a\x00", "a\u2069", "a\ud800", "toString"],
        "min_group_size": [0, -1, 1.5, "3", True, None],
    }
    changes["alphabet"] += [characters for characters in NAMED_ALPHABETS.values() if characters]
    changes["alphabet"] += ["".join(chr(0x4E00 + i) for i in range(1025))]
    for field, values in changes.items():
        for value in values:
            yield entry(f"{field} is {str(value)[:30]!r}", plain(fields, **{field: value}))
    for field, value in fields.items():
        yield entry(f"without {field}", plain({name: fields[name] for name in fields if name != field}))
        again = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        yield entry(f"{field} twice", f'{own[:-1]},"{field}":{again}}}')
    yield entry("one more field", plain(fields, users=None))
    yield entry("another order", plain(dict(reversed(fields.items()))))
    yield entry("spaces", json.dumps(fields, ensure_ascii=False))
    yield entry("trailing line", own + "\n")
    yield entry("a float as its group size", own.replace(":3}", ":3.0}"))
    for nothing in ("", "null", "[]", "{}", "7"):
        yield entry(f"{nothing!r}", nothing)


def questions() -> Iterator[dict[str, Any]]:
    """Questions about the list of the first study: its own, and what no client may take for one."""
    listed = ["weather", "news", "ünïcode \N{UMBRELLA}\ufe0f"]
    right: dict[str, Any] = {"categories": listed, "epsilon": 1, "other": True, "min_group_size": 3}
    own = STUDY.question_about(listed)
    yield {"why": "", "text": own.to_json(), "digest": own.digest}
    alone = STUDY.question_about(["only this"])
    yield {"why": "", "text": alone.to_json(), "digest": alone.digest}
    for why, name, change in (
        ("another name", "search words", {}),
        ("a larger ε", STUDY.name, {"epsilon": 2}),
        ("a smaller ε", STUDY.name, {"epsilon": "0.5"}),
        ("a smaller group", STUDY.name, {"min_group_size": 2}),
        ("nobody is other", STUDY.name, {"other": False}),
        ("integers", STUDY.name, {"categories": [1, 2, 3]}),
        ("a part of the users", STUDY.name, {"users": Part("country", "DE")}),
        ("two that look the same", STUDY.name, {"categories": ["news", "ne\u200bws"]}),
        ("an item that nobody sees", STUDY.name, {"categories": ["news", "\u3164"]}),
        ("a letter with a presentation", STUDY.name, {"categories": ["news", "n\ufe0fews"]}),
    ):
        wrong = FrequencyStudy(name, **{**right, **change})
        yield {"why": why, "text": wrong.to_json(), "digest": wrong.digest}
    yield {"why": "another digest", "text": own.to_json(), "digest": alone.digest}
    yield {"why": "the study itself", "text": STUDY.to_json(), "digest": STUDY.digest}
    raised = own.to_json().replace('"extra":', '"extra":1')
    yield {"why": "a channel with raised odds", "text": raised, "digest": own.digest}


def items() -> Iterator[dict[str, str]]:
    """Items as somebody trusts the curator with them."""
    asked = ItemQuestion(STUDY)
    for i, item in enumerate(ITEMS):
        trusted = asked.trusted(item)
        made = Contribution(STUDY.digest, "trusted", trusted.integer, nonce(i), trusted.sent)
        told = {"item": item, "sent": str(trusted.sent), "integer": str(trusted.integer)}
        yield {**told, "nonce": made.nonce, "commitment": made.commitment}


def main() -> None:
    """Write the file."""
    found = {
        "accepted": list(accepted()),
        "refused": list(refused()),
        "questions": list(questions()),
        "items": list(items()),
    }
    TARGET.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(", ".join(f"{len(part)} {name}" for name, part in found.items()), f"{TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
