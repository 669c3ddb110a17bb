"""What a device draws: the ask by its fraction of users, the variant evenly, from known places of its random bytes."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from hybriddp.channels.unary import symbol_channel
from hybriddp.kmeans.protocol.round import answer_asks, ask_limits
from hybriddp.kmeans.reports.base import Ask, Labels
from hybriddp.kmeans.reports.means import LabelSignsQuestion, cyclic
from hybriddp.randomness import ByteSource, SeededBytes


def _ask(fraction: Fraction) -> Ask:
    labels = LabelSignsQuestion(Labels(np.array([[0.2, 0.2, 0.2], [0.7, 0.9, 0.4]])), np.full(2, 0.5), cyclic(3, 1))
    return Ask(labels, symbol_channel("1", 4), fraction)


@pytest.mark.parametrize(
    ("fractions", "limits"),
    [
        ([Fraction(1)], []),
        ([Fraction(1, 7)], []),
        ([Fraction(1, 8), Fraction(3, 8)], [2**30]),
        ([Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)], [2**32 // 3, 2 * 2**32 // 3]),
        ([Fraction(1, 10**18), Fraction(1, 2)], [0]),
    ],
)
def test_asks_have_their_part_of_all_words(fractions: list[Fraction], limits: list[int]) -> None:
    assert ask_limits([_ask(fraction) for fraction in fractions]).tolist() == limits


class Words(ByteSource):
    """Two known words, then zeros."""

    seeded = False

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def fill(self, buffer: NDArray[np.uint8]) -> None:
        buffer[:] = 0
        some = np.array(self.words[: len(buffer) // 4], "<u4").view(np.uint8)
        buffer[: len(some)], self.words = some, self.words[len(buffer) // 4 :]


@pytest.mark.parametrize(
    ("words", "ask", "variant"),
    [
        ((0, 0), 0, 0),
        ((2**30 - 1, 2**32 - 1), 0, 2),
        ((2**30, 2**32 // 3), 1, 0),
        ((2**32 - 1, 2**32 // 3 + 1), 1, 1),
    ],
)
def test_the_first_word_chooses_the_ask_and_the_second_the_variant(
    words: tuple[int, int], ask: int, variant: int
) -> None:
    asks = (_ask(Fraction(1, 8)), _ask(Fraction(3, 8)))
    reports = answer_asks(asks, np.full((1, 3), 0.5), Words(*words))
    assert [some.users.tolist() for some in reports] == [[0] if i == ask else [] for i in range(2)]
    assert reports[ask].variants.tolist() == [variant]


def test_many_devices_draw_by_the_same_law_as_one() -> None:
    """Each answers once, every variant occurs, and about a quarter answers the first ask."""
    asks = (_ask(Fraction(1, 8)), _ask(Fraction(3, 8)))
    first, second = answer_asks(asks, np.random.default_rng(0).random((4000, 3)), SeededBytes(1))
    assert sorted([*first.users.tolist(), *second.users.tolist()]) == list(range(4000))
    assert 800 < len(first.users) < 1200
    assert set(first.variants.tolist()) == set(second.variants.tolist()) == {0, 1, 2}
