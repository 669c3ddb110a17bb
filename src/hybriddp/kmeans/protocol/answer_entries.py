"""Answers to a round as entries of a tally that is kept elsewhere, one count each, and back.

An answer is an ask of the round, a variant of its question and a code; all three are one integer. What is counted is,
for each variant of each ask, its users and each symbol that reports support. These entries have numbers below zero, so
that others can be counted beside them. An answer is nowhere by itself.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from hybriddp.kmeans.protocol.answers import Message, code_of
from hybriddp.kmeans.protocol.devices import RoundReports
from hybriddp.kmeans.protocol.round import Round, RoundTally, count_answers
from hybriddp.kmeans.reports.base import Ask, ReportTally


@dataclass(frozen=True)
class AnswerEntries:
    """Entries for the answers to one round."""

    asked: Round

    @cached_property
    def digest(self) -> str:
        """The digest of the round's text."""
        return self.asked.digest

    def integer(self, message: Message) -> int | None:
        """A message as one integer; None if it is no answer to this round."""
        code = code_of(self.asked, self.digest, message)
        if code is None:
            return None
        number, ask = message["ask"], self.asked.asks[message["ask"]]
        whole = int.from_bytes(bytes(code)) if isinstance(code, list) else code
        place: int = whole * ask.question.n_variants + message["variant"]
        return place * len(self.asked.asks) + int(number)

    def entries(self, code: int) -> tuple[int, ...]:
        """The entries of the tally that an answer adds 1 to."""
        place, number = divmod(code, len(self.asked.asks))
        ask = self.asked.asks[number]
        whole, variant = divmod(place, ask.question.n_variants)
        first = self._starts[number] + variant * _width(ask)
        supported = np.flatnonzero(_one_report(ask, whole).supports[0])
        return -1 - first, *(-2 - first - int(symbol) for symbol in supported)

    def tally(self, counts: dict[int, int]) -> RoundTally:
        """What the entries of a study's tally say about this round."""
        answers = []
        for start, ask in zip(self._starts, self.asked.asks, strict=False):
            n, width = ask.question.n_variants, _width(ask)
            block = [counts.get(-1 - at, 0) for at in range(start, start + n * width)]
            table = np.array(block, np.int64).reshape(n, width)
            answers.append(ReportTally(table[:, 1:], table[:, 0]))
        return RoundTally(tuple(answers), round_digest=self.digest)

    def n_users(self, counts: dict[int, int]) -> int:
        """How many have answered this round so far."""
        found = 0
        for start, ask in zip(self._starts, self.asked.asks, strict=False):
            width = _width(ask)
            found += sum(counts.get(-1 - start - variant * width, 0) for variant in range(ask.question.n_variants))
        return found

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((ask.question.n_variants * _width(ask) for ask in self.asked.asks), initial=0))


def _width(ask: Ask) -> int:
    """Entries for one variant: its users, and each symbol."""
    return 1 + ask.channel.n_symbols


def _one_report(ask: Ask, whole: int) -> ReportTally:
    """The tally of one report, in a variant that does not matter."""
    channel = ask.channel
    code = list(whole.to_bytes(channel.report_bytes)) if channel.sends_bits else whole
    codes, first = np.array([code], channel.code_type), np.zeros(1, np.int64)
    return count_answers(ask, RoundReports(first, first, codes))
