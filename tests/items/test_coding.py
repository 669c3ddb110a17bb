from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hybriddp.errors import ParameterError
from hybriddp.items.coding import NAMED_ALPHABETS, NO_STRING, Alphabet, scramble, unscramble
from tests.levels import LEVEL


def test_all_short_strings_are_numbered_one_after_the_other() -> None:
    alphabet = Alphabet.of("abc")
    strings = ["".join(letters) for length in range(5) for letters in product("abc", repeat=length)]
    assert alphabet.encode(strings).tolist() == list(range(len(strings)))
    assert alphabet.decode(np.arange(len(strings), dtype=np.uint64)) == strings


@pytest.mark.parametrize(
    ("name", "longest"),
    [("bytes", 6), ("digits", 14), ("letters", 10), ("letters and digits", 9), ("host names", 9), ("ab", 47)],
)
def test_strings_are_as_long_as_48_bits_allow(name: str, longest: int) -> None:
    alphabet = Alphabet.of(name)
    a = alphabet.size
    assert alphabet.longest == longest
    assert sum(a**n for n in range(longest + 1)) == alphabet.starts[-1] <= NO_STRING
    assert sum(a**n for n in range(longest + 2)) > NO_STRING
    last = alphabet.decode(np.array([alphabet.starts[-1] - 1], np.uint64))[0]
    expected = None if name == "bytes" else alphabet.characters[-1] * longest  # six bytes 255 are not UTF-8
    assert last == expected
    assert alphabet.name == name
    assert str(longest) in alphabet.words


@pytest.mark.slow
@given(st.text(max_size=8))
def test_strings_of_six_bytes_are_read_back(string: str) -> None:
    alphabet = Alphabet.of("bytes")
    code = alphabet.encode([string])
    short = len(string.encode()) <= 6 and "\0" not in string
    assert alphabet.decode(code) == [string if short else None]
    assert (code[0] == NO_STRING) == (not short)


@given(st.text(NAMED_ALPHABETS["letters"], max_size=12))
def test_strings_of_letters_are_read_back(string: str) -> None:
    alphabet = Alphabet.of("letters")
    assert alphabet.decode(alphabet.encode([string])) == [string if len(string) <= 10 else None]


def test_other_strings_have_the_last_code() -> None:
    codes = Alphabet.of("digits").encode(["12", "1a", "", "123456789012345", "12"])
    assert codes.tolist() == [23, NO_STRING, 0, NO_STRING, 23]
    assert Alphabet.of("bytes").encode(["\ud800", "naïve!", "naïve"]).tolist()[1] == NO_STRING


@given(st.lists(st.integers(0, NO_STRING), min_size=1, max_size=20))
def test_scrambling_can_be_undone(codes: list[int]) -> None:
    array = np.array(codes, np.uint64)
    assert unscramble(scramble(array)).tolist() == codes
    assert scramble(unscramble(array)).tolist() == codes
    assert scramble(array).max() <= NO_STRING


def test_scrambling_never_changes() -> None:
    """The bijection is part of what devices do: another one would be another study."""
    assert scramble(np.array([0, 1, NO_STRING], np.uint64)).tolist() == SCRAMBLED


SCRAMBLED = [73672231414392, 195409843565209, 29071538458981]


@pytest.mark.statistical
@pytest.mark.parametrize("shift", [40, 32, 24, 8, 0])
def test_scrambled_codes_of_neighbors_spread(shift: int) -> None:
    """Chi-square over 256 values of a byte; the test that counts unscrambled codes fails it."""
    codes = np.arange(100_000, dtype=np.uint64)
    counts = np.bincount((scramble(codes) >> np.uint64(shift)).astype(int) & 255, minlength=256)
    assert LEVEL / 2 < stats.chisquare(counts).pvalue < 1 - LEVEL / 2
    plain = np.bincount((codes >> np.uint64(max(shift, 10))).astype(int) & 255, minlength=256)
    assert stats.chisquare(plain).pvalue < LEVEL


@pytest.mark.parametrize("bad", ["", "a", "aa", "ab\0", 5, None, ["a", "b"], "".join(map(chr, range(0x4E00, 0x5300)))])
def test_alphabets_are_checked(bad: object) -> None:
    with pytest.raises(ParameterError, match="^alphabet must be"):
        Alphabet.of(bad)
