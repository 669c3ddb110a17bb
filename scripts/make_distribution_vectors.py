"""Make vectors/distribution.json: reports that every client must give for known bytes, and what it refuses.

    python scripts/make_distribution_vectors.py

See vectors/README.md for how a client reads the file. The reports are made by `DistributionStudy.randomize` itself,
with known bytes in the place of the system's.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from distribution_texts import CUBES, accepted, refused, refused_channels, short
from make_frequency_vectors import KnownBytes, case
from make_vectors import stream
from numpy.typing import NDArray

from hybriddp.channels import MaskedResponse
from hybriddp.distribution import DistributionStudy
from hybriddp.grid import UNITS

TARGET = Path(__file__).parent.parent / "vectors" / "distribution.json"
COUNT = 25_000
CHANNEL_COUNT = 256 * 20


def studies() -> Iterator[tuple[str, tuple[float, float], str | Sequence[float], float | None]]:
    """ε, bounds, scale and κ: every number of label bits, both sizes of draws, every scale."""
    negative = [-7.5 + 0.25 * i + 1e-3 * i * i for i in range(255)]
    together = [-1.0, *(3 * np.arange(1, 254) / UNITS + 0.25).tolist(), 2.0]  # several in one cell of Python's lookup
    yield from (
        ("0.01", (0.0, 1.0), "equal", None),
        ("0.1", (-60.0, 1440.0), "log", 50.0),
        ("0.5", (0.0, 1.0), CUBES, None),
        ("0.51", (0.1, 0.7), "equal", None),
        ("1", (0.0, 10_000.0), "log", None),
        ("1", (0.0, 1.0), "equal", None),
        ("1", (-1.0, 2.0), together, None),
        ("1.8", (1e6, 1e6 + 3.0), "equal", None),
        ("2", (-1e-3, 1e-3), "log", 1e-6),
        ("3", (negative[0], negative[-1]), negative, None),
        ("3.5", (0.0, 240.0), "log", 1e6),
        ("4.2", (-1e20, 3e21), "equal", None),
        ("5", (0.0, 1.0), CUBES, None),
        ("5.1", (-300.0, -200.0), "log", 7.25),
        ("5.5", (0.0, 1.0), "log", 1000.0),
        ("5.8", (-1.0, 1.0), "equal", None),
        ("6", (1e-100, 1e-99), "log", 300.0),
        ("6.5", (-1.0, 2.0), together, None),
        ("7", (0.0, 0.1), "equal", None),
        ("10", (0.0, 1e6), "log", 1e4),
        ("12", (0.0, 1.0), CUBES, None),
        ("15", (-40.0, 60.0), "log", 20.0),
        ("20", (0.0, 1.0), "equal", None),
        ("20", (negative[0], negative[-1]), negative, None),
    )


def values(study: DistributionStudy, seed: str) -> NDArray[np.float64]:
    """By turns numbers of which a third are beyond the bounds, and numbers within a unit of a cut, in half units."""
    lower, upper = study.bounds
    words = stream(f"{seed} inputs", 4 * COUNT).view("<u4").astype(np.int64)
    anywhere = lower + (upper - lower) * (words / 2**32 * 1.5 - 0.25)
    near = study.bins.cuts[words % 255] + ((words >> 8) % 5 - 2) / 2
    return np.where(np.arange(COUNT) % 2, lower + near * ((upper - lower) / UNITS), anywhere)


def study_cases() -> Iterator[dict[str, Any]]:
    """The reports of studies."""
    for number, (epsilon, bounds, scale, kappa) in enumerate(studies()):
        study = DistributionStudy(f"vector {number}", bounds=bounds, epsilon=epsilon, scale=scale, kappa=kappa)
        seed = f"hybriddp distribution {number}"
        source = KnownBytes(stream(f"{seed} bytes", COUNT * study.channel.bytes_per_report))
        with mock.patch("hybriddp.distribution.study.byte_source", return_value=source):
            codes = study.randomize(values(study, seed)).codes
        yield {"text": study.to_json(), "digest": study.digest, **case(study.channel, seed, codes)}


def channel_cases() -> Iterator[dict[str, Any]]:
    """The codes of all bins, with every number of label bits for every size of draws."""
    for epsilon in ("1", "12"):
        for label_bits in range(1, 9):
            channel = MaskedResponse(epsilon=epsilon, label_bits=label_bits)
            seed = f"hybriddp masked {epsilon} {label_bits}"
            raw = stream(f"{seed} bytes", CHANNEL_COUNT * channel.bytes_per_report)
            codes = channel.codes(np.arange(CHANNEL_COUNT) % 256, raw)
            yield {"text": channel.to_json(), "digest": channel.digest, **case(channel, seed, codes)}


def shortened(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry whose text has short names for the longest lists."""
    written = entry["text"]
    for name, full in short().items():
        if name in written:
            raise ValueError(f"{name} is in a text already")
        written = written.replace(full, name)
    return {**entry, "text": written}


def main() -> None:
    """Write the file."""
    vectors = {
        "studies": study_cases(),
        "channels": channel_cases(),
        "accepted": accepted(),
        "refused": refused(),
        "refused_channels": refused_channels(),
    }
    cases = {name: [shortened(entry) for entry in entries] for name, entries in vectors.items()}
    TARGET.write_text(json.dumps({"short": short(), **cases}, indent=1) + "\n", encoding="utf-8")
    print(", ".join(f"{len(found)} {name}" for name, found in cases.items()), f"{TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
