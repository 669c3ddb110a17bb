"""What every local randomizer can do: prove itself, sample, and travel as text.

A channel is a table of whole numbers: row *j* says how many of $2^B$ equally likely draws give each code when the
input is *j*. Nothing about it is approximate, so its privacy is a comparison of integers (`require_private`), made
whenever a channel is built or parsed. **A channel that has not been verified cannot exist.**

Every channel has exactly one text, and nothing else is accepted. A parser that only accepts a channel's own text, byte
for byte, has nothing to be tricked with: no second key of the same name, no float that looks like an integer, no
spaces, no other order.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp.errors import DataError, ProtocolError
from hybriddp.grid import as_array, type_words
from hybriddp.privacy import SHIFT, canonical_epsilon, is_canonical, odds
from hybriddp.randomness import ByteSource, byte_source

CHUNK = 1 << 15  # inputs drawn at a time: their random bytes and scratch arrays stay in the cache
LONGEST_TEXT = 1 << 24  # characters


class Channel(ABC):
    """A local randomizer: an input goes in, one code comes out, and no code says much about the input."""

    kind: ClassVar[str]
    """The name of the kind of channel in its text."""

    epsilon: str
    """What a report through this channel promises, as a decimal."""

    _kinds: ClassVar[dict[str, type["Channel"]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            Channel._kinds[cls.kind] = cls

    @classmethod
    def of(cls, **integers: Any) -> Self:  # noqa: ANN401  (whatever a text may hold: `verify` looks at all of it)
        """Create a channel with these attributes and verify it."""
        channel = cls.__new__(cls)
        for name, value in integers.items():
            setattr(channel, name, value)
        channel._seal()  # noqa: SLF001  (of its own class)
        return channel

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
        """Return the inputs as an array, or raise `DataError`."""

    @abstractmethod
    def draw_part(self, inputs: NDArray[Any], source: ByteSource) -> NDArray[Any]:
        """Draw the reports of a few thousand checked inputs."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """Return the fields of the channel's text, in order."""

    @classmethod
    @abstractmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        """Create the channel from the fields of its text."""

    def sample(self, inputs: ArrayLike, *, random_state: int | np.random.Generator | None = None) -> NDArray[Any]:
        """One report for each input, of which there is one or a one-dimensional array, from fresh bytes of the system.

        A ``random_state`` is for simulation only: with it the codes can be repeated, and are **not private**.
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
        """Return the channel as one line of text.

        The text is always the same, and every client understands it.
        """
        return _check.compact({"type": self.kind, "version": 2, **self.fields()}, escaped=True)

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
        """Compute the codes of checked inputs from these random bytes.

        The codes are the same in every language.
        """

    @property
    def code_type(self) -> np.dtype[Any]:
        """One byte up to 256 codes, two beyond."""
        return np.dtype(np.uint8 if self.n_codes <= 256 else np.uint16)

    @property
    def chunk(self) -> int:
        """How many reports are drawn at a time: as many as keep their random bytes in the cache."""
        return max(1, min(CHUNK, 8 * CHUNK // self.bytes_per_report))

    def draw_part(self, inputs: NDArray[Any], source: ByteSource) -> NDArray[Any]:
        return self.codes(inputs, source.take(len(inputs) * self.bytes_per_report))


def channel_from_json(text: str, *, epsilon: float | str | None = None) -> Channel:
    """Return the verified channel that a text describes.

    Parameters
    ----------
    text : str
        What `Channel.to_json` wrote.
    epsilon : float or str, optional
        The ε that the user was shown. A channel for another one is refused.

    Examples
    --------
    >>> from hybriddp.channels import RandomizedResponse
    >>> text = RandomizedResponse(epsilon=1, n_categories=2).to_json()
    >>> text
    '{"type":"response","version":2,"epsilon":"1","categories":2,"bits":32,"low":1155094610,"extra":1984778076}'
    >>> channel_from_json(text, epsilon=1.0)
    RandomizedResponse(epsilon='1', n_codes=2)
    """
    short = isinstance(text, str) and len(text) <= LONGEST_TEXT
    require(short, f"its text is not a string of at most {LONGEST_TEXT} characters")
    try:
        fields = _check.json_fields(text)
        channel = Channel._kinds[fields["type"]].from_fields(fields)  # noqa: SLF001  (of this module)
    except (KeyError, TypeError, ValueError, AttributeError) as reason:
        raise ProtocolError("The channel is refused: its text does not describe a channel.") from reason
    require(fields.get("version") == 2, "its text is not of version 2; write it anew with this version of hybriddp")
    require(channel.to_json() == text, "its text is not in the form that channels are written in")
    if epsilon is not None:
        promised = canonical_epsilon(epsilon)
        require(channel.epsilon == promised, f"it is for epsilon {channel.epsilon}, but {promised} was promised")
    return channel


def require(condition: bool, sentence: str) -> None:
    """Nothing, if the condition holds; `ProtocolError` with the sentence if not."""
    if not condition:
        raise ProtocolError(f"The channel is refused: {sentence}.")


def require_canonical(epsilon: object) -> None:
    """`ProtocolError` unless ε is written in its one form."""
    require(is_canonical(epsilon), "its epsilon is not a decimal from 0.01 to 20 in its shortest form")


def require_private(likely: int, unlikely: int, epsilon: str) -> None:
    r"""Raise unless $\text{likely}/\text{unlikely} \le e^\epsilon$.

    The privacy of every table rests on this inequality.

    A channel calls it with the largest and the smallest weight that two inputs can give to the same code; for a window
    these are $a + b$ and $a$. All are integers, and `odds` is $2^{96} e^\epsilon$ rounded down, so this is a proof.
    """
    require_canonical(epsilon)
    words = f"one input makes a code more than e^{epsilon} times as likely as another does"
    require(likely << SHIFT <= unlikely * odds(epsilon), f"it is not {epsilon}-private: {words}")


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
