"""Results of amplification: ε′ of each group of a study, and the assumptions it rests on."""

from dataclasses import dataclass
from fractions import Fraction

from hybriddp.errors import BudgetError
from hybriddp.privacy import NEIGHBORS


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Bound (ε, δ) of one group of users."""

    epsilon: float
    delta: float

    def __str__(self) -> str:
        return f"ε′ = {self.epsilon:.4g}" + (f" (δ = {self.delta:g})" if self.delta else "")


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Assumptions of the second tier of protection; the first tier, every user's own ε, needs none of them.

    Attributes
    ----------
    honest_local, colluding_local : float
        Local users whose noise the adversary does not know (a local user counts their own), and those who pool what
        they know of their noise.
    noise : str
        The noise, in words.
    """

    honest_local: float
    colluding_local: float
    noise: str

    def sentences(self) -> tuple[str, ...]:
        """State all assumptions in words."""
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
    """Second tier of protection, per group.

    Attributes
    ----------
    trusted, local : Guarantee
        Guarantee of a user of each group against somebody who sees only the published estimate.
    unamplified : Guarantee
        First tier: the promise to everybody, whoever looks and whatever else is published.
    assumptions : Assumptions
        Assumptions of the second tier.
    method : str
        Method of computation.
    resolution : Fraction
        Step in the units of the values, of which the published estimate is a multiple: exactly, since with a step that
        differs in its fourth digit the bound is false. `Estimate.published` rounds to it.
    """

    trusted: Guarantee
    local: Guarantee
    unamplified: Guarantee
    assumptions: Assumptions
    method: str
    resolution: Fraction

    @property
    def everyone(self) -> Guarantee:
        """Guarantee that holds for every user."""
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
        """Refuse to compose: the second tier of two releases about the same values is not known."""
        raise BudgetError(
            "Two amplified releases cannot be composed: each rests on being the only one. Add up the promised ε."
        )
