"""The trusted group's list of frequent items, with noisy counts, as it was released: list *and* estimate.

`hybriddp.release.threshold` proves what noise and threshold keep.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybriddp.errors import NumericalError, ProtocolError
from hybriddp.privacy import Privacy
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.release import ReleaseCost, Seed, release_open
from hybriddp.release.statistic import OpenStatistic
from hybriddp.release.threshold import ThresholdRule
from hybriddp.shares.categories import is_shown
from hybriddp.study.document import Document


@dataclass(frozen=True, slots=True, eq=False)
class PrivateItems(Document):
    """Items with noisy counts: safe to publish unless they are ``seeded``.

    Attributes
    ----------
    study : str
        The digest of the study.
    items : tuple of str
        Those whose noisy count reached the threshold, and all public candidates; the most frequent first.
    counts : tuple of int
        How many trusted users have each, with noise. Those of candidates may be negative.
    n_users : int
        Number of trusted users, which is public.
    rule : ThresholdRule
        The noise and the threshold.
    counted : bool
        Whether a ledger has it.
    seeded : bool
        Whether the noise can be repeated: then this is a simulation, and hides nothing.
    """

    _what: ClassVar[str] = "list of items"
    _kind: ClassVar[str] = "items"
    _version: ClassVar[int] = 1

    study: str
    items: tuple[str, ...]
    counts: tuple[int, ...]
    n_users: int
    rule: ThresholdRule
    counted: bool
    seeded: bool

    def __len__(self) -> int:
        return len(self.items)

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Which of the items would be shown without being candidates, as a mask."""
        return np.array(self.counts, np.int64) >= self.rule.threshold

    def _content(self) -> dict[str, Any]:
        rule = self.rule
        return {
            "study": self.study,
            "epsilon": rule.privacy.epsilon,
            "delta": rule.privacy.delta,
            "max_records": 1,  # of a user, as in every list
            "scale": rule.scale,
            "threshold": rule.threshold,
            "n_users": self.n_users,
            "items": list(self.items),
            "counts": list(self.counts),
            "counted": self.counted,
            "seeded": self.seeded,
        }

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> "PrivateItems":
        privacy = Privacy(epsilon=fields["epsilon"], delta=fields["delta"])
        rule = ThresholdRule(privacy, fields["scale"], fields["threshold"])
        study, items, counts, n_users = (fields[name] for name in ("study", "items", "counts", "n_users"))
        try:
            rule.verify()
        except NumericalError as reason:
            raise ProtocolError(f"The {cls._what} is refused: {reason}") from None
        whole = all(type(count) is int for count in (*counts, n_users)) and n_users > 0
        cls.require(whole, "its counts are not integers, or nobody is in it")
        different = len(items) == len(counts) == len(set(items)) and all(map(is_shown, items))
        cls.require(different, "its items are not different readable texts, each with a count")
        flags = isinstance(fields["counted"], bool) and isinstance(fields["seeded"], bool)
        cls.require(flags and isinstance(study, str), "it does not name a study, or a flag is neither true nor false")
        return cls(study, tuple(items), tuple(counts), n_users, rule, fields["counted"], fields["seeded"])

    def __repr__(self) -> str:
        seeded = ", with a seed: not private" if self.seeded else ""
        return f"PrivateItems({len(self):,} of study {self.study[:12]}…{seeded})"


def release_items(
    counts: Mapping[str, int],
    n_users: int,
    rule: ThresholdRule,
    cost: ReleaseCost,
    *,
    candidates: Sequence[str] = (),
    ledger: Ledger | None = None,
    random_state: Seed = None,
) -> PrivateItems:
    """Release the items that enough trusted users have, and all public candidates, with noisy counts."""
    statistic = OpenStatistic("list of frequent items", counts, n_users, tuple(candidates))
    found = release_open(statistic, rule, cost, ledger=ledger, random_state=random_state)
    return PrivateItems(cost.study, found.items, found.counts, n_users, rule, found.counted, found.seeded)
