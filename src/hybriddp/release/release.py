r"""The door: every number about trusted users leaves through this file. An auditor starts here.

**What is released.** A `Statistic`: exact integers, how far one user can move them, and a label. Every kind of study
makes its own, next to its mathematics:

===========  ==========================================  ===========  ================================================
kind         numbers                                     sensitivity  made in
===========  ==========================================  ===========  ================================================
mean         sum of the users' units                     $2^{24}$     `hybriddp.mean`
shares       count of each category                      2 (1 of 2)   `hybriddp.shares`
quantiles    counts of 16 coarse and of 256 fine bins    4            `hybriddp.distribution`
K-means      counts, sums or second moments              2 × longest  `hybriddp.kmeans.statistics`
items        counts of all items that somebody has       2            `hybriddp.items`
===========  ==========================================  ===========  ================================================

**Sensitivity.** Neighbors differ in one user's value, which is replaced. The sensitivity is the largest change of the
numbers, all changes added up, whatever the data are. It follows from public numbers alone.

**Mechanism.** Integer noise, drawn by OpenDP (`hybriddp.release.mechanisms`): discrete Laplace of the least scale
that OpenDP's own map certifies for sensitivity and ε, or discrete Gaussian for one number where δ > 0. Items get
Laplace noise and a threshold that hides an item that one person has (`hybriddp.release.threshold`).

**Cost.** A `ReleaseCost` says what each user is charged, what their study promised them in total, and what it has cost
them before. A release that would exceed the promise is refused, with or without a ledger.

**Who is charged.** `hybriddp.release.charging` decides: everybody once per study, or only trusted users where nobody
changes groups. All releases of a call are charged in one transaction of the ledger, all or none.

**The order** is always the same: check, charge, draw. Whoever calls has checked and decoded everything else before.
Here mechanism and promise are checked, then the ledger is charged, then noise is drawn. What fails before the charge
costs nothing; what fails after it counts as spent.

**Simulations.** With a ``random_state`` numpy draws noise of the same law. That is no release: it is never charged, and
what comes out says that it is ``seeded``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray
from hybriddp.errors import BudgetError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release.charging import Charged, charge_study
from hybriddp.release.event import Event, Part
from hybriddp.release.ledger.ledger import Ledger, require_ledger
from hybriddp.release.mechanism_record import MechanismRecord
from hybriddp.release.mechanisms import Mechanism, mechanism_for
from hybriddp.release.statistic import OpenStatistic, Statistic
from hybriddp.release.threshold import ThresholdRule

Seed = int | np.random.Generator | None
REPORTS = "reports of the local group"
"""What a ledger is charged for an estimate from local reports alone."""
_FINE = 1 << 20
"""Scale from which on the noise of one number is recorded: that it is discrete then costs next to nothing more."""


@dataclass(frozen=True, slots=True)
class ReleaseCost:
    """What a release, or an estimate from reports alone, costs each user, and in which study.

    Attributes
    ----------
    study : str
        Digest of the study of everybody: users pay once for it, in whichever part they are.
    name : str or None
        Name of the study, for people.
    privacy : Privacy
        What it costs each of these users.
    promised : Privacy
        What the study promises them in total.
    part : Part or None
        Which of the users it is about, if not all.
    spent : Fraction
        ε that earlier releases of the study have cost each of them.
    in_steps : bool
        Whether it is one of several releases of a study, whose local users were charged before the first.
    """

    study: str
    name: str | None
    privacy: Privacy
    promised: Privacy
    part: Part | None = None
    spent: Fraction = Fraction(0)
    in_steps: bool = False

    def check(self, label: str) -> None:
        """Raise `BudgetError` if the study would cost its trusted users more than it promised them."""
        if self.spent + self.privacy.exact_epsilon > self.promised.exact_epsilon:
            raise BudgetError(
                f"{label} would cost the trusted users ε = {self.privacy.epsilon}, but of the ε = "
                f"{self.promised.epsilon} that the study promised them it has spent {float(self.spent):g}."
            )

    def event(self, label: str, who: str, mechanism: MechanismRecord | None = None) -> Event:
        """Make the event that a ledger is charged."""
        about = {"study": self.study, "name": self.name, "part": self.part}
        return Event.now(label, who=who, privacy=self.privacy, mechanism=mechanism, **about)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedNumbers:
    """Integers with noise: safe to publish unless they are ``seeded``.

    Attributes
    ----------
    values : ndarray of int
        The numbers with noise. They may lie outside of what exact ones could be.
    count : int
        Number of trusted users, which is public.
    mechanism, privacy : Mechanism, Privacy
        The noise on each number, and what all of them cost each of these users.
    counted : bool
        Whether a ledger has it.
    seeded : bool
        Whether the noise can be repeated: then this is a simulation, and hides nothing.
    """

    values: NDArray[np.int64]
    count: int
    mechanism: Mechanism
    privacy: Privacy
    counted: bool
    seeded: bool

    @property
    def variance(self) -> float:
        """Variance of the noise on each number."""
        return self.mechanism.variance


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedItems:
    """Items of an open domain with noisy counts, the most frequent first: safe to publish unless ``seeded``."""

    items: tuple[str, ...]
    counts: tuple[int, ...]
    counted: bool
    seeded: bool


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Releases that were charged together, in their order, and what was charged for reports beside them."""

    released: tuple[ReleasedNumbers, ...]
    charged: Charged


