"""A server's state as text: what has been published so far, and nothing that has not."""

import json
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hybriddp import _check
from hybriddp.channels.channel import is_integer
from hybriddp.errors import ProtocolError
from hybriddp.kmeans.algorithm.problem import PublishedVector, StepResult
from hybriddp.kmeans.reports.base import ReportTally
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.study.document import Document

MOST_USERS = (1 << 63) - 1  # the largest number of users or reports


@dataclass(frozen=True, slots=True)
class ServerState(Document):
    """A server before, between or after its rounds."""

    _what: ClassVar[str] = "state"
    _kind: ClassVar[str] = "kmeans-state"

    study: KMeansStudy
    n_local: int
    n_trusted: int
    seeded: bool  # whether it is a simulation
    in_ledger: bool  # whether a ledger records the releases
    rejected: int = 0  # invalid reports so far
    results: tuple[StepResult, ...] = ()  # what came back in each step so far
    pending_release: PublishedVector | None = None  # in the step that waits for local users
    open_round: str | None = None  # the text of the round that waits for answers
    ledger_nonce: str | None = None  # tells the ledger that records the releases from others

    def _content(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "study": self.study.fields(),
            "n_local": self.n_local,
            "n_trusted": self.n_trusted,
            "seeded": self.seeded,
            "in_ledger": self.in_ledger,
            "rejected": self.rejected,
            "results": [
                {
                    "tallies": [
                        {"support_counts": tally.supports.tolist(), "users": tally.users.tolist()}
                        for tally in result.answers
                    ],
                    "release": _release_fields(result.release),
                }
                for result in self.results
            ],
            "pending_release": _release_fields(self.pending_release),
            "open_round": None if self.open_round is None else json.loads(self.open_round),
        }
        return fields if self.ledger_nonce is None else {**fields, "ledger_nonce": self.ledger_nonce}

    def joined(self) -> "ServerState":
        """Let a ledger record the study from now on; `ProtocolError` if it would lack what was released."""
        if self.pending_release is not None or any(result.release is not None for result in self.results):
            raise ProtocolError(
                "This study began without a ledger; its first releases are not in this one. Go on without a ledger, "
                "and record what the study spends with Ledger.spend."
            )
        return replace(self, in_ledger=True)

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Self:
        asked = fields["open_round"]
        state = cls(
            study=KMeansStudy.of(fields["study"]),
            n_local=_size(fields["n_local"]),
            n_trusted=_size(fields["n_trusted"]),
            seeded=fields["seeded"],
            in_ledger=fields["in_ledger"],
            rejected=_size(fields["rejected"]),
            results=tuple(_result(result) for result in fields["results"]),
            pending_release=_published(fields["pending_release"]),
            open_round=None if asked is None else _check.compact(asked),
            ledger_nonce=fields.get("ledger_nonce"),
        )
        flags = type(state.seeded) is bool and type(state.in_ledger) is bool
        cls.require(flags, "it does not say whether it is a simulation, and whether a ledger records it")
        named = state.ledger_nonce is None or (isinstance(state.ledger_nonce, str) and state.in_ledger)
        cls.require(named, "it names a ledger, but says that no ledger records the releases")
        return state


def _size(value: Any) -> int:  # noqa: ANN401  (anything that JSON can hold)
    good = is_integer(value, 0, MOST_USERS)
    ServerState.require(good, "a number of users or reports is not a whole number from 0 to 2^63")
    return int(value)


def _result(fields: dict[str, Any]) -> StepResult:
    pairs = ((tally["support_counts"], tally["users"]) for tally in fields["tallies"])
    tallies = tuple(ReportTally(_integers(supports), _integers(users)) for supports, users in pairs)
    return StepResult(tallies, _published(fields["release"]))


def _published(fields: dict[str, Any] | None) -> PublishedVector | None:
    return None if fields is None else PublishedVector(_integers(fields["values"]), float(fields["variance"]))


def _integers(values: Any) -> NDArray[np.int64]:  # noqa: ANN401
    array = np.array(values)
    ServerState.require(array.dtype == np.int64, "a count or a released number is not a whole number of 64 bits")
    return array


def _release_fields(published: PublishedVector | None) -> dict[str, Any] | None:
    return None if published is None else {"values": published.values.tolist(), "variance": published.variance}
