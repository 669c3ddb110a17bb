"""What a server has published so far, as text."""

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybriddp.errors import ProtocolError
from hybriddp.kmeans.algorithm.step import Published, StepResult
from hybriddp.kmeans.reports.base import ReportTally
from hybriddp.kmeans.study import KMeansStudy, parsed


@dataclass(frozen=True, slots=True)
class State:
    """A server between two rounds.

    Attributes
    ----------
    study : KMeansStudy
        What it is about.
    n_local, n_trusted : int
        The sizes of the groups. Where the size of the trusted group is private, the text says only whether there is
        one.
    seeded, counted : bool
        Whether it is a simulation, and whether a ledger has the releases.
    rejected : int
        How many reports were no answers.
    heard : tuple of Heard
        What came back in each step so far.
    pending : Published or None
        What was released in the step that waits for local users.
    waiting_for : str or None
        The text of the round that waits for answers; None if none does.
    ledger : str or None
        The nonce of the ledger that has the releases, which tells it from others; None if it has none.
    """

    study: KMeansStudy
    n_local: int
    n_trusted: int
    seeded: bool
    counted: bool
    rejected: int = 0
    heard: tuple[StepResult, ...] = ()
    pending: Published | None = None
    waiting_for: str | None = None
    ledger: str | None = None

    def to_json(self) -> str:
        """The state as text."""
        size = min(self.n_trusted, 1) if self.study.size_is_private else self.n_trusted
        fields: dict[str, Any] = {
            "type": "kmeans-state",
            "version": 2,
            "study": self.study.fields(),
            "n_local": self.n_local,
            "n_trusted": size,
            "seeded": self.seeded,
            "counted": self.counted,
            "rejected": self.rejected,
            "heard": [
                {
                    "answers": [
                        {"supports": answers.supports.tolist(), "users": answers.users.tolist()}
                        for answers in heard.answers
                    ],
                    "published": _published_fields(heard.published),
                }
                for heard in self.heard
            ],
            "pending": _published_fields(self.pending),
            "waiting_for": None if self.waiting_for is None else json.loads(self.waiting_for),
        }
        if self.ledger is not None:
            fields["ledger"] = self.ledger
        return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "State":
        """The state of a text; `ProtocolError` if it is not one."""
        fields = parsed(text, "state")
        if fields.get("type") != "kmeans-state" or fields.get("version") != 2:
            raise ProtocolError("The state is refused: it is not a kmeans-state, version 2.")
        try:
            state = cls(
                study=KMeansStudy.of(fields["study"]),
                n_local=fields["n_local"],
                n_trusted=fields["n_trusted"],
                seeded=fields["seeded"],
                counted=fields["counted"],
                rejected=fields["rejected"],
                heard=tuple(_heard(heard) for heard in fields["heard"]),
                pending=_published(fields["pending"]),
                waiting_for=_text(fields["waiting_for"]),
                ledger=fields.get("ledger"),
            )
            sizes = (state.n_local, state.n_trusted, state.rejected)
            flags = all(type(flag) is bool for flag in (state.seeded, state.counted))
            flags = flags and (state.ledger is None or (isinstance(state.ledger, str) and state.counted))
            same = flags and all(type(size) is int and 0 <= size < 1 << 63 for size in sizes)
            same = same and json.loads(state.to_json()) == fields
        except (KeyError, TypeError, ValueError, ArithmeticError) as reason:
            raise ProtocolError(f"The state is refused: it is incomplete or malformed ({reason}).") from None
        if not same:
            raise ProtocolError("The state is refused: it is not in its one form, version 2.")
        return state


def decimal(exact: Fraction) -> str:
    """A fraction whose denominator has no other factors than 2 and 5, as a decimal.

    Examples
    --------
    >>> decimal(Fraction(7, 40))
    '0.175'
    """
    digits = 0
    while exact.denominator != 1 and digits < 60:
        exact, digits = exact * 10, digits + 1
    if exact.denominator != 1:
        raise ValueError("not a finite decimal")
    return format(Decimal(exact.numerator).scaleb(-digits), "f")


def _text(fields: dict[str, Any] | None) -> str | None:
    return None if fields is None else json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def _heard(fields: dict[str, Any]) -> StepResult:
    answers = [ReportTally(_counts(one["supports"]), _counts(one["users"])) for one in fields["answers"]]
    return StepResult(tuple(answers), _published(fields["published"]))


def _published(fields: dict[str, Any] | None) -> Published | None:
    if fields is None:
        return None
    variance = float(fields["variance"])
    if not 0 < variance < math.inf:
        raise ValueError("a variance that is not positive")
    return Published(_counts(fields["values"]), variance)


def _counts(values: Any) -> NDArray[np.int64]:  # noqa: ANN401  (anything that JSON can hold)
    array = np.array(values)
    if array.dtype != np.int64:
        raise ValueError("counts that are not whole numbers")
    return array


def _published_fields(published: Published | None) -> dict[str, Any] | None:
    if published is None:
        return None
    return {"values": published.values.tolist(), "variance": published.variance}
