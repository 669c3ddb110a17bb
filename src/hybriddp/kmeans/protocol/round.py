r"""A round: the public message to devices, their answers, the tally of these, and whether devices can have drawn them.

A round that does not keep its study's promise cannot exist. Every channel proves its inequality
$P[y|x] \le e^\epsilon P[y|x']$ in integers when it is made or read, and `Ask.check` demands the study's ε and exactly
the question's symbols. `Round.from_json` is where a device makes sure that the study is the one its user agreed to.

A device draws a question and a variant of it, and answers through the channel, once. Of what it sends, nothing but the
code depends on its user's point, and the code is drawn by the channel of the ask, with all of the study's ε.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.channel import channel_from_json, is_integer
from hybriddp.channels.plausible import count_surpluses, wrong_in_codes, wrong_in_supports
from hybriddp.channels.response import SymbolChannel
from hybriddp.errors import ParameterError, ProtocolError
from hybriddp.kmeans.points import PointArray
from hybriddp.kmeans.reports.base import MOST_SIGNS, Ask, GridQuestion, Question, ReportTally, require
from hybriddp.kmeans.reports.codebook import CODEBOOKS_OF_PAIRS, CODEBOOKS_OF_SHIFTS, most_bases
from hybriddp.kmeans.reports.means import DirectionQuestion, LabelSignsQuestion
from hybriddp.kmeans.reports.moments import LengthQuestion, SecondMomentQuestion
from hybriddp.kmeans.study import MOST_CHARACTERS, MOST_CLUSTERS, KMeansStudy, read_fraction
from hybriddp.randomness import ByteSource, UniformDraws, byte_source
from hybriddp.study.document import Document, parsed

MOST_ASKS = 3  # questions in one round
MOST_ROUNDS = 64  # the largest number of a round
PURPOSE_CHARACTERS = 200  # characters of the words that say what a round is for
CENTERS_PER_CLUSTER = 3  # centers that a question is about, for each cluster wanted: there are too many at first
QUESTIONS: dict[str, type[Question]] = {
    kind.kind: kind
    for kind in (DirectionQuestion, GridQuestion, LabelSignsQuestion, SecondMomentQuestion, LengthQuestion)
}
_NUMBER, _FRAME = 26, 4096  # characters of a number with its comma; of all that is neither a number nor a name
_FALSE_ALARM = 1e-6  # of all tests of a study together
_WORDS = 2.0**-31  # a word of 32 bits chooses an ask, another one a variant: so far are they from their fractions


@dataclass(frozen=True, slots=True)
class RoundReports:
    """What devices send in answer to one ask of a round: the variant of the question that each drew, and a code."""

    users: IntArray  # which of the points given these are, shape (n,)
    variants: IntArray  # shape (n,)
    codes: NDArray[Any]  # what came out of the channel, shape (n,) or (n, n_bytes)
    seeded: bool = False  # whether they can be repeated: then they are a simulation, and not private


@dataclass(frozen=True, slots=True)
class RoundTally:
    """Tally of the reports to a round: the answers to each of its asks, and how many reports were invalid.

    A server refuses answers to another round than that of the digest; if it is empty, nobody has said which.
    """

    answers: tuple[ReportTally, ...]
    rejected: int = 0  # reports with an unknown variant or code
    round_digest: str = ""
    seeded: bool = False  # whether a report can be repeated: only a simulation takes it


@dataclass(frozen=True, slots=True)
class Round(Document):
    """What a server asks local users, each of whom answers one round and never again.

    A device answers one of the asks, drawn by their fractions of users. Rounds are numbered from 1, and say in words
    what they are for.
    """

    _what: ClassVar[str] = "round"
    _kind: ClassVar[str] = "kmeans-round"

    study: KMeansStudy
    number: int
    purpose: str
    asks: tuple[Ask, ...]

    def __post_init__(self) -> None:
        for ask in self.asks:
            ask.check(self.study)

    @property
    def user_fraction(self) -> Fraction:
        """The fraction of the local users who are asked in this round."""
        return sum((ask.user_fraction for ask in self.asks), Fraction(0))

    def is_like(self, other: "Round") -> bool:
        """Whether two rounds ask the same but for the last digits of their numbers."""
        return _alike(json.loads(self.to_json()), json.loads(other.to_json()))

    def answer(
        self, points: ArrayLike, *, random_state: int | np.random.Generator | None = None
    ) -> tuple[RoundReports, ...]:
        """Answer as the devices of users with these points: one report each, to one of the asks.

        One point per user, shape (n, d), in the units of the data. A ``random_state`` is for simulation only: with it
        the reports can be repeated, and are **not private**: only a server with a ``random_state`` takes them.
        """
        return answer_asks(self.asks, self.study.box.place(points).points, byte_source(random_state))

    def count(self, reports: Sequence[RoundReports]) -> RoundTally:
        """Tally the reports; invalid ones are left out and counted."""
        if not isinstance(reports, Sequence) or not all(isinstance(some, RoundReports) for some in reports):
            raise ParameterError("reports", "RoundReports to each ask, as round.answer gives them", reports)
        if len(reports) != len(self.asks):
            raise ProtocolError(f"The round has {len(self.asks)} asks, got reports to {len(reports)}.")
        answers = tuple(count_answers(ask, some) for ask, some in zip(self.asks, reports, strict=True))
        rejected = sum(len(some.variants) for some in reports) - sum(tally.n_users for tally in answers)
        return RoundTally(answers, rejected, self.digest, seeded=any(some.seeded for some in reports))

    def _content(self) -> dict[str, Any]:
        return {
            "study": self.study.fields(),
            "number": self.number,
            "purpose": self.purpose,
            "asks": [
                {
                    "question": ask.question.text_fields(),
                    "channel": json.loads(ask.channel.to_json()),
                    "user_fraction": str(ask.user_fraction),
                }
                for ask in self.asks
            ],
        }

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Self:
        study = KMeansStudy.of(fields["study"])
        cls.require(1 <= len(fields["asks"]) <= MOST_ASKS, f"it asks other than 1 to {MOST_ASKS} questions")
        return cls(study, fields["number"], fields["purpose"], tuple(_ask(study, ask) for ask in fields["asks"]))

    @classmethod
    def from_json(cls, text: str, *, study: KMeansStudy) -> Self:  # type: ignore[override]  # nobody else may be asked
        """Read the round of a text; `ProtocolError` if it is not one, or if a channel promises less than the study.

        The ``study`` is the one that the user of the device agreed to: a round of any other one is refused, whatever
        it promises.
        """
        most = most_characters(study.n_clusters, study.box.n_dimensions)
        if isinstance(text, (str, bytes, bytearray)):  # before anything else is read
            cls.require(len(text) <= most, f"its {len(text):,} characters are more than the {most:,} it can need")
        result = cls.of(parsed(text, cls._what))
        number, purpose = result.number, result.purpose
        cls.require(result.study == study, "it is of another study than the one agreed to")
        cls.require(result.user_fraction <= 1, "its fractions of users add up to more than all of them")
        cls.require(is_integer(number, 1, MOST_ROUNDS), f"its number is not from 1 to {MOST_ROUNDS}")
        short = _check.is_readable(purpose) and len(purpose) <= PURPOSE_CHARACTERS
        cls.require(short, f"its purpose is not a readable text of at most {PURPOSE_CHARACTERS} characters")
        return result.written_as(text)


# Texts of strangers ---------------------------------------------------------------------------------------------------


def _ask(study: KMeansStudy, fields: dict[str, Any]) -> Ask:
    """Read an ask, whose channel proves its inequality."""
    channel = channel_from_json(_check.compact(fields["channel"]))
    question = question_of(study.box.n_dimensions, fields["question"], study.n_clusters)
    user_fraction = read_fraction(fields["user_fraction"], "round")
    return Ask(question, cast("SymbolChannel", channel), user_fraction)  # which `Ask.check` makes sure of


def question_of(d: int, fields: dict[str, Any], n_clusters: int = MOST_CLUSTERS) -> Question:
    """Read a question for ``d`` dimensions; `ProtocolError` if it is malformed, or too large."""
    if not isinstance(fields, dict) or not isinstance(fields.get("kind"), str) or fields["kind"] not in QUESTIONS:
        raise ProtocolError(f"The question is refused: its kind is none of {', '.join(QUESTIONS)}.")
    try:
        most = CENTERS_PER_CLUSTER * n_clusters
        require("centers" not in fields or len(fields["centers"]) <= most, f"it has more than {most} centers")
        return QUESTIONS[fields["kind"]].from_fields(d, fields)
    except (KeyError, TypeError, ValueError, OverflowError) as reason:
        raise ProtocolError(f"The question is refused: it is incomplete or malformed ({reason}).") from None


@lru_cache(maxsize=64)
def most_characters(n_clusters: int, d: int) -> int:
    """Limit the length of the text of a round: every question with as many numbers as it may have, each in full."""
    centers = CENTERS_PER_CLUSTER * n_clusters * (d + 1)  # with radii
    bases = max(2 * most_bases(d, CODEBOOKS_OF_PAIRS), most_bases(d, CODEBOOKS_OF_SHIFTS))
    question = centers + d * (d + 1) + d * MOST_SIGNS + d * bases + 3 * d
    return _FRAME + 12 * MOST_CHARACTERS + _NUMBER * (2 * d + MOST_ASKS * question)


def _alike(one: Any, other: Any) -> bool:  # noqa: ANN401  (anything that JSON can hold)
    """Whether two values are the same, numbers but for a millionth."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-6 * max(1.0, abs(one))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return type(one) is type(other) and bool(one == other)


