"""Where random bytes come from.

The codes of reports are drawn from one source: AES-256 in counter mode, keyed and seeded by the operating system, one
stream per thread, keyed anew every 16 MiB and in every forked child, so that no two processes share a stream. It is
twenty times as fast as the system's own source. Two things are drawn elsewhere: the noise of releases, by OpenDP; and
how simulated devices round for K-means, by numpy's PCG64, seeded from this source. Nothing rests on the latter: all of
the privacy of a report is in the draw of its code.

A seeded source gives the same bytes every time, on every machine. It is for simulation: whoever knows the seed knows
the noise, so what it touches is not a private release, and every result made with it says so.
"""

import hashlib
import os
import threading
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybriddp.errors import ParameterError

_ZEROS = bytes(1 << 18)
_REKEY = 1 << 24  # bytes after which a stream gets a new key, so that the old one cannot be found in memory


class ByteSource(ABC):
    """A source of random bytes."""

    seeded: bool
    """Whether the bytes can be repeated: then nothing made from them is private."""

    @abstractmethod
    def fill(self, buffer: NDArray[np.uint8]) -> None:
        """Overwrite a contiguous buffer with random bytes."""

    def take(self, count: int) -> NDArray[np.uint8]:
        """``count`` fresh bytes."""
        buffer = np.empty(count, np.uint8)
        self.fill(buffer)
        return buffer


class SystemBytes(ByteSource):
    """The source of every private report. All instances share the process's streams."""

    seeded = False

    def fill(self, buffer: NDArray[np.uint8]) -> None:
        """Overwrite a contiguous buffer with bytes that nobody can predict."""
        own = _streams.of_thread
        if getattr(own, "process", None) != os.getpid() or own.left < len(buffer):
            own.stream = _keystream(os.urandom(32), os.urandom(16))
            own.process, own.left = os.getpid(), max(_REKEY, len(buffer))
        own.left -= len(buffer)
        _write(own.stream, buffer)


class SeededBytes(ByteSource):
    """Bytes that a seed determines: for simulation, never for a private report or release.

    Parameters
    ----------
    seed : int or bytes
        A non-negative integer, or any bytes.
    """

    seeded = True

    def __init__(self, seed: int | bytes) -> None:
        if not isinstance(seed, bytes):
            if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
                raise ParameterError("seed", "a non-negative integer or bytes", seed)
            seed = b"integer:" + str(int(seed)).encode()
        self._stream = _keystream(hashlib.sha256(b"hybriddp seed " + seed).digest(), bytes(16))
        self._lock = threading.Lock()

    def fill(self, buffer: NDArray[np.uint8]) -> None:
        """Overwrite a contiguous buffer with the seed's next bytes."""
        with self._lock:
            _write(self._stream, buffer)


class UniformDraws:
    """Uniform numbers from a source of bytes, by arithmetic that every client follows.

    What a K-means device draws beside its code. It has the one method of numpy's generators that questions call.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source = source

    def words(self, count: int) -> NDArray[np.uint32]:
        """Integers of 32 bits, little endian."""
        return self._source.take(4 * count).view("<u4")

    def random(
        self, size: int | tuple[int, ...], dtype: type[np.float32] | type[np.float64] = np.float64
    ) -> NDArray[np.floating]:
        """Numbers from 0 to below 1: the upper 24 bits of 32 in single precision, the upper 53 of 64 in double."""
        count = int(np.prod(size))
        if dtype is np.float32:
            return ((self.words(count) >> np.uint32(8)) * np.float32(2.0**-24)).reshape(size)
        wide = self._source.take(8 * count).view("<u8")
        return ((wide >> np.uint64(11)) * 2.0**-53).reshape(size)


def byte_source(random_state: int | np.random.Generator | None) -> ByteSource:
    """Return the system's source for None, or a seeded source.

    The seed is an integer or a NumPy generator.

    Examples
    --------
    >>> byte_source(None).seeded
    False
    >>> byte_source(7).take(4).tolist() == byte_source(7).take(4).tolist()
    True
    """
    if random_state is None:
        return SystemBytes()
    if isinstance(random_state, np.random.Generator):
        return SeededBytes(random_state.bytes(32))
    if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise ParameterError("random_state", "None, a non-negative integer or a numpy.random.Generator", random_state)
    return SeededBytes(int(random_state))


def simulation_generator(random_state: int | np.random.Generator, purpose: str) -> np.random.Generator:
    """Create a NumPy generator for one purpose.

    The same seed gives different noise for different purposes.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    source = byte_source(random_state)  # checks the seed
    return np.random.default_rng([*source.take(16).tolist(), *purpose.encode()])


class _Streams:
    """The keystreams of this process, one per thread."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.of_thread = threading.local()


_streams = _Streams()
if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_streams.forget)


def _keystream(key: bytes, nonce: bytes) -> Any:  # noqa: ANN401
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CTR

    return Cipher(AES(key), CTR(nonce)).encryptor()


def _write(stream: Any, buffer: NDArray[np.uint8]) -> None:  # noqa: ANN401
    """Encrypt zeros into the buffer: the keystream itself."""
    view = buffer.data
    for start in range(0, len(view), len(_ZEROS)):
        part = view[start : start + len(_ZEROS)]
        stream.update_into(memoryview(_ZEROS)[: len(part)], part)
