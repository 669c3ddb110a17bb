import unicodedata

import numpy as np
import pytest

from hybriddp import _check
from hybriddp.errors import ParameterError
from tests.refusals import refused


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.int8(3), np.uint64(3), np.array(3)])
def test_every_kind_of_number_becomes_a_float(value: object) -> None:
    assert _check.number("x", value, _check.POSITIVE) == 3.0
    assert isinstance(_check.number("x", value, _check.POSITIVE), float)


def test_lists_and_arrays_become_float_arrays() -> None:
    for value in ([1, 2], (1.0, 2), np.array([1, 2], dtype=np.int16)):
        result = _check.numbers("x", value)
        assert result.dtype == np.float64
        assert result.tolist() == [1.0, 2.0]


def test_the_callers_array_is_not_touched_or_kept() -> None:
    mine = np.array([1.0, 2.0])
    checked = _check.numbers("x", mine)
    mine[0] = -5.0
    assert checked[0] == 1.0


@pytest.mark.parametrize("bad", [1.5, "3", None, True, 0, np.float64(2)])
def test_an_integer_is_an_integer(bad: object) -> None:
    refused(ParameterError, "trials must be an integer of at least 1", _check.integer, "trials", bad, at_least=1)


def test_an_integer_may_have_an_upper_limit() -> None:
    assert _check.integer("trials", 7, at_least=1, at_most=7) == 7
    for bad in (0, 8, 7.0):
        with pytest.raises(ParameterError, match="trials must be an integer from 1 to 7, got trials="):
            _check.integer("trials", bad, at_least=1, at_most=7)


def test_integers_of_numpy_are_integers() -> None:
    assert _check.integer("trials", np.int32(5), at_least=1) == 5


class Refuses:
    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise TypeError("no")


def test_what_will_not_become_an_array_is_named() -> None:
    refused(ParameterError, "x must be a finite number, or an array of them", _check.numbers, "x", Refuses())


@pytest.mark.parametrize(
    ("allowed", "inside", "outside"),
    [
        (_check.FRACTION, [1e-300, 0.5, 1 - 1e-16], [0.0, 1.0, -0.0, np.inf]),
        (_check.WEIGHT, [0.0, 1.0], [-1e-300, np.nextafter(1, 2), np.nan]),
        (_check.USERS, [2.0, 1e300], [1.999, np.inf]),
    ],
)
def test_ranges_include_and_exclude_their_ends(
    allowed: _check.Range, inside: list[float], outside: list[float]
) -> None:
    assert allowed.contains(np.array(inside)).all()
    assert not allowed.contains(np.array(outside)).any()


def test_texts_hold_nothing_that_acts_on_what_shows_them() -> None:
    """Every character of two bytes, against Unicode's own categories and XML's definition of a character."""
    bidi = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}
    for letter in map(chr, range(0x10000)):
        acts = unicodedata.category(letter) in ("Cc", "Cs") or letter in bidi or letter in "\ufffe\uffff"
        assert _check.is_readable(f"x{letter}") == (not acts), hex(ord(letter))


@pytest.mark.parametrize("bad", ["", "  ", None, 5, b"x", "a\x1b[2J", "a\nb", "\u202eabc", "\ud800"])
def test_a_text_is_readable(bad: object) -> None:
    with pytest.raises(
        ParameterError, match="name must be a text that says what it is, without control characters"
    ) as e:
        _check.text("name", bad, "what it is")
    assert str(e.value).isprintable()
    assert _check.text("name", "Größe, עִברִית, 🙂", "what it is") == "Größe, עִברִית, 🙂"