# Devices --------------------------------------------------------------------------------------------------------------


def answer_asks(asks: Sequence[Ask], points: FloatArray, source: ByteSource) -> tuple[RoundReports, ...]:
    """Answer as devices with these points in the unit box, one report each, to an ask drawn by the fractions of users.

    A device takes its random bytes in this order: a word of 32 bits that chooses the ask, another one that chooses the
    variant, what the question draws (`UniformDraws`), and what the channel draws. So do devices in other languages. Of
    many devices at a time, every one takes the first of these before any takes the next.
    """
    draws = UniformDraws(source)
    of_ask, of_variant = draws.words(2 * len(points)).reshape(-1, 2).T
    drawn = np.searchsorted(ask_limits(asks), of_ask, side="right")
    reports = []
    for i, ask in enumerate(asks):
        users = np.flatnonzero(drawn == i)
        variants = (of_variant[users].astype(np.int64) * ask.question.n_variants) >> 32
        # A symbol that the channel does not have would come out of it as it is.
        symbols = ask.channel.check_inputs(ask.question.symbols(points[users], variants, draws))
        codes = ask.channel.draw(len(users), symbols.__getitem__, source)
        reports.append(RoundReports(users, variants, codes, source.seeded))
    return tuple(reports)


def ask_limits(asks: Sequence[Ask]) -> IntArray:
    r"""Compute the words of 32 bits from which on a device answers each ask but the first: $\lfloor 2^{32} f \rfloor$.

    $f$ is the part of the round's users who answer the asks before it.
    """
    sums = list(accumulate(ask.user_fraction for ask in asks))
    return np.array([math.floor(before * (1 << 32) / sums[-1]) for before in sums[:-1]], np.int64)


