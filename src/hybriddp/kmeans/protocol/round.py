r"""A round: the public message to devices, checked on the device, and the tally of what comes back.

A round that does not keep its study's promise cannot exist. Every channel proves its inequality
$P[y|x] \le e^\epsilon P[y|x']$ in integers when it is made or read, and `Ask.check` demands the study's ε and exactly
the question's symbols. `Round.from_json` is where a device makes sure that the study is the one its user agreed to.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp.channels.channel import channel_from_json, is_integer
from hybriddp.channels.response import SymbolChannel
from hybriddp.errors import ParameterError, ProtocolError
from hybriddp.kmeans.protocol.devices import RoundReports, answer_asks
from hybriddp.kmeans.reports import base
from hybriddp.kmeans.reports.base import Ask, ReportTally
from hybriddp.kmeans.study import KMeansStudy, read_fraction
from hybriddp.randomness import byte_source
from hybriddp.study.document import Document, parsed


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
        """What the devices of users with these points send: one report each, to one of the asks.

        One point per user, shape (n, d), in the units of the data. A ``random_state`` is for simulation only: with it
        the reports can be repeated, and are **not private**: only a server with a ``random_state`` takes them.
        """
        return answer_asks(self.asks, self.study.box.place(points).points, byte_source(random_state))

    def count(self, reports: Sequence[RoundReports]) -> RoundTally:
        """The tally of the reports; invalid ones are left out and counted."""
        if not isinstance(reports, Sequence) or not all(isinstance(some, RoundReports) for some in reports):
            raise ParameterError("reports", "RoundReports to each ask, as round.answer gives them", reports)
        if len(reports) != len(self.asks):
            raise ProtocolError(f"The round has {len(self.asks)} asks, got reports to {len(reports)}.")
        answers = tuple(count_answers(ask, some) for ask, some in zip(self.asks, reports, strict=True))
        rejected = sum(len(some.variants) for some in reports) - sum(got.n_users for got in answers)
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
        cls.require(1 <= len(fields["asks"]) <= base.MOST_ASKS, f"it asks other than 1 to {base.MOST_ASKS} questions")
        return cls(study, fields["number"], fields["purpose"], tuple(_ask(study, ask) for ask in fields["asks"]))

    @classmethod
    def from_json(cls, text: str, *, study: KMeansStudy) -> Self:  # type: ignore[override]  # nobody else may be asked
        """The round of a text; `ProtocolError` if it is not one, or if a channel promises less than the study.

        The ``study`` is the one that the user of the device agreed to: a round of any other one is refused, whatever
        it promises.
        """
        base.require_short(text, study)  # before anything else is read
        result = cls.of(parsed(text, cls._what))
        number, purpose = result.number, result.purpose
        cls.require(result.study == study, "it is of another study than the one agreed to")
        cls.require(result.user_fraction <= 1, "its fractions of users add up to more than all of them")
        cls.require(is_integer(number, 1, base.MOST_ROUNDS), f"its number is not from 1 to {base.MOST_ROUNDS}")
        short = _check.is_readable(purpose) and len(purpose) <= base.PURPOSE_CHARACTERS
        cls.require(short, f"its purpose is not a readable text of at most {base.PURPOSE_CHARACTERS} characters")
        return result.written_as(text)


def count_answers(ask: Ask, reports: RoundReports) -> ReportTally:
    """The number of reports that support each symbol, in each variant; invalid ones are left out."""
    return ReportTally(*ask.channel.tally(reports.codes, reports.variants, ask.question.n_variants))


def _ask(study: KMeansStudy, fields: dict[str, Any]) -> Ask:
    """An ask of a message."""
    channel = channel_from_json(json.dumps(fields["channel"], separators=(",", ":")))  # proves the inequality
    question = base.question_of(study.box.n_dimensions, fields["question"], study.n_clusters)
    user_fraction = read_fraction(fields["user_fraction"], "round")
    return Ask(question, cast("SymbolChannel", channel), user_fraction)  # which `Ask.check` makes sure of


def _alike(one: Any, other: Any) -> bool:  # noqa: ANN401  (anything that JSON can hold)
    """Whether two values are the same, numbers but for a millionth."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-6 * max(1.0, abs(one))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return type(one) is type(other) and bool(one == other)
