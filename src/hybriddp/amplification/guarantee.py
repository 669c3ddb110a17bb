"""Results of amplification: ε′ of each group and, for a study, what it rests on."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.errors import BudgetError
from hybriddp.privacy import NEIGHBORS

Numbers = TypeVar("Numbers", float, FloatArray)


@dataclass(frozen=True, slots=True)
class GroupEpsilon(Generic[Numbers]):
    """ε′ of one group: a number, or an array."""

    epsilon: Numbers


@dataclass(frozen=True, slots=True)
class Amplification(Generic[Numbers]):
    """ε′ of each group by a formula."""

    trusted: GroupEpsilon[Numbers]
    local: GroupEpsilon[Numbers]

    @property
    def everyone(self) -> GroupEpsilon[Numbers]:
        """What holds for every user: the larger one."""
        return GroupEpsilon(np.maximum(self.trusted.epsilon, self.local.epsilon)[()])


@dataclass(frozen=True, slots=True)
class Guarantee:
    """(ε, δ) of one group of users."""

    epsilon: float
    delta: float

    def __str__(self) -> str:
        return f"ε′ = {self.epsilon:.4g}" + (f" (δ = {self.delta:g})" if self.delta else "")


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What must be true for the second tier of protection; the first tier, every user's own ε, needs none of it.

    Attributes
    ----------
    honest_local, colluding_local : float
        Local users whose noise the adversary does not know (a local user counts their own), and those who pool what
        they know of their noise.
    noise : str
        What the noise is.
    """

    honest_local: float
    colluding_local: float
    noise: str

    def sentences(self) -> tuple[str, ...]:
        """All of them, in words."""
        return (
            "The adversary sees what Estimate.published gives, the rounded estimate and its interval, and nothing "
            "else: no group means, no report, no range.",
            "The weight and the noise were fixed before any data was seen.",
            "Group sizes are public.",
            f"At most {self.colluding_local:,.0f} local users pool what they know; the noise of the other "
            f"{self.honest_local:,.0f} is theirs alone, and a local user counts their own.",
            f"Neighbors: {NEIGHBORS}.",
            "This is the only release about these values, and it was made: reports that no users can have sent are "
            "refused first, real ones with a chance of at most 1e-6, which is not counted.",
            f"Noise: {self.noise}",
        )


@dataclass(frozen=True, slots=True, repr=False)
class Amplified:
    """The second tier of protection, per group.

    Attributes
    ----------
    trusted, local : Guarantee
        What somebody who sees only the published estimate can learn about a user of each group.
    unamplified : Guarantee
        The first tier: what everybody is promised, whoever looks and whatever else is published.
    assumptions : Assumptions
        What the second tier rests on.
    method : str
        How it was computed.
    resolution : Fraction
        The step, in the units of the values, that the estimate must be published in multiples of: exactly, since
        with a step that differs in its fourth digit the bound is false. `Estimate.published` rounds to it.
    """

    trusted: Guarantee
    local: Guarantee
    unamplified: Guarantee
    assumptions: Assumptions
    method: str
    resolution: Fraction

    @property
    def everyone(self) -> Guarantee:
        """What holds for every user: the weaker of the two."""
        return Guarantee(max(self.trusted.epsilon, self.local.epsilon), max(self.trusted.delta, self.local.delta))

    def __repr__(self) -> str:
        return f"<Amplified: trusted users {self.trusted}; local users {self.local}; print() says what it rests on>"

    def __str__(self) -> str:
        lines = [
            "Against somebody who sees only the published estimate: "
            f"trusted users {self.trusted}; local users {self.local}.",
            f"Against everybody else (for local users the curator too): ε = {self.unamplified.epsilon:g}, as promised.",
            f"({self.method}) Assumptions:",
            *(f"- {sentence}" for sentence in self.assumptions.sentences()),
        ]
        return "\n".join(lines)

    def __add__(self, _: object) -> "Amplified":
        """Refused: the second tier of two releases about the same values is not known."""
        raise BudgetError(
            "Two amplified releases cannot be composed: each rests on being the only one. Add up the promised ε."
        )
