r"""Releases of the trusted group: their sensitivity, who pays for them, and the ledger that is charged before noise.

Everything that leaves the trusted group leaves through `TrustedBudget.release`, in this order:

1. `BudgetError` is raised if the study would have spent more than its ε;
2. the exact statistic, its sensitivity and the scale of the noise are computed: what fails is not paid for;
3. the ledger is charged, or `BudgetError` is raised;
4. discrete Laplace noise of scale sensitivity/ε is added to each number.

Every trusted user pays for every release: ``epsilon_fraction`` × ε each.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from hybriddp.errors import BudgetError, ProtocolError
from hybriddp.kmeans.algorithm.problem import PublishedVector, Release
from hybriddp.kmeans.statistics import CHANGED_USERS, Statistic, TrustedPoints
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.privacy import Privacy
from hybriddp.release.charging import charge_study, is_again
from hybriddp.release.event import Event
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.mechanisms import laplace_scale, laplace_variance, release_vector

_PARTS = 10**18  # parts of ε are rounded down to so many, since a promise cannot have more digits


def sensitivity(statistic: Statistic) -> int:
    r"""$L_1$ sensitivity of a release: the line on which the privacy of trusted users rests.

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
        self, purpose: str, release: Release, points: TrustedPoints, spent: Fraction, rng: np.random.Generator | None
    ) -> PublishedVector:
        """Compute, then pay, then add noise; ``spent`` is what the study has cost each trusted user so far."""
        privacy = Privacy(epsilon=self.epsilon(release))
        if spent + privacy.exact_epsilon > self.study.privacy.exact_epsilon:
            raise BudgetError(
                f"{purpose} would cost the trusted users ε = {privacy.epsilon}, but of the ε = "
                f"{self.study.privacy.epsilon} that the study promised them it has spent {float(spent):g}."
            )
        exact, bound = points.exact(release.statistic), sensitivity(release.statistic)
        laplace_scale(bound, privacy)  # fails now or never
        if self.ledger is not None:
            event = self._event(purpose, privacy)
            self.ledger.spend(event, promised=None if is_again(self.ledger, event) else self.study.privacy)
        private = release_vector(exact, sensitivity=bound, privacy=privacy, random_state=rng)
        return PublishedVector(private.values, private.variance)

    def epsilon(self, release: Release) -> str:
        """What a release costs each trusted user, as a decimal that is not too long to be an ε: rounded down."""
        exact = release.epsilon_fraction * self.study.privacy.exact_epsilon
        return decimal(Fraction(exact * _PARTS // 1, _PARTS))

    def noise_variance(self, release: Release) -> float:
        """The variance of the noise on each number of a release."""
        privacy = Privacy(epsilon=self.epsilon(release))
        return laplace_variance(laplace_scale(sensitivity(release.statistic), privacy))

    def require_enough(self) -> None:
        """Raise `BudgetError` if the study could not go on to its end: better now than half-way."""
        if self.ledger is None:
            return
        self.ledger.refresh()  # another process may have spent in the meantime
        before = self.ledger.sums("trusted", study=self.study.digest).epsilon
        whole = self.study.privacy
        if before and not is_again(self.ledger, self._event("all releases", whole)):
            raise BudgetError(
                f"The study {self.study.name!r} has spent ε = {float(before):g} of its trusted users already. "
                "Take it up from its state with from_json, or begin another study under another name."
            )
        # Under every accountant, one release at ε costs at least as much as its parts.
        try:
            self.ledger.require(self._event("all releases", whole))
        except BudgetError:
            left = self.ledger.remaining("trusted").epsilon
            raise BudgetError(
                f"The study {self.study.name!r} needs ε = {float(whole.exact_epsilon):g} of the trusted users, but "
                f"they have only ε = {float(left):g} left. Nothing has been spent."
            ) from None

    def charge_local(self) -> None:
        """Charge the whole study to local users, before the first question; those who were charged before are not.

        Trusted users are charged release by release. `BudgetError` if local users have too little left.
        """
        if self.ledger is not None:
            whole = self.study.privacy
            charge_study(self.ledger, [], [self._event("the whole study", whole, "local")], promised=whole)

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

    def _event(self, purpose: str, cost: Privacy, who: str = "trusted") -> Event:
        study = self.study
        return Event.now(f"K-means: {purpose}", who=who, study=study.digest, privacy=cost, name=study.name)


def decimal(exact: Fraction) -> str:
    """A fraction whose denominator has no other factors than 2 and 5, as a decimal: 7/40 is 0.175."""
    digits = 0
    while exact.denominator != 1 and digits < 60:
        exact, digits = exact * 10, digits + 1
    if exact.denominator != 1:
        raise ValueError("not a finite decimal")
    return format(Decimal(exact.numerator).scaleb(-digits), "f")
