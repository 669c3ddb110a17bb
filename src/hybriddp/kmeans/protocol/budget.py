"""What a study costs its trusted users, and where it is written down."""

from dataclasses import dataclass
from fractions import Fraction

from hybriddp.errors import BudgetError, ProtocolError
from hybriddp.kmeans.algorithm.problem import Release
from hybriddp.kmeans.protocol.transcript import decimal
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.odds import LONGEST
from hybriddp.privacy import Privacy
from hybriddp.release.event import Event, Part
from hybriddp.release.ledger import Ledger

_PARTS = 10**18  # parts of ε are rounded down to so many, since a promise cannot have more digits


@dataclass(frozen=True, slots=True)
class Account:
    """A study's place in a ledger.

    Attributes
    ----------
    study : KMeansStudy
        The study.
    ledger : Ledger or None
        The ledger; None if nothing is written down.
    """

    study: KMeansStudy
    ledger: Ledger | None

    def require_all(self) -> None:
        """Raise `BudgetError` if the study could not go on to its end: better now than half-way."""
        if self.ledger is None:
            return
        before = self.ledger.sums("trusted", study=self.study.digest).epsilon
        if before:
            raise BudgetError(
                f"The study {self.study.name!r} has spent ε = {float(before):g} of its trusted users already. "
                "Take it up from its state with from_json, or begin another study under another name."
            )
        # One release of all of ε costs at least as much as its parts do, whoever prices them.
        whole = self._price(self.study.privacy)
        try:
            self.ledger.require(self._event("all releases", whole))
        except BudgetError:
            left = self.ledger.remaining("trusted").epsilon
            raise BudgetError(
                f"The study {self.study.name!r} needs ε = {float(whole.exact_epsilon):g} of the trusted users, but "
                f"they have only ε = {float(left):g} left. Nothing has been spent."
            ) from None

    def require_same(self, identity: str | None) -> None:
        """Raise `ProtocolError` unless the ledger is the one that a state was counted in, as far as it is known which.

        What has been written down does not show it as long as that is nothing.
        """
        if self.ledger is None:
            raise ProtocolError(
                f"What the study {self.study.name!r} has spent of its trusted users is in a ledger, and none is given: "
                "without it a state that is taken up twice would spend twice. Give the same ledger to from_json."
            )
        self.ledger.refresh()
        if identity is not None and self.ledger.nonce != identity:
            raise ProtocolError(
                f"The ledger is another one than before. Give the ledger that the study {self.study.name!r} began with."
            )

    def require_history(self, epsilon: Fraction, rounds: int) -> None:
        """Raise `ProtocolError` unless a ledger has what a state says was written down: else it would be spent again.

        Parameters
        ----------
        epsilon : Fraction
            What all releases of the state cost a trusted user.
        rounds : int
            In how many rounds trusted users answered like local ones.
        """
        if self.ledger is not None and not self._holds(self.ledger, epsilon, rounds):
            raise ProtocolError(
                f"The ledger does not hold what the study {self.study.name!r} has spent of its trusted users so far: "
                "it is another one than before. Give the ledger that the study began with."
            )

    def _holds(self, ledger: Ledger, epsilon: Fraction, rounds: int) -> bool:
        def spent(part: Part | None) -> Fraction:
            return ledger.sums("trusted", part=part, study=self.study.digest).epsilon

        whole = self._price(self.study.privacy).exact_epsilon
        parts = (self.part(number) for number in range(1, rounds + 1))
        return spent(None) >= self.study.ledger_factor * epsilon and all(spent(part) >= whole for part in parts)

    def part(self, number: int) -> Part:
        """The trusted users who answer like local ones in a round.

        Who is in which round differs from study to study, so each is a cut of its own: what two of them cost adds up.
        """
        return Part(f"round of study {self.study.digest[:16]}", number)

    def cost(self, release: Release) -> str:
        """What a release costs, as a decimal that is not too long to be an ε: rounded down."""
        exact = release.epsilon_fraction * self.study.privacy.exact_epsilon
        return decimal(Fraction(exact * _PARTS // 1, _PARTS))

    def pay(self, what: str, privacy: Privacy, part: Part | None = None) -> None:
        """Write a cost down, or raise `BudgetError`."""
        if self.ledger is None:
            return
        self.ledger.spend(self._event(what, self._price(privacy), part), promised=self._price(self.study.privacy))

    def _event(self, what: str, price: Privacy, part: Part | None = None) -> Event:
        return Event.now(f"K-means: {what}", who="trusted", study=self.study.digest, privacy=price, part=part)

    def _price(self, privacy: Privacy) -> Privacy:
        """What a ledger is told that a release costs; rounded up where twice an ε has a digit too many."""
        exact = self.study.ledger_factor * privacy.exact_epsilon
        text = decimal(exact)
        if len(text) > LONGEST:
            text = decimal(Fraction(-(-exact * _PARTS // 1), _PARTS))
        return Privacy.total(epsilon=text)
