import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.client.plain import LONGEST, one_line

BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
MARKS = "\u061c\u200e\u200f"


@pytest.mark.parametrize(
    "text", ["Größe in cm, ε = 1", "شرکت\u200cها", "👩\u200d🔬 science", "מחקר", "測定", "a - b: 50 % (c) “d”"]
)
def test_words_of_any_language_stay_as_they_are(text: str) -> None:
    assert one_line(text) == text


@pytest.mark.parametrize(
    "character",
    ["\n", "\r", "\x0b", "\x0c", "\x1b", "\x7f", "\x85", "\x9b", "\u2028", "\u2029", "\u202e", "\u2066", "\u200f",
     "\ufeff", "\ud800", "\0", "\t", "\xa0", "\u3000"],
)  # fmt: skip
def test_what_acts_is_a_space(character: str) -> None:
    assert one_line(f"{character} a{character}{character}b {character}") == "a b"


@given(st.text())
def test_nothing_that_acts_is_left(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert not any(unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"} for letter in line)
    assert not any(unicodedata.bidirectional(letter) in BIDI or letter in MARKS for letter in line)
    assert one_line(line) == line


def test_long_texts_end_and_others_are_none() -> None:
    assert one_line("a" * LONGEST) == "a" * LONGEST
    assert one_line("a" * 3_000_000) == "a" * (LONGEST - 1) + "…"
    assert one_line("abcdef", 3) == "ab…"
    others: list[object] = [None, 5, ["a"], {}, b"a"]
    assert [one_line(content) for content in others] == [""] * 5