def release(
    statistic: Statistic, cost: ReleaseCost, *, ledger: Ledger | None = None, random_state: Seed = None
) -> ReleasedNumbers:
    """Release one statistic: check, charge, draw.

    Parameters
    ----------
    statistic : Statistic
        Exact integers about the trusted group.
    cost : ReleaseCost
        What it costs whom.
    ledger : Ledger, optional
        Charged before the noise is drawn; `BudgetError` if there is not enough left.
    random_state : int or numpy.random.Generator, optional
        For simulation only. A simulation is no release and is not charged.
    """
    return release_all([(statistic, cost)], ledger=ledger, random_state=random_state).released[0]


def release_all(
    requests: Sequence[tuple[Statistic, ReleaseCost]],
    reports: Sequence[ReleaseCost] = (),
    *,
    ledger: Ledger | None = None,
    random_state: Seed = None,
) -> Batch:
    """Release several statistics, such as those of all parts of a study, in one transaction: all or none.

    ``reports`` are the costs of estimates from local reports alone. Nothing is drawn for them.
    """
    require_ledger(ledger)
    mechanisms = [mechanism_for(cost.privacy, s.sensitivity, size=len(s.values)) for s, cost in requests]
    for statistic, cost in requests:
        cost.check(statistic.label)
    events = [
        (cost.event(statistic.label, "trusted", _record(statistic, noise)), cost)
        for (statistic, cost), noise in zip(requests, mechanisms, strict=True)
    ]
    seeded = random_state is not None
    charged = _charge(ledger, events, reports, seeded=seeded)
    counted = _is_counted(ledger, seeded=seeded)
    return Batch(
        tuple(
            ReleasedNumbers(
                _add_noise(statistic, noise, random_state), statistic.count, noise, cost.privacy, counted, seeded
            )
            for (statistic, cost), noise in zip(requests, mechanisms, strict=True)
        ),
        charged,
    )


def release_open(
    statistic: OpenStatistic,
    rule: ThresholdRule,
    cost: ReleaseCost,
    *,
    ledger: Ledger | None = None,
    random_state: Seed = None,
) -> ReleasedItems:
    """Release the items that enough trusted users have, and all candidates: check, charge, draw.

    ``rule`` is the noise and the threshold; its proof is in `hybriddp.release.threshold`.
    """
    require_ledger(ledger)
    rule.verify()
    if rule.privacy != cost.privacy:
        raise ParameterError("rule", f"one for {cost.privacy}", rule)
    cost.check(statistic.label)
    seeded = random_state is not None
    _charge(ledger, [(cost.event(statistic.label, "trusted", MechanismRecord("thresholded")), cost)], seeded=seeded)
    items, counts = _shown_items(statistic, rule, random_state)
    return ReleasedItems(items, counts, _is_counted(ledger, seeded=seeded), seeded)


def charge_reports(cost: ReleaseCost, label: str = REPORTS, *, ledger: Ledger | None) -> Charged:
    """Charge local users for a whole study, before their first report or an estimate from reports alone.

    Those who were charged before are not charged again.
    """
    if ledger is None:
        return Charged.NOT
    return charge_study(ledger, [], [cost.event(label, "local")], promised=cost.promised)


def simulate_printed_noise(exact: FloatArray, scale: float, generator: np.random.Generator) -> FloatArray:
    """Add continuous Laplace noise as a paper prints it: in a simulation, never for a release."""
    if not isinstance(generator, np.random.Generator):
        raise ParameterError("generator", "a numpy.random.Generator: this is a simulation", generator)
    noisy: FloatArray = exact + generator.laplace(0.0, scale, exact.shape)
    return noisy


def _charge(
    ledger: Ledger | None,
    events: Sequence[tuple[Event, ReleaseCost]],
    reports: Sequence[ReleaseCost] = (),
    *,
    seeded: bool,
) -> Charged:
    """Charge all of them in one transaction, or none and raise `BudgetError`; simulations are not charged."""
    if ledger is None or seeded or not (events or reports):
        return Charged.NOT
    costs = [cost for _, cost in events] + list(reports)
    return charge_study(
        ledger,
        [event for event, _ in events],
        [cost.event(REPORTS, "local") for cost in reports],
        promised=costs[0].promised,
        in_steps=costs[0].in_steps,
    )


def _is_counted(ledger: Ledger | None, *, seeded: bool) -> bool:
    """Whether a ledger has what was released: the one place that says so."""
    return ledger is not None and not seeded


def _record(statistic: Statistic, noise: Mechanism) -> MechanismRecord | None:
    """Record the noise of one number, if it is known to compose to less than the sum of what releases cost."""
    if len(statistic.values) > 1 or noise.scale < _FINE:
        return None
    return MechanismRecord.noise(noise.kind, sensitivity=statistic.sensitivity, scale=noise.scale)


def _add_noise(statistic: Statistic, noise: Mechanism, random_state: Seed) -> NDArray[np.int64]:
    return statistic.values + noise.draw(statistic.values.shape, random_state)


def _shown_items(
    statistic: OpenStatistic, rule: ThresholdRule, random_state: Seed
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Select items whose noisy count reaches the threshold, and candidates, with these counts."""
    # Sorted, so that seeded noise does not depend on the order of the data either.
    public = set(statistic.candidates)
    seen = sorted(public | statistic.counts.keys())
    noise = rule.mechanism.draw((len(seen),), random_state).tolist()
    noisy = {item: statistic.counts.get(item, 0) + drawn for item, drawn in zip(seen, noise, strict=True)}
    kept = [item for item in seen if item in public or noisy[item] >= rule.threshold]
    kept.sort(key=lambda item: (-noisy[item], item))
    return tuple(kept), tuple(noisy[item] for item in kept)
