"""Answers to a round as devices send them, one JSON object each, and what a server makes of them.

A message names its round by the SHA-256 of the round's text and says which of its asks was answered, in which variant,
with which code. A code is an integer; where the channel sends bits, it is a text of hexadecimal digits, two for each
byte::

    {"round":"5d0e…","ask":0,"variant":3,"code":17}
    {"round":"5d0e…","ask":1,"variant":0,"code":"a0030f"}

Who answered, and whether it was their turn, is said by the token that comes with it, not by the message.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybriddp.channels.channel import is_integer
from hybriddp.kmeans.protocol.devices import RoundReports
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.reports.base import Ask

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReceivedReports:
    """What a server has received for a round."""

    reports: tuple[RoundReports, ...]  # to each ask, as `Round.count` takes them; users are numbers of messages
    rejected: int  # messages that are no answers to the round


def messages_of(asked: Round, reports: Sequence[RoundReports]) -> list[Message]:
    """What each of the devices sends, in the order of their points."""
    digest = asked.digest
    found: dict[int, Message] = {}
    for number, some in enumerate(reports):
        for user, variant, code in zip(some.users.tolist(), some.variants.tolist(), some.codes, strict=True):
            plain = code.tobytes().hex() if code.ndim else int(code)
            found[user] = {"round": digest, "ask": number, "variant": variant, "code": plain}
    return [found[user] for user in sorted(found)]


def received_reports(asked: Round, messages: Iterable[object]) -> ReceivedReports:
    """The reports that messages hold; those that are no answers to this round are counted and left out.

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
    """The code of a message; None if it is no answer to the round."""
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
