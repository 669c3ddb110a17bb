r"""Budget of a study's trusted group: the sensitivity of its releases, their parts of ε, and the ledger.

Everything about the trusted group leaves through the door (`hybriddp.release.release`), in steps: the exact statistic
is computed first, so what fails costs nothing; then the study's promise is checked, the ledger is charged, and discrete
Laplace noise of scale sensitivity/ε is added to each number.

Every trusted user is charged for every release: ``epsilon_fraction`` × ε each. Local users are charged the whole study
before their first question.

Which algorithm is used, and whether the trusted group takes part in it, is decided by public numbers only: in more than
three dimensions a group that is too small, beside the local users, to help is not used, and pays nothing.
"""

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

from hybriddp.errors import BudgetError, DataError, ParameterError, ProtocolError
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.high_dim import LEAST_EPSILON_FRACTION, high_dim_algorithm, trusted_takes_part
from hybriddp.kmeans.algorithm.low_dim import low_dim_algorithm
from hybriddp.kmeans.algorithm.problem import Algorithm, Problem, PublishedVector, Release
from hybriddp.kmeans.points import TrustedPoints
from hybriddp.kmeans.statistics import CHANGED_USERS, PointStatistic
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.privacy import SMALLEST_EPSILON, Privacy
from hybriddp.release.charging import is_again
from hybriddp.release.event import Event
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.mechanisms import laplace_scale, laplace_variance
from hybriddp.release.release import ReleaseCost, charge_reports, release
from hybriddp.release.statistic import Statistic

_PARTS = 10**18  # parts of ε are rounded down to so many, since a promise cannot have more digits


def sensitivity(statistic: PointStatistic) -> int:
    r"""Compute the $L_1$ sensitivity of a release: the line on which the privacy of trusted users rests.

    A user contributes at most ``max_contribution`` to a statistic, all absolute values added up; `hybriddp.kmeans.
    statistics` enforces that in integers, user by user. Neighbors differ in a replaced point: what the user
    contributed leaves and something else comes.
    """
    return CHANGED_USERS * statistic.max_contribution


