"""What a local user says, from their point to their code: never more than e^ε as likely as from any other point."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from hybriddp._check import FloatArray
from hybriddp.channels import RandomizedResponse, UnaryEncoding
from hybriddp.channels.response import ChoiceResponse, SymbolChannel
from hybriddp.channels.unary import BITS
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.reports.base import Ask, GridQuestion, Labels, Projection, Question
from hybriddp.kmeans.reports.codebook import Directions, Pairs
from hybriddp.kmeans.reports.means import DirectionQuestion, LabelSignsQuestion
from hybriddp.kmeans.reports.moments import LengthQuestion, SecondMomentQuestion
from hybriddp.privacy import SHIFT, odds
from tests.kmeans.exact import channels, likelihood, steps_by_setting, symbol_law


def allowed(epsilon: str) -> Fraction:
    """A lower bound of e^ε."""
    return Fraction(odds(epsilon), 1 << SHIFT)


def _largest_ratio(channel: SymbolChannel) -> Fraction:
    """The largest P[code | s]/P[code | s'] over all codes and all pairs of symbols, from the channel's integers."""
    if isinstance(channel, RandomizedResponse):
        m = channel.n_codes
        rows = range(m) if m <= 64 else (0, 1, m // 2, m - 1)
        table = np.array([channel.weights(row) for row in rows])  # below 2^48, so exact
        assert np.all(table.sum(axis=1) == 1 << channel.bits)
        assert np.all(table > 0)
        if m > 64:  # the rows that are left out are these ones shifted
            assert all(
                sorted(row) == sorted(table[0]) and row[at] == row.max() for row, at in zip(table, rows, strict=True)
            )
            return Fraction(int(table[0].max()), int(table[0].min()))
        return max(Fraction(int(column.max()), int(column.min())) for column in table.T)
    if isinstance(channel, ChoiceResponse):  # any code is in some sets and not in others, whichever their size
        n, k = channel.n_codes, channel.n_chosen
        table = np.array([channel.weights(((1 << k) - 1) << shift) for shift in (0, n - k)])
        assert np.all(table.sum(axis=1) == 1 << channel.bits)
        return Fraction(int(table.max()), int(table.min()))
    assert isinstance(channel, UnaryEncoding)
    # Bits are independent: the largest ratio is the product over bits, of which only those of s and s' differ.
    total = 1 << BITS
    own, other = (Fraction(channel.one, total), Fraction(channel.zero, total))
    at_s = max(own / other, (1 - own) / (1 - other))
    at_other = max(other / own, (1 - other) / (1 - own))
    return at_s * at_other


@pytest.mark.slow
@pytest.mark.representative
def test_every_channel_that_is_ever_used_is_private_and_not_more_than_it_has_to_be() -> None:
    used = channels().values()
    assert len(used) > 60
    assert {channel.kind for channel in used} == {"response", "unary", "choice"}
    for channel in used:
        ratio = _largest_ratio(channel)
        assert ratio <= allowed(channel.epsilon)
        assert ratio >= allowed(channel.epsilon) * Fraction(9999, 10000)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "2"])
@pytest.mark.parametrize("m", [2, 3, 5, 8])
def test_the_ratio_of_unary_encoding_is_that_of_all_codes(epsilon: str, m: int) -> None:
    channel = UnaryEncoding(epsilon=epsilon, n_categories=m)
    laws = []
    for symbol in range(m):
        weight = [channel.one if v == symbol else channel.zero for v in range(m)]
        laws.append(
            [
                _product(w if bit else (1 << BITS) - w for w, bit in zip(weight, code, strict=True))
                for code in product((0, 1), repeat=m)
            ]
        )
    assert all(sum(law) == 1 << BITS * m for law in laws)
    worst = max(Fraction(max(column), min(column)) for column in zip(*laws, strict=True))
    assert worst == _largest_ratio(channel) <= allowed(epsilon)


def _product(factors: Iterator[int]) -> int:
    result = 1
    for factor in factors:
        result *= factor
    return result


@pytest.mark.slow
@pytest.mark.representative
def test_every_question_fits_its_channel_and_every_channel_has_all_of_epsilon() -> None:
    for setting, steps in steps_by_setting().items():
        for ask in (ask for step in steps for ask in step.asks):
            assert ask.channel.epsilon == setting.study.privacy.epsilon
            assert ask.question.n_symbols <= ask.channel.n_symbols


# Question and channel together


def _points(ask: Ask, d: int) -> FloatArray:
    rng = np.random.default_rng(0)
    corners = np.array(list(product((0.0, 1.0), repeat=min(d, 3))))
    corners = np.pad(corners, ((0, 0), (0, d - corners.shape[1])), mode="edge")
    question = ask.question
    centers = rng.random((2, d))
    if isinstance(question, LabelSignsQuestion | DirectionQuestion):
        centers, view = question.centers, question.labels.projection
        centers = centers if view is None else view.origin + centers @ view.axes
    between = (centers[:1] + centers[-1:]) / 2
    points: FloatArray = np.concatenate([corners, centers[:2], between, rng.random((2, d))])
    return points.clip(0, 1)


def _codes(channel: SymbolChannel, laws: list[dict[int, Fraction]], rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Codes: those that speak for a symbol of one of the laws and for no other, and some at random."""
    symbols = sorted({symbol for law in laws for symbol in law})[:24]
    if isinstance(channel, RandomizedResponse):
        yield from np.array([*symbols, *rng.integers(channel.n_codes, size=3)])
        return
    if isinstance(channel, ChoiceResponse):
        yield from np.arange(channel.n_codes)[:, None]
        return
    assert isinstance(channel, UnaryEncoding)
    rows = np.concatenate(
        [np.eye(channel.n_categories, dtype=np.uint8)[symbols], rng.integers(0, 2, (3, channel.n_categories), np.uint8)]
    )
    yield from np.packbits(rows, axis=1, bitorder="little")


@pytest.mark.slow
@pytest.mark.representative
def test_no_point_makes_a_code_more_likely_than_epsilon_allows() -> None:
    """P[code | point] is a mixture over symbols, exactly, for each kind of question and channel that is ever used."""
    rng = np.random.default_rng(0)
    kinds: dict[tuple[str, int, str, str, int], Ask] = {}
    for setting, steps in steps_by_setting().items():
        for ask in (ask for step in steps for ask in step.asks):
            signs = ask.question.n_signs if isinstance(ask.question, LabelSignsQuestion) else 0
            kinds.setdefault((ask.question.kind, min(signs, 3), ask.channel.kind, setting.epsilon, setting.d), ask)
    assert len(kinds) > 50
    for (*_, epsilon, d), ask in kinds.items():
        variant = int(rng.integers(ask.question.n_variants))
        laws = [symbol_law(ask.question, point, variant) for point in _points(ask, d)]
        assert all(sum(law.values()) == 1 for law in laws)
        worst = Fraction(0)
        for code in _codes(ask.channel, laws, rng):
            chances = [likelihood(ask.channel, law, code) for law in laws]
            worst = max(worst, max(chances) / min(chances))
        assert worst <= allowed(epsilon)


def test_two_corners_reach_all_of_epsilon() -> None:
    """So the test above can tell: a question that is sure of its symbol is as revealing as its channel."""
    grid = GridQuestion(None, np.zeros(1), np.ones(1), (2,))
    for channel in (RandomizedResponse(epsilon=1, n_categories=2), UnaryEncoding(epsilon=1, n_categories=2)):
        laws = [symbol_law(grid, np.array([x]), 0) for x in (0.0, 1.0)]
        codes = [np.array(0), np.array(1)] if isinstance(channel, RandomizedResponse) else [np.array([1], np.uint8)]
        ratio = max(likelihood(channel, laws[0], code) / likelihood(channel, laws[1], code) for code in codes)
        assert allowed("1") * Fraction(999, 1000) <= ratio <= allowed("1")


CENTERS = np.array([[0.2, 0.3], [0.7, 0.4], [0.5, 0.9]])
RADII = np.array([0.3, 0.5, 0.2])
TURNED = Projection(np.array([0.5, 0.5]), np.array([[0.6, 0.8]]))
QUESTIONS: list[Question] = [
    GridQuestion(None, np.zeros(2), np.array([0.5, 0.25]), (3, 5)),
    GridQuestion(TURNED, np.array([-0.2]), np.array([0.1]), (4,)),
    LabelSignsQuestion(Labels(CENTERS), RADII, np.array([[0, 1], [1, 1]])),
    LabelSignsQuestion(Labels(TURNED.project(CENTERS), TURNED), RADII, np.array([[0]])),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.kind)
@pytest.mark.parametrize("point", [(0.1, 0.45), (0.6, 0.35), (1.0, 0.0), (0.5, 0.5)])
def test_the_oracles_law_is_that_of_the_question(question: Question, point: tuple[float, float]) -> None:
    _check_law(question, np.array(point))


# Twenty dimensions: the directions of a hand are all different, so that the nearest ones are certain.
MANY = np.random.default_rng(20).random((3, 20))
LONG = np.full(3, 2.5)  # radii, so that residuals are neither sure of their sign nor hardly know it
VECTOR_QUESTIONS: list[Question] = [
    DirectionQuestion(Labels(MANY), LONG, Directions.of(20), 3),
    SecondMomentQuestion(MANY[0], 2.2, Pairs.of(20), 5),
    LengthQuestion(MANY[1], 2.2),
]


@pytest.mark.slow
@pytest.mark.parametrize("question", VECTOR_QUESTIONS, ids=lambda q: q.kind)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_oracles_law_of_vectors_is_that_of_the_question(question: Question, seed: int) -> None:
    _check_law(question, np.random.default_rng(seed).random(20))


def _check_law(question: Question, point: FloatArray) -> None:
    # Chi-square with a false-alarm probability below 1e-10 per variant; the dice are seeded.
    rng, n = np.random.default_rng(3), 20_000
    for variant in range(min(question.n_variants, 16)):
        law = symbol_law(question, point, variant)
        assert sum(law.values()) == 1
        law = {symbol: p for symbol, p in law.items() if p}
        symbols = question.symbols(np.tile(point, (n, 1)), np.full(n, variant), rng)
        counts = np.array([np.count_nonzero(symbols == symbol) for symbol in law])
        assert counts.sum() == n
        expected = n * np.array([float(p) for p in law.values()])
        if len(law) > 1:
            assert stats.chisquare(counts, expected).pvalue > 1e-10
            wrong = expected * np.where(np.arange(len(law)) == np.argmax(expected), 0.8, 1.0)
            assert stats.chisquare(counts, n * wrong / wrong.sum()).pvalue < 1e-10


@pytest.mark.slow
@pytest.mark.representative
def test_every_round_of_every_study_is_within_the_limits() -> None:
    kinds = set()
    for setting, steps in steps_by_setting().items():
        for number, step in enumerate(steps, start=1):
            if step.asks:
                asked = Round(setting.study, number, step.purpose, step.asks)
                assert Round.from_json(asked.to_json(), study=setting.study).to_json() == asked.to_json()
                kinds |= {ask.question.kind for ask in step.asks}
    assert kinds == {"grid", "label_signs", "direction", "second_moment", "length"}
