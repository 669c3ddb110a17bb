"""What is public before anything is asked."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray


@dataclass(frozen=True, slots=True)
class Problem:
    """The public numbers that the algorithm starts from.

    Attributes
    ----------
    n_clusters : int
        $K$.
    widths : ndarray, shape (d,)
        The widths of the box; the largest is 1.
    epsilon : str
        What every user is promised, as a decimal.
    changed_users : int
        2 if neighbors differ in one user's point (what she added leaves, something else comes), 1 if a user joins or
        leaves.
    n_trusted, n_local : int
        The sizes of the groups.
    epsilon_left : Fraction
        Which part of ε the trusted group has not spent yet.
    """

    n_clusters: int
    widths: FloatArray
    epsilon: str
    changed_users: int
    n_trusted: int
    n_local: int
    epsilon_left: Fraction = Fraction(1)

    @property
    def n_dimensions(self) -> int:
        """$d$."""
        return len(self.widths)

    @property
    def square(self) -> float:
        """The mean of the squared widths: variances are relative to it."""
        return float(np.mean(self.widths**2))

    @property
    def trusted_epsilon(self) -> float:
        """What the trusted group has left."""
        return float(self.epsilon) * float(self.epsilon_left)

    def rng(self) -> np.random.Generator:
        """Dice for post-processing: always the same ones, so that whoever has what was published gets what we got."""
        return np.random.default_rng([self.n_clusters, self.n_dimensions, self.n_trusted, self.n_local])


@dataclass(frozen=True, slots=True)
class Effort:
    """What a step may cost.

    Attributes
    ----------
    user_fraction : Fraction
        Of the local users.
    epsilon_fraction : Fraction
        Of the trusted group's ε.
    """

    user_fraction: Fraction
    epsilon_fraction: Fraction
