"""Streams of bytes that every client can make, for the shared vectors."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybriddp.randomness import ByteSource


def stream(seed: str, count: int) -> NDArray[np.uint8]:
    """The first bytes of a seed's SHAKE-256 stream."""
    return np.frombuffer(hashlib.shake_256(seed.encode()).digest(count), np.uint8)


class KnownBytes(ByteSource):
    """The bytes of a vector's reports in the place of the system's."""

    seeded = False

    def __init__(self, case: dict[str, Any]) -> None:
        self.raw = stream(f"{case['seed']} bytes", case["count"] * case["bytes_per_report"])

    def fill(self, buffer: NDArray[np.uint8]) -> None:
        """The next ones."""
        buffer[:], self.raw = self.raw[: len(buffer)], self.raw[len(buffer) :]


def check_codes(codes: NDArray[Any], case: dict[str, Any]) -> None:
    """Fail unless the codes are those of the vector."""
    assert codes[: len(case["first"])].tolist() == case["first"]
    assert hashlib.sha256(codes.astype("<u8").tobytes()).hexdigest() == case["sha256"]
