r"""Turns: which participants belong to which round. Everybody can compute it, and nobody can choose it for others.

Every participant has a *place* (`place`), a hash of the study, of their subject and of a
nonce that their device has drawn and committed to when they enrolled. Rounds divide all places among them, one after
the other: with $F_r$ the fractions of users of the rounds 1 to $r$ added up, round $r$ asks those whose place $p$ has

$$
\lfloor 2^{64} F_{r-1} \rfloor \le p < \lfloor 2^{64} F_r \rfloor.
$$

The parts do not overlap, so nobody is asked twice; fractions that add up to 1 leave nobody out. A server publishes with
each round the fractions of all rounds so far (`Turns`). A device computes its own turn from that and answers no other
round. It keeps the turns that it has seen, and refuses others that do not go on from them (`follows`): a server that
told two stories would have to keep two sets of people apart for good.

A server that may choose fractions could still choose them so thin that a single person is left in one. So no round has
less than a hundredth of the users (`LEAST_FRACTION`), and a device refuses turns with one that has. A study's digest is
fixed before anybody takes part.

What a server does with it: nobody tells it the places. A device opens its nonce with its answer; the server compares it
with the commitment of the enrollment and computes the place, and refuses an answer to another round as early or late.
Dropouts cost their own answer only: the next round does not ask them in their place. How many belong to a round is
random, with a standard deviation of $\sqrt{nf(1-f)}$; estimates use the number who answered, which the tally says.

**Places.** A device draws a nonce of 128 random bits and commits to it when its person joins
(`hybriddp.client.contribution`). The *place* is the first 64 bits, as an unsigned integer with the most significant
byte first, of

    SHA-256("hybriddp place 1\n" + study digest + "\n" + nonce + "\n" + subject)

in UTF-8. The digest is the SHA-256 of the study's text (64 hexadecimal digits in lower case), the nonce has 32 such
digits, and ``subject`` is the subject of the participant's token, a text of 1 to 256 characters, in Unicode's form NFC:
a person has one place, however a later token spells them.

The nonce is what makes it nobody else's choice: whoever issues tokens can choose subjects, and try them until they
stand where they are wanted. The commitment is what hides the place until the device opens it: a server that knew places
earlier could turn away those who stand in somebody's slice. A device that does not keep to the protocol can choose its
own place. That is a question of integrity only: it learns nothing about anybody else by it.
"""

import hashlib
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, ClassVar, Self

from hybriddp.errors import ParameterError
from hybriddp.kmeans.protocol.round import MOST_ROUNDS, Round
from hybriddp.kmeans.study import read_fraction
from hybriddp.study.document import Document, is_digest

LONGEST_SUBJECT = 256  # characters
PLACES = 1 << 64
_PURPOSE = "hybriddp place 1"
_DIGEST, _NONCE = re.compile("[0-9a-f]{64}"), re.compile("[0-9a-f]{32}")


def place(study_digest: str, subject: str, nonce: str) -> int:
    """Compute the place of a participant, from 0 to below $2^{64}$.

    Examples
    --------
    >>> place("0" * 64, "participant 1", "f" * 32)
    13833858247621451858
    """
    if not isinstance(study_digest, str) or not _DIGEST.fullmatch(study_digest):
        raise ParameterError("study_digest", "the SHA-256 of a study's text in hexadecimal digits", study_digest)
    if not is_subject(subject):
        raise ParameterError("subject", f"a text of 1 to {LONGEST_SUBJECT} characters", "…")
    if not isinstance(nonce, str) or not _NONCE.fullmatch(nonce):
        raise ParameterError("nonce", "32 lower-case hexadecimal digits", "…")
    message = f"{_PURPOSE}\n{study_digest}\n{nonce}\n{unicodedata.normalize('NFC', subject)}"
    return int.from_bytes(hashlib.sha256(message.encode()).digest()[:8])


def is_subject(value: object) -> bool:
    """Whether a value is a text of 1 to 256 characters, all of which can be written in UTF-8."""
    short = isinstance(value, str) and 1 <= len(value) <= LONGEST_SUBJECT
    return short and not any("\ud800" <= letter <= "\udfff" for letter in str(value))


LEAST_FRACTION = Fraction(1, 100)
"""Of the users, in one round: a server cannot ask a few people that it has picked."""


@dataclass(frozen=True, slots=True)
class Turns(Document):
    """The fractions of users of a study's rounds so far, as a public text.

    Examples
    --------
    >>> turns = Turns("0" * 64, (Fraction(1, 3), Fraction(1, 2)))
    >>> [turns.round_of(f"participant {i}", "f" * 32) for i in range(4, 12)]
    [None, 2, 2, 2, 1, 2, 1, 1]
    >>> turns.to_json()[:45]
    '{"type":"kmeans-turns","version":2,"study":"0'
    """

    _what: ClassVar[str] = "list of turns"
    _kind: ClassVar[str] = "kmeans-turns"

    study_digest: str
    fractions: tuple[Fraction, ...]  # of the local users; one for each round, from the first on

    def __post_init__(self) -> None:
        self.require(is_digest(self.study_digest), "its study is not named by a SHA-256")
        count = len(self.fractions)
        self.require(0 < count <= MOST_ROUNDS, f"it has other than 1 to {MOST_ROUNDS} rounds")
        thin = f"a round has less than {LEAST_FRACTION} of the users"
        self.require(all(fraction >= LEAST_FRACTION for fraction in self.fractions), thin)
        self.require(sum(self.fractions) <= 1, "its fractions of users add up to more than all of them")

    @property
    def limits(self) -> tuple[int, ...]:
        """First place that belongs to no round up to each."""
        return tuple(math.floor(end * PLACES) for end in accumulate(self.fractions))

    def round_of(self, subject: str, nonce: str) -> int | None:
        """Find the number of the round that asks a participant, from 1 on; None if it has not been published yet."""
        own = place(self.study_digest, subject, nonce)
        return next((number for number, limit in enumerate(self.limits, start=1) if own < limit), None)

    def require_turn(self, asked: Round, subject: str, nonce: str) -> None:
        """Raise `ProtocolError` unless a round is one of these and asks this participant: a device makes sure of it."""
        known = asked.study.digest == self.study_digest and asked.number <= len(self.fractions)
        listed = known and self.fractions[asked.number - 1] == asked.user_fraction
        asked.require(listed, "the list of turns is of another study, or has another fraction of users for it")
        asked.require(self.round_of(subject, nonce) == asked.number, "it is another participants' turn")

    def follows(self, earlier: "Turns") -> bool:
        """Whether these are turns of the same study that begin with the earlier ones."""
        begins = self.fractions[: len(earlier.fractions)] == earlier.fractions
        return self.study_digest == earlier.study_digest and begins

    def _content(self) -> dict[str, Any]:
        return {"study": self.study_digest, "fractions": [str(fraction) for fraction in self.fractions]}

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Self:
        fractions: Sequence[object] = fields["fractions"]
        cls.require(len(fractions) <= MOST_ROUNDS, f"it has other than 1 to {MOST_ROUNDS} rounds")
        return cls(fields["study"], tuple(read_fraction(fraction, cls._what) for fraction in fractions))
