"""Turns and places: who is asked when."""

import hashlib
import secrets
import unicodedata
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hybriddp.errors import ProtocolError
from hybriddp.kmeans.algorithm import high_dim, tuning
from hybriddp.kmeans.protocol.round import MOST_ROUNDS, Round
from hybriddp.kmeans.protocol.turns import LEAST_FRACTION, LONGEST_SUBJECT, PLACES, Turns, place
from hybriddp.kmeans.reports.moments import length_ask
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.service import tokens
from tests.levels import LEVEL

STUDY = KMeansStudy("visits", n_clusters=2, bounds=[(0, 24), (0, 60)], epsilon=2)
QUARTER, HALF, NONCE = Fraction(1, 4), Fraction(1, 2), "0f" * 16
subjects = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=LONGEST_SUBJECT)
fractions = st.lists(st.integers(1, 300), min_size=1, max_size=3).map(
    lambda ns: tuple(Fraction(n, 900) * 3 for n in ns)
)


def _round(number: int, fraction: Fraction, study: KMeansStudy = STUDY) -> Round:
    return Round(
        study, number, "lengths", (length_ask(np.array([0.5, 0.5]), 0.5, epsilon="2", user_fraction=fraction),)
    )


@given(subjects, st.lists(st.integers(1, 60), min_size=1, max_size=8))
def test_everybody_belongs_to_one_round_and_later_rounds_do_not_change_it(subject: str, weights: list[int]) -> None:
    parts = tuple(Fraction(weight, sum(weights)) for weight in weights)
    parts = tuple(part for part in parts if part >= LEAST_FRACTION)
    numbers = [Turns(STUDY.digest, parts[: i + 1]).round_of(subject, NONCE) for i in range(len(parts))]
    known = [number for number in numbers if number is not None]
    assert known == known[:1] * len(known)  # once published, always the same
    assert numbers[: len(numbers) - len(known)] == [None] * (len(numbers) - len(known))
    assert all(number == len(numbers) - len(known) + 1 for number in known)
    if sum(parts) == 1:
        assert known


def test_limits_are_the_fractions_of_all_places_rounded_down() -> None:
    turns = Turns("0" * 64, (Fraction(1, 3), Fraction(2, 3)))
    assert turns.limits == (PLACES // 3, PLACES)
    many = Turns("0" * 64, (Fraction(1, MOST_ROUNDS),) * MOST_ROUNDS)
    assert many.limits == tuple(PLACES // MOST_ROUNDS * i for i in range(1, MOST_ROUNDS + 1))


def test_rounds_of_every_plan_are_crowds() -> None:
    """The first effort of a plan takes 4 % of the local users; refinement in few dimensions at least that, too."""
    efforts = [effort for plan in (high_dim.SMALL, high_dim.LARGE, high_dim.DOMINANT) for effort in plan.efforts]
    efforts_of_users = [effort.user_fraction for effort in efforts if effort.user_fraction]
    refinement = (1 - tuning.BOX_USERS) / tuning.BOX_ROUNDS
    assert min(*efforts_of_users, refinement, tuning.BOX_USERS) >= LEAST_FRACTION


def test_a_device_answers_its_own_turn_only() -> None:
    turns = Turns(STUDY.digest, (QUARTER, HALF))
    asked = {1: _round(1, QUARTER), 2: _round(2, HALF)}
    seen = set()
    for i in range(40):
        number = turns.round_of(f"user {i}", NONCE)
        seen.add(number)
        for own, some in asked.items():
            if own == number:
                turns.require_turn(some, f"user {i}", NONCE)
            else:
                with pytest.raises(ProtocolError, match="another participants' turn"):
                    turns.require_turn(some, f"user {i}", NONCE)
    assert seen == {1, 2, None}


def test_a_round_that_is_not_in_the_list_is_refused() -> None:
    other = KMeansStudy("visits", n_clusters=3, bounds=[(0, 24), (0, 60)], epsilon=2)
    for asked in (_round(1, HALF), _round(2, QUARTER), _round(3, QUARTER), _round(1, QUARTER, other)):
        with pytest.raises(ProtocolError, match="the list of turns is of another study, or has another fraction"):
            Turns(STUDY.digest, (QUARTER, HALF)).require_turn(asked, "user 1", NONCE)


def test_lists_go_on_from_earlier_ones() -> None:
    one, two = Turns(STUDY.digest, (QUARTER,)), Turns(STUDY.digest, (QUARTER, HALF))
    assert two.follows(one)
    assert two.follows(two)
    assert not one.follows(two)
    assert not Turns(STUDY.digest, (HALF, QUARTER)).follows(one)
    assert not Turns("0" * 64, (QUARTER, HALF)).follows(one)


@given(fractions)
def test_the_text_says_it_all(parts: tuple[Fraction, ...]) -> None:
    if sum(parts) > 1 or min(parts) < LEAST_FRACTION:
        with pytest.raises(ProtocolError, match="^The list of turns is refused: "):
            Turns(STUDY.digest, parts)
    else:
        turns = Turns(STUDY.digest, parts)
        assert Turns.from_json(turns.to_json()) == turns


def test_lists_that_are_none_are_refused() -> None:
    refused: list[tuple[tuple[Fraction, ...], str]] = [
        ((), "1 to 64 rounds"),
        ((Fraction(1, 65),) * 65, "1 to 64 rounds"),
        ((HALF, Fraction(1, 101)), "less than 1/100 of the users"),
        ((HALF, HALF, QUARTER), "more than all of them"),
    ]
    for parts, reason in refused:
        with pytest.raises(ProtocolError, match=reason):
            Turns(STUDY.digest, parts)
    with pytest.raises(ProtocolError, match="not named by a SHA-256"):
        Turns("visits", (HALF,))


DIGEST = "ab" * 32
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
