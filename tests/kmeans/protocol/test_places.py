"""Places: everybody can compute their own, and nobody else can choose it, or know it before it is opened."""

import hashlib
import secrets
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hybriddp.errors import ParameterError
from hybriddp.kmeans.protocol.turns import LONGEST_SUBJECT, PLACES, place
from hybriddp.service import tokens
from tests.levels import LEVEL

DIGEST = "ab" * 32
subjects = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=LONGEST_SUBJECT)
nonces = st.binary(min_size=16, max_size=16).map(bytes.hex)


@given(subjects, nonces)
def test_a_place_is_the_first_eight_bytes_of_the_hash(subject: str, nonce: str) -> None:
    message = b"hybriddp place 1\n" + DIGEST.encode() + b"\n" + nonce.encode() + b"\n"
    message += unicodedata.normalize("NFC", subject).encode()
    expected = 0
    for byte in hashlib.sha256(message).digest()[:8]:
        expected = 256 * expected + byte
    assert place(DIGEST, subject, nonce) == expected < PLACES


@given(subjects, nonces)
def test_whoever_has_a_token_has_a_place(subject: str, nonce: str) -> None:
    assert tokens.check_subject(subject) == subject
    assert place(DIGEST, subject, nonce) >= 0
    assert tokens.LONGEST_SUBJECT == LONGEST_SUBJECT


def test_a_person_has_one_place_however_they_are_spelled() -> None:
    """An issuer who also serves rounds could try spellings until somebody stands in a thin one."""
    spellings = ["Ren\u00e9", "Rene\u0301"]
    assert len({place(DIGEST, spelling, "0" * 32) for spelling in spellings}) == 1


def _counts(at: np.ndarray) -> np.ndarray:
    return np.bincount(at, minlength=16)


@pytest.mark.statistical
def test_places_are_uniform_and_independent_of_another_studys() -> None:
    """40,000 people; against 16 parts of which one is 20 % larger the same counts are rejected."""
    n = 40_000
    at = np.array(
        [[place(digest, f"user {i}", f"{i:032x}") * 4 // PLACES for i in range(n)] for digest in (DIGEST, "0" * 64)]
    )
    counts = _counts(4 * at[0] + at[1])
    assert stats.chisquare(counts).pvalue > LEVEL
    wrong = np.where(np.arange(16) == 0, 1.2, 1.0)
    assert stats.chisquare(counts, wrong / wrong.sum() * n).pvalue < LEVEL


@pytest.mark.statistical
def test_subjects_that_were_chosen_for_their_place_stand_anywhere() -> None:
    """Whoever issues tokens tries subjects until they stand in the first of 16 parts, by nonces of their own."""
    guessed = "0" * 32
    chosen: list[str] = []
    while len(chosen) < 4000:
        subject = secrets.token_hex(8)
        if place(DIGEST, subject, guessed) < PLACES // 16:
            chosen.append(subject)
    counts = _counts(np.array([place(DIGEST, one, secrets.token_hex(16)) * 16 // PLACES for one in chosen]))
    assert stats.chisquare(counts).pvalue > LEVEL
    assert (
        stats.chisquare(_counts(np.array([place(DIGEST, one, guessed) * 16 // PLACES for one in chosen]))).pvalue
        < LEVEL
    )


def test_what_has_no_place() -> None:
    with pytest.raises(ParameterError, match="study_digest must be the SHA-256"):
        place("visits", "user 1", "0" * 32)
    with pytest.raises(ParameterError, match="nonce must be 32 lower-case hexadecimal digits") as caught:
        place(DIGEST, "user 1", "secret")
    assert "secret" not in str(caught.value)
