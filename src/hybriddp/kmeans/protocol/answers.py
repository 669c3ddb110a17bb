r"""Answers to a round as devices send them, one JSON object each, and what a server makes of them.

A message names its round by the SHA-256 of the round's text and says which of its asks was answered, in which variant,
with which code. A code is an integer; where the channel sends bits, it is a text of hexadecimal digits, two for each
byte::

    {"round":"5d0e…","ask":0,"variant":3,"code":17}
    {"round":"5d0e…","ask":1,"variant":0,"code":"a0030f"}

Who answered, and whether it was their turn, is said by the token that comes with it, not by the message.

Kept in a tally elsewhere, one count each, an answer is an ask of the round, a variant of its question and a code; all
three are one integer. What is counted is, for each variant of each ask, its users and each symbol that reports support.
These entries have numbers below zero, so that others can be counted beside them. An answer is nowhere by itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from hybriddp.channels.channel import is_integer
from hybriddp.kmeans.protocol.round import Round, RoundReports, RoundTally, count_answers
from hybriddp.kmeans.reports.base import Ask, ReportTally

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReceivedReports:
    """What a server has received for a round."""

    reports: tuple[RoundReports, ...]  # to each ask, as `Round.count` takes them; users are numbers of messages
    rejected: int  # messages that are no answers to the round


def messages_of(asked: Round, reports: Sequence[RoundReports]) -> list[Message]:
    """Write the message of each device, in the order of their points."""
    digest = asked.digest
    messages: dict[int, Message] = {}
    for number, some in enumerate(reports):
        for user, variant, code in zip(some.users.tolist(), some.variants.tolist(), some.codes, strict=True):
            plain = code.tobytes().hex() if code.ndim else int(code)
            messages[user] = {"round": digest, "ask": number, "variant": variant, "code": plain}
    return [messages[user] for user in sorted(messages)]


def received_reports(asked: Round, messages: Iterable[object]) -> ReceivedReports:
    """Read the reports of messages; those that are no answers to this round are counted and left out.

    The reports have not been made with a ``random_state`` as far as a server can know.
    """
    digest, rejected = asked.digest, 0
    kept: list[tuple[list[int], list[int], list[Any]]] = [([], [], []) for _ in asked.asks]
    for number, message in enumerate(messages):
        code = code_of(asked, digest, message)
        if code is None or not isinstance(message, dict):
            rejected += 1
            continue
        users, variants, codes = kept[message["ask"]]
        users.append(number)
        variants.append(message["variant"])
        codes.append(code)
    reports = tuple(
        RoundReports(
            np.array(users, np.int64),
            np.array(variants, np.int64),
            np.array(codes, ask.channel.code_type).reshape(len(users), *_code_shape(ask)),
        )
        for ask, (users, variants, codes) in zip(asked.asks, kept, strict=True)
    )
    return ReceivedReports(reports, rejected)


def code_of(asked: Round, digest: str, message: object) -> int | list[int] | None:
    """Read the code of a message; None if it is no answer to the round."""
    if not isinstance(message, dict) or message.keys() != {"round", "ask", "variant", "code"}:
        return None
    number, variant, code = message["ask"], message["variant"], message["code"]
    if message["round"] != digest or not is_integer(number, 0, len(asked.asks) - 1):
        return None
    ask = asked.asks[number]
    if not is_integer(variant, 0, ask.question.n_variants - 1):
        return None
    if not ask.channel.sends_bits:
        return int(code) if is_integer(code, 0, ask.channel.n_codes - 1) else None
    try:
        row = bytes.fromhex(code)
    except (TypeError, ValueError):
        return None
    good = row.hex() == code and len(row) == ask.channel.report_bytes
    good = good and bool(ask.channel.valid_reports(np.frombuffer(row, np.uint8)[None])[0])
    return list(row) if good else None


def _code_shape(ask: Ask) -> tuple[int, ...]:
    return (ask.channel.report_bytes,) if ask.channel.sends_bits else ()


@dataclass(frozen=True)
class AnswerEntries:
    """Entries for the answers to one round."""

    asked: Round

    @cached_property
    def digest(self) -> str:
        """Digest of the round's text."""
        return self.asked.digest

    def integer(self, message: Message) -> int | None:
        """Encode a message as one integer; None if it is no answer to this round."""
        code = code_of(self.asked, self.digest, message)
        if code is None:
            return None
        number, ask = message["ask"], self.asked.asks[message["ask"]]
        whole = int.from_bytes(bytes(code)) if isinstance(code, list) else code
        place: int = whole * ask.question.n_variants + message["variant"]
        return place * len(self.asked.asks) + int(number)

    def entries(self, code: int) -> tuple[int, ...]:
        """List the entries of the tally that an answer adds 1 to."""
        place, number = divmod(code, len(self.asked.asks))
        ask = self.asked.asks[number]
        whole, variant = divmod(place, ask.question.n_variants)
        first = self._starts[number] + variant * _width(ask)
        supported = np.flatnonzero(_one_report(ask, whole).supports[0])
        return -1 - first, *(-2 - first - int(symbol) for symbol in supported)

    def tally(self, counts: dict[int, int]) -> RoundTally:
        """Decode the entries of a study's tally of this round."""
        answers = []
        for start, ask in zip(self._starts, self.asked.asks, strict=False):
            n, width = ask.question.n_variants, _width(ask)
            block = [counts.get(-1 - at, 0) for at in range(start, start + n * width)]
            table = np.array(block, np.int64).reshape(n, width)
            answers.append(ReportTally(table[:, 1:], table[:, 0]))
        return RoundTally(tuple(answers), round_digest=self.digest)

    def n_users(self, counts: dict[int, int]) -> int:
        """Count the users who have answered this round so far."""
        users = 0
        for start, ask in zip(self._starts, self.asked.asks, strict=False):
            width = _width(ask)
            users += sum(counts.get(-1 - start - variant * width, 0) for variant in range(ask.question.n_variants))
        return users

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((ask.question.n_variants * _width(ask) for ask in self.asked.asks), initial=0))


def _width(ask: Ask) -> int:
    """Count the entries of one variant: its users, and each symbol."""
    return 1 + ask.channel.n_symbols


def _one_report(ask: Ask, whole: int) -> ReportTally:
    """Tally one report, in a variant that does not matter."""
    channel = ask.channel
    code = list(whole.to_bytes(channel.report_bytes)) if channel.sends_bits else whole
    codes, first = np.array([code], channel.code_type), np.zeros(1, np.int64)
    return count_answers(ask, RoundReports(first, first, codes))