@dataclass(frozen=True, slots=True)
class TrustedBudget:
    """What a study may spend of its trusted users' privacy, and the ledger where that is recorded (None: nowhere)."""

    study: KMeansStudy
    ledger: Ledger | None

    def release(
        self, purpose: str, wanted: Release, points: TrustedPoints, spent: Fraction, rng: np.random.Generator | None
    ) -> PublishedVector:
        """Release a statistic of the points; ``spent`` is what the study has cost each trusted user so far."""
        exact, bound = points.exact(wanted.statistic), sensitivity(wanted.statistic)
        cost = replace(self._cost(Privacy(epsilon=self.epsilon(wanted))), spent=spent)
        statistic = Statistic(_label(purpose), exact, bound, points.count)
        released = release(statistic, cost, ledger=self.ledger, random_state=rng)
        return PublishedVector(released.values, released.variance)

    def epsilon(self, wanted: Release) -> str:
        """Compute the ε of a release, as a decimal that is not too long to be an ε: rounded down."""
        exact = wanted.epsilon_fraction * self.study.privacy.exact_epsilon
        return decimal(Fraction(exact * _PARTS // 1, _PARTS))

    def noise_variance(self, wanted: Release) -> float:
        """Compute the variance of the noise on each number of a release."""
        privacy = Privacy(epsilon=self.epsilon(wanted))
        return laplace_variance(laplace_scale(sensitivity(wanted.statistic), privacy))

    def require_enough(self) -> None:
        """Raise `BudgetError` if the study could not go on to its end: better now than half-way."""
        if self.ledger is None:
            return
        self.ledger.refresh()  # another process may have spent in the meantime
        before = self.ledger.sums("trusted", study=self.study.digest).epsilon
        whole = self.study.privacy
        if before and not is_again(self.ledger, self._event()):
            raise BudgetError(
                f"The study {self.study.name!r} has spent ε = {float(before):g} of its trusted users already. "
                "Take it up from its state with from_json, or begin another study under another name."
            )
        # Under every accountant, one release at ε costs at least as much as its parts.
        try:
            self.ledger.require(self._event())
        except BudgetError:
            left = self.ledger.remaining("trusted").epsilon
            raise BudgetError(
                f"The study {self.study.name!r} needs ε = {float(whole.exact_epsilon):g} of the trusted users, but "
                f"they have only ε = {float(left):g} left. Nothing has been spent."
            ) from None

    def charge_local(self) -> None:
        """Charge the whole study to local users, before the first question; nobody is charged twice.

        Trusted users are charged release by release. `BudgetError` if local users have too little left.
        """
        charge_reports(self._cost(self.study.privacy), _label("the whole study"), ledger=self.ledger)

    def require_same_ledger(self, nonce: str | None, epsilon: Fraction) -> None:
        """Raise `ProtocolError` unless the ledger is the one of a state: else what it spent could be spent again.

        It has the ``nonce``, if that is known, and holds the ``epsilon`` that the releases cost each trusted user.
        """
        if self.ledger is None:
            raise ProtocolError(
                f"What the study {self.study.name!r} has spent of its trusted users is in a ledger, and none is given: "
                "without it a state that is taken up twice would spend twice. Give the same ledger to from_json."
            )
        self.ledger.refresh()
        recorded = self.ledger.sums("trusted", study=self.study.digest).epsilon
        if nonce not in (None, self.ledger.nonce) or recorded < epsilon:
            raise ProtocolError(
                f"The ledger is not the one that the study {self.study.name!r} began with, or lacks some of what the "
                "study has spent of its trusted users. Give the ledger that the study began with."
            )

    def _cost(self, privacy: Privacy) -> ReleaseCost:
        study = self.study
        return ReleaseCost(study.digest, study.name, privacy, study.privacy, in_steps=True)

    def _event(self) -> Event:
        """Make the event of all releases together."""
        return self._cost(self.study.privacy).event(_label("all releases"), "trusted")


def _label(purpose: str) -> str:
    return f"K-means: {purpose}"


def decimal(exact: Fraction) -> str:
    """Write a fraction whose denominator has no other factors than 2 and 5 as a decimal: 7/40 is 0.175."""
    digits = 0
    while exact.denominator != 1 and digits < 60:
        exact, digits = exact * 10, digits + 1
    if exact.denominator != 1:
        raise ValueError("not a finite decimal")
    return format(Decimal(exact.numerator).scaleb(-digits), "f")


def trusted_pays(study: KMeansStudy, n_trusted: int, n_local: int) -> bool:
    """Whether a trusted group of this size pays for anything."""
    return n_trusted > 0 and _is_used(_problem(study, n_trusted, n_local))


def require_users(study: KMeansStudy, n_trusted: int, n_local: int) -> None:
    """Raise an error if there are too few users, or a trusted group alone whose ε is too small to be divided."""
    if n_trusted and not n_local and not trusted_pays(study, n_trusted, n_local):
        least = float(Fraction(SMALLEST_EPSILON) / LEAST_EPSILON_FRACTION)
        expected = f"at least {least:g} without local users in more than {tuning.MAX_LOW_DIM} dimensions, where it is "
        expected += "divided into releases"
        raise ParameterError("epsilon", expected, study.privacy.epsilon, remedy="Nothing has been spent.")
    if n_trusted + n_local < study.n_clusters:
        raise DataError(
            f"There must be at least as many users as clusters, but there are {n_trusted + n_local:,} users for "
            f"{study.n_clusters:,} clusters. Nothing has been spent."
        )


def choose_algorithm(study: KMeansStudy, *, n_trusted: int, n_local: int) -> Algorithm:
    """Choose the algorithm for a study."""
    require_users(study, n_trusted, n_local)
    problem = _problem(study, n_trusted if trusted_pays(study, n_trusted, n_local) else 0, n_local)
    algorithm = low_dim_algorithm if problem.n_dimensions <= tuning.MAX_LOW_DIM else high_dim_algorithm
    return algorithm(problem)


def _is_used(problem: Problem) -> bool:
    """Whether the trusted group helps, and each release would cost at least the least ε that a promise can be about."""
    if problem.n_dimensions <= tuning.MAX_LOW_DIM:
        return True
    cheapest = Fraction(problem.epsilon) * LEAST_EPSILON_FRACTION
    return cheapest >= Fraction(SMALLEST_EPSILON) and (not problem.n_local or trusted_takes_part(problem))


def _problem(study: KMeansStudy, n_trusted: int, n_local: int) -> Problem:
    return Problem(
        n_clusters=study.n_clusters,
        widths=study.box.widths,
        epsilon=study.privacy.epsilon,
        n_trusted=n_trusted,
        n_local=n_local,
    )
