r"""Strings as codes of 48 bits, and a public bijection that spreads them evenly, whatever they begin with.

A public `Alphabet` of $A$ characters packs all strings of at most $L$ of them into the integers from 0: the empty one,
those of one character, those of two, and so on, in the order of the alphabet. $L$ is the largest length for which there
are fewer than $2^{48}$ of them: 6 bytes of UTF-8, or 10 small letters, 9 letters or digits, 14 digits. Strings that are
longer or have other characters get the last code, which stands for no string: they count as other.

The bijection is a Feistel network of 4 rounds on two halves of 24 bits, with words of `hash_family` as a published key.
It hides nothing and can be undone by everybody. It spreads the strings: how many frequent ones begin with the same bits
is then a matter of chance, and not of language.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hybriddp import _check
from hybriddp.channels.hash_family import HashFamily, mix
from hybriddp.errors import ParameterError

CODE_BITS = 48
NO_STRING = (1 << CODE_BITS) - 1
"""The code of all strings that have none of their own, before the bijection."""

_HALF = 24
_ROUNDS = 4
_MASK = np.uint64((1 << _HALF) - 1)
_KEY_SEED = 0xC0DE48
NAMED_ALPHABETS = {
    "bytes": "",
    "digits": "0123456789",
    "letters": "abcdefghijklmnopqrstuvwxyz",
    "letters and digits": "abcdefghijklmnopqrstuvwxyz0123456789",
    "capitals and digits": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "host names": "abcdefghijklmnopqrstuvwxyz0123456789-.",
}

Codes = NDArray[np.uint64]


@dataclass(frozen=True)
class Alphabet:
    """A public alphabet, and the codes of strings of its characters.

    Attributes
    ----------
    characters : str
        Different characters in a fixed order; none for all bytes of UTF-8 but 0.

    Examples
    --------
    >>> Alphabet.of("letters").longest
    10
    >>> codes = Alphabet.of("letters").encode(["", "a", "ba", "Hello"])
    >>> codes.tolist()
    [0, 1, 53, 281474976710655]
    >>> Alphabet.of("letters").decode(codes)
    ['', 'a', 'ba', None]
    """

    characters: str

    @classmethod
    def of(cls, alphabet: object) -> "Alphabet":
        """Return the alphabet with a name, or with these characters."""
        if not isinstance(alphabet, str):
            words = f"the characters as one text, or one of {', '.join(map(repr, NAMED_ALPHABETS))}"
            raise ParameterError("alphabet", words, alphabet)
        characters = NAMED_ALPHABETS.get(alphabet, alphabet)
        if alphabet not in NAMED_ALPHABETS:
            different = len(set(characters)) == len(characters)
            if not (2 <= len(characters) <= 1024 and different and _check.is_readable(characters)):
                expected = "2 to 1,024 different readable characters, or a name"
                raise ParameterError("alphabet", expected, alphabet)
        return cls(characters)

    @property
    def name(self) -> str:
        """What `of` takes: the name, if it has one."""
        names = (name for name, characters in NAMED_ALPHABETS.items() if characters == self.characters)
        return next(names, self.characters)

    @property
    def size(self) -> int:
        """$A$."""
        return len(self.characters) or 255

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first code of each length, and the first one beyond all."""
        starts, count = [0], 1
        while starts[-1] + count <= NO_STRING:
            starts.append(starts[-1] + count)
            count *= self.size
        return tuple(starts)

    @property
    def longest(self) -> int:
        """$L$: how many characters (or bytes) a string has at most."""
        return len(self.starts) - 2

    @property
    def words(self) -> str:
        """Which strings have a code, in words."""
        what = f"of the alphabet {self.name!r}" if self.characters else "in UTF-8"
        unit = "characters" if self.characters else "bytes"
        return f"strings of up to {self.longest} {unit} {what}"

    def encode(self, strings: Iterable[str]) -> Codes:
        """Return the code of each string, or `NO_STRING` where it has none."""
        return np.fromiter((self._code(string) for string in strings), np.uint64)

    def decode(self, codes: Codes) -> list[str | None]:
        """Return the string of each code, or None for codes without a string."""
        return [self._string(code) for code in codes.tolist()]

    @cached_property
    def _digits(self) -> dict[str, int]:
        return {character: digit for digit, character in enumerate(self.characters)}

    def _code(self, string: str) -> int:
        if len(string) > self.longest:  # a character has one byte at least
            return NO_STRING
        if self.characters:
            digits = [self._digits.get(character, -1) for character in string]
        else:
            digits = [byte - 1 for byte in string.encode(errors="surrogatepass")]
        if len(digits) > self.longest or min(digits, default=0) < 0:
            return NO_STRING
        code = 0
        for digit in digits:
            code = code * self.size + digit
        return self.starts[len(digits)] + code

    def _string(self, code: int) -> str | None:
        if code >= self.starts[-1]:
            return None
        length = next(n for n in range(self.longest + 1) if code < self.starts[n + 1])
        rest, digits = code - self.starts[length], []
        for _ in range(length):
            rest, digit = divmod(rest, self.size)
            digits.append(digit)
        digits.reverse()
        if self.characters:
            return "".join(self.characters[digit] for digit in digits)
        try:
            return bytes(digit + 1 for digit in digits).decode()
        except UnicodeDecodeError:  # not what any string is encoded as
            return None


def scramble(codes: Codes) -> Codes:
    """Apply the public bijection of 48 bits."""
    left, right = codes >> np.uint64(_HALF), codes & _MASK
    for word in _round_keys():
        left, right = right, left ^ _round(right, word)
    return left << np.uint64(_HALF) | right


def unscramble(codes: Codes) -> Codes:
    """Invert `scramble`."""
    left, right = codes >> np.uint64(_HALF), codes & _MASK
    for word in reversed(_round_keys()):
        left, right = right ^ _round(left, word), left
    return left << np.uint64(_HALF) | right


def _round(half: Codes, word: np.uint32) -> Codes:
    x = half.astype(np.uint32) ^ word
    return (mix(x, np.empty_like(x)) >> np.uint32(32 - _HALF)).astype(np.uint64)


def _round_keys() -> list[np.uint32]:
    return list(HashFamily(_ROUNDS, 2, _KEY_SEED).words.ravel())
