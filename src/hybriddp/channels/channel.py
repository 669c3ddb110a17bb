"""What every local randomizer can do: prove itself, sample, and travel as text.

A channel is a table of whole numbers: row *j* says how many of $2^B$ equally likely draws give each code when the
input is *j*. Nothing about it is approximate, so its privacy is a comparison of integers, made whenever a channel is
built or parsed. **A channel that has not been verified cannot exist.**
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp.errors import DataError, ProtocolError
from hybriddp.grid import as_array, type_words
from hybriddp.randomness import ByteSource, byte_source

CHUNK = 1 << 15  # inputs drawn at a time: their random bytes and scratch arrays stay in the cache


class Channel(ABC):
    """A local randomizer: an input goes in, one code comes out, and no code says much about the input."""

    kind: ClassVar[str]
    """The name of the kind of channel in its text."""

    epsilon: str
    """What a report through this channel promises, as a decimal."""

    @property
    @abstractmethod
    def n_codes(self) -> int:
        """How many different codes there are."""

    @property
    @abstractmethod
    def code_type(self) -> np.dtype[Any]:
        """The smallest numpy type that holds every code."""

    @property
    def chunk(self) -> int:
        """How many reports are drawn at a time."""
        return CHUNK

    @abstractmethod
    def verify(self) -> None:
        """Prove the privacy and the form of the table in exact integers, or raise `ProtocolError`."""

    @abstractmethod
    def check_inputs(self, inputs: ArrayLike) -> NDArray[Any]:
        """The inputs as an array, or `DataError`."""

    @abstractmethod
    def draw_part(self, inputs: NDArray[Any], source: ByteSource) -> NDArray[Any]:
        """The reports of a few thousand checked inputs."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """What the text of the channel holds, in its order."""

    def sample(self, inputs: ArrayLike, *, random_state: int | np.random.Generator | None = None) -> NDArray[Any]:
        """One report per input, each from fresh random bytes of the system.

        Parameters
        ----------
        inputs : array_like
            A scalar or a one-dimensional array of inputs.
        random_state : int or numpy.random.Generator, optional
            For simulation only: with it the codes can be repeated, and are **not private**.
        """
        checked = self.check_inputs(inputs)
        codes = self.draw(len(checked), lambda part: checked[part], byte_source(random_state))
        return codes if np.ndim(inputs) else codes[0]

    def draw(self, count: int, inputs: Callable[[slice], NDArray[Any]], source: ByteSource) -> NDArray[Any]:
        """``count`` reports for inputs that are handed over in chunks, in constant memory beside the result."""
        step = self.chunk
        starts = range(0, max(count, 1), step)  # a part of none gives an empty result its shape
        return np.concatenate([self.draw_part(inputs(slice(i, min(i + step, count))), source) for i in starts])

    def to_json(self) -> str:
        """The text of the channel: one line, always the same, understood by every client."""
        return json.dumps({"type": self.kind, "version": 2, **self.fields()}, separators=(",", ":"))

    @property
    def digest(self) -> str:
        """SHA-256 of the text, by which parties can tell that they mean the same channel."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def _seal(self) -> None:
        """Verify, and allow no change from then on."""
        self.verify()
        object.__setattr__(self, "_sealed", True)

    def __setattr__(self, name: str, value: object) -> None:
        if getattr(self, "_sealed", False):
            raise AttributeError(f"{name} cannot be set: a channel stays as it was verified. Make a new one instead.")
        object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        from hybriddp.channels.text import channel_from_json

        return channel_from_json, (self.to_json(),)  # a pickled or copied channel is verified anew

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Channel) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        return f"{type(self).__name__}(epsilon={self.epsilon!r}, n_codes={self.n_codes})"


class FiniteChannel(Channel):
    """A channel whose report is a fixed function of the input and a fixed number of random bytes."""

    @property
    @abstractmethod
    def bytes_per_report(self) -> int:
        """How many random bytes one report uses up."""

    @abstractmethod
    def codes(self, inputs: NDArray[Any], raw: NDArray[np.uint8]) -> NDArray[Any]:
        """The codes that these random bytes give for checked inputs, the same in every language."""

    @property
    def chunk(self) -> int:
        """How many reports are drawn at a time: as many as keep their random bytes in the cache."""
        return max(1, min(CHUNK, 8 * CHUNK // self.bytes_per_report))

    def draw_part(self, inputs: NDArray[Any], source: ByteSource) -> NDArray[Any]:
        """The reports of a few thousand checked inputs."""
        return self.codes(inputs, source.take(len(inputs) * self.bytes_per_report))


def require(condition: bool, sentence: str) -> None:
    """Nothing, if the condition holds; `ProtocolError` with the sentence if not."""
    if not condition:
        raise ProtocolError(f"The channel is refused: {sentence}.")


def is_integer(value: object, lower: int, upper: int) -> bool:
    """Whether a value is an int, and not a bool or a float that looks like one, from ``lower`` to ``upper``."""
    return type(value) is int and lower <= value <= upper


def integer_inputs(inputs: ArrayLike, largest: int, what: str) -> NDArray[Any]:
    """Inputs that must be integers from 0 to ``largest``."""
    if np.ma.is_masked(inputs):
        raise DataError(f"{what} must all be there, but some are masked: there is no report for what is missing.")
    array = np.atleast_1d(as_array(inputs, what))
    if array.shape == (0,):
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(f"{what} must be integers, one or a one-dimensional array of them, got {type_words(array)}.")
    bad = np.count_nonzero((array < 0) | (array > largest))
    if bad:
        raise DataError(f"{what} must be integers from 0 to {largest:,}, but {bad:,} of {array.size:,} are not.")
    return array
