"""What every result has: the statement of what it cost."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from hybriddp.privacy import NEIGHBORS, Privacy
from hybriddp.release.charging import Charged


@dataclass(frozen=True, slots=True)
class Statement:
    """What an answer cost in privacy: what was promised, and whether it was kept and counted."""

    epsilon: str
    delta: str
    neighbors: str
    released: bool  # whether anything about the trusted group was; local reports are private by themselves
    counted: bool  # whether a ledger has that release
    seeded: bool  # whether this is a simulation, and no release at all
    already_charged: bool = field(default=False, repr=False)
    """Whether a ledger had charged the study before, so that this was free."""

    @classmethod
    def of(cls, promise: Privacy, *, released: bool, counted: bool, seeded: bool) -> "Statement":
        """State what a study promises, and what was done."""
        return cls(promise.epsilon, promise.delta, NEIGHBORS, released=released, counted=counted, seeded=seeded)

    def charged(self, charged: Charged) -> "Statement":
        """State whether a ledger was charged for an estimate without a release."""
        return (
            self if charged is Charged.NOT else replace(self, counted=True, already_charged=charged is Charged.BEFORE)
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        plain = asdict(self)
        seeded = plain.pop("seeded")
        if not plain["already_charged"]:
            del plain["already_charged"]
        return {**plain, "private_release": not seeded}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "Statement":
        """Read what `to_dict` gave."""
        plain = dict(content)
        return cls(seeded=not plain.pop("private_release"), **plain)

    def __str__(self) -> str:
        if self.seeded:
            return "A simulation: NOT a private release."
        alone = self.released and not self.counted
        advice = " Nobody is counting: give a ledger to make sure that it stays one release." if alone else ""
        free = " The ledger was already charged for this study: this estimate is free." if self.already_charged else ""
        return (
            f"Every user, trusted or local, is promised ε = {self.epsilon}, δ = {self.delta} for this one release "
            f"({self.neighbors}).{advice}{free}"
        )