def simulate_devices(
    ask: Ask, blocks: Iterator[FloatArray], *, source: ByteSource, rng: np.random.Generator
) -> ReportTally:
    """Tally the answers of many devices, from their points in the unit box, block by block.

    Variants are dealt out in turn, in an order that is drawn, so that all are answered nearly equally often; else the
    law of the counts is that of one report per user.
    """
    variants = ask.question.n_variants
    users, first = np.zeros(variants, np.int64), 0
    supports = np.zeros((variants, ask.channel.n_symbols), np.int64)
    turns = rng.permutation(variants)
    for points in blocks:
        which = turns[np.arange(first, first + len(points)) % variants]
        first += len(points)
        symbols = ask.question.symbols(points, which, rng, constant_time=False)
        supports += ask.channel.simulate_supports(symbols, which, variants, source)
        users += np.bincount(which, minlength=variants)
    return ReportTally(supports, users)


class SimulatedDevices:
    """The devices of all local users of a study in one process, in random order: each answers once."""

    def __init__(self, points: PointArray, source: ByteSource) -> None:
        self._points, self._source = points, source
        self._rng = np.random.default_rng(source.take(32).tolist())
        self._order = self._rng.permutation(points.count)
        self._asked = Fraction(0)  # of the users, so far

    def answer(self, asks: Sequence[Ask]) -> tuple[ReportTally, ...]:
        """Answer for those whose turn it is."""
        tallies, n = [], len(self._order)
        for ask in asks:
            first, self._asked = self._asked, self._asked + ask.user_fraction
            users = self._order[int(first * n) : int(self._asked * n)]
            points = self._points.points_of(users)
            tallies.append(simulate_devices(ask, points, source=self._source, rng=self._rng))
        return tuple(tallies)


# Tallies --------------------------------------------------------------------------------------------------------------


def count_answers(ask: Ask, reports: RoundReports) -> ReportTally:
    """Count the reports that support each symbol, in each variant; invalid ones are left out."""
    return ReportTally(*ask.channel.tally(reports.codes, reports.variants, ask.question.n_variants))


def implausible_answers(asks: Sequence[Ask], answers: Sequence[ReportTally], number: int) -> int:
    r"""Bound from below the number of forged answers to a round, the ``number``-th of its study.

    Two tests per round. A device draws its ask and its variant before it looks at its point, so that their law is known
    exactly: people who agree on one are too many there. And within each variant, the reports must be those of the ask's
    channel, whatever the points are (`wrong_in_supports`); each report is in one ask, so that these bounds add up. For
    this one, it must be settled who sends forged answers before anybody draws a variant. Forged answers that have the
    law of an honest device with any point are not seen.

    Real answers to all rounds of a study together raise an alarm with a probability of $10^{-6}$ at most: round $r$ may
    use the part $1/(r(r + 1))$ of it, which add up to 1 over all rounds.
    """
    level = _FALSE_ALARM / (number * (number + 1)) / 2
    total = float(sum(ask.user_fraction for ask in asks))
    chosen = np.concatenate(
        [np.full(ask.question.n_variants, float(ask.user_fraction) / total / ask.question.n_variants) for ask in asks]
    )
    users = np.concatenate([tally.users for tally in answers])
    least, most = np.maximum(chosen - _WORDS, 0.0), np.minimum(chosen + _WORDS, 1.0)
    drawn = wrong_in_codes(count_surpluses(users, users.sum(), least, most, false_alarm=level))
    sent = sum(
        wrong_in_supports(ask.channel, tally.supports, tally.users, false_alarm=level / len(asks))
        for ask, tally in zip(asks, answers, strict=True)
    )
    return max(drawn, sent)
