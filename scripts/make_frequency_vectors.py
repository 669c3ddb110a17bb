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
from frequency_texts import LARGEST, accepted, refused, refused_channels, refused_discovery
from make_vectors import stream
from numpy.typing import NDArray

from hybriddp.channels.channel import FiniteChannel
from hybriddp.channels.hashing import LocalHashing
from hybriddp.channels.response import ChoiceResponse, RandomizedResponse
from hybriddp.channels.unary import UnaryEncoding
from hybriddp.items.discovery import DiscoveryQuestion
from hybriddp.randomness import ByteSource
from hybriddp.shares import FrequencyStudy
from hybriddp.shares.categories import Item
from hybriddp.shares.designs import SHAPES, n_sets
from hybriddp.shares.oracle import FrequencyChannel

TARGET = Path(__file__).parent.parent / "vectors" / "frequency.json"
COUNT = 20_000
DISCOVERY_COUNT = 2_000


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


def discovery_cases() -> Iterator[dict[str, Any]]:
    """Reports of local discovery, drawn one at a time, as devices do."""
    cases: list[tuple[str, str, str]] = [
        ("1", "bytes", "aé日🙂\x00\x01\x7f\x80\u07ff\u0800\ud7ff\ud800\udfff\uffff"),
        ("0.1", "digits", "0123456789a"),
        ("2", "capitals and digits", "NZ019 n"),
        ("4", "host names", "az09-._"),
        ("12", "ab", "abc"),
        ("1", "é日🙂 z", "é日🙂 z\ud83d"),
        ("1", "".join(chr(0x4E00 + i) for i in range(1024)), "\u4e00\u4e01\u51ff\u5200"),
    ]
    for number, (epsilon, alphabet, characters) in enumerate(cases):
        question = DiscoveryQuestion(f"vector {number}", epsilon=epsilon, alphabet=alphabet)
        seed = f"hybriddp discovery {number}"
        longest = question.alphabet.longest
        rng = np.random.default_rng(number)
        inputs = ["", *characters, characters[0] * longest, characters[0] * (longest + 1), characters[-1] * 40]
        inputs += ["".join(rng.choice(list(characters), rng.integers(1, longest + 2))) for _ in range(40)]
        per_report = 4 + question.channel.bytes_per_report
        source = KnownBytes(stream(f"{seed} bytes", DISCOVERY_COUNT * per_report))
        with mock.patch("hybriddp.items.discovery.byte_source", return_value=source):
            drawn = [question.randomize([inputs[i % len(inputs)]]).codes for i in range(DISCOVERY_COUNT)]
        fields = {"text": question.to_json(), "digest": question.digest, "inputs": inputs}
        yield {**fields, **case(question.channel, seed, np.concatenate(drawn)), "bytes_per_report": per_report}


def main() -> None:
    """Write the file."""
    vectors = {
        "studies": [study_case(number, *made) for number, made in enumerate(channels())],
        "channels": list(channel_cases()),
        "discovery": list(discovery_cases()),
        "accepted": list(accepted()),
        "refused": list(refused()),
        "refused_channels": list(refused_channels()),
        "refused_discovery": list(refused_discovery()),
    }
    TARGET.write_text(json.dumps(vectors, indent=1) + "\n", encoding="utf-8")
    print(", ".join(f"{len(cases)} {name}" for name, cases in vectors.items()), f"{TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
