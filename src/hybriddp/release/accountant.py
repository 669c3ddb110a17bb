"""Three ways to say what all that happened to a user cost her: by sums, by concentration, by the whole distribution.

All three are true, whatever a ledger holds; each is at most as dear as the one before it. What happened to disjoint
parts of the users does not add up: a user's history is what happened to all, and to her part of every cut.
"""

from dataclasses import dataclass
from fractions import Fraction

from hybriddp.errors import ParameterError
from hybriddp.release.cost import History
from hybriddp.release.event import Part, Spent
from hybriddp.release.exposure import Exposure
from hybriddp.release.pld import dp_accounting, pld_price
from hybriddp.release.zcdp import basic_price, zcdp_price

ACCOUNTANTS = {
    "basic": "ε and δ add up, exactly",
    "zcdp": "ρ adds up (zero-concentrated privacy), Gaussian noise by the analytic formula; never dearer than the sum",
    "pld": "privacy-loss distributions, by dp-accounting, rounded up; never dearer than zcdp",
}


@dataclass(frozen=True, slots=True)
class Accountant:
    """Who prices the events of a ledger.

    Attributes
    ----------
    name : str
        ``"basic"``, ``"zcdp"`` or ``"pld"``.

    Examples
    --------
    >>> Accountant("zcdp").adds_up
    False
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name not in ACCOUNTANTS:
            raise ParameterError("accountant", f"one of {', '.join(ACCOUNTANTS)}", self.name)
        if self.name == "pld":
            dp_accounting()  # better now than when something is to be released

    @property
    def adds_up(self) -> bool:
        """Whether ε and δ are sums; if not, ε is what holds at the budget's δ."""
        return self.name == "basic"

    def spent(self, exposure: Exposure, delta: Fraction, part: Part | None = None) -> Spent:
        """The most that any of these users has spent; with ``part``, any of those in it.

        By sums, it is the sums. Else it is ε at ``delta``, the budget's δ; if no ε is enough at this δ, it is the sums,
        whose δ is larger.
        """
        if self.adds_up:
            return exposure.sums(part)
        histories = exposure.histories(part)
        prices = [self.price(history, delta) for history in histories]
        known = [price for price in prices if price is not None]
        if len(known) < len(prices):
            return exposure.sums(part)
        return Spent(max(known), delta if any(histories) else Fraction(0))

    def price(self, history: History, delta: Fraction) -> Fraction | None:
        """The least ε that this accountant knows to hold at ``delta`` for one user's history; None if none does."""
        if self.adds_up:
            return basic_price(history, delta)
        price = zcdp_price(history, delta)
        finer = pld_price(history, delta) if self.name == "pld" else None
        return min((p for p in (price, finer) if p is not None), default=None)

    def explain(self, delta: Fraction) -> str:
        """How it counts, in words."""
        words = f"Priced by the accountant {self.name!r}: {ACCOUNTANTS[self.name]}."
        if self.adds_up or delta > 0:
            return words
        return f"{words} The budget's δ is 0: only pure releases can be paid for, and their ε adds up."
