"""The trusted group's list of frequent items, with noisy counts, as it was released: list *and* estimate.

`hybriddp.release.threshold` proves what noise and threshold keep.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybriddp import _check
from hybriddp.errors import NumericalError, ProtocolError
from hybriddp.privacy import Privacy
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.release import ReleaseCost, release_open
from hybriddp.release.statistic import OpenStatistic
from hybriddp.release.threshold import ThresholdRule
from hybriddp.shares.categories import is_shown


@dataclass(frozen=True, slots=True, eq=False)
class PrivateItems:
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

    def to_json(self) -> str:
        """The list as text: what the curator keeps until the local group has reported."""
        rule = self.rule
        content = {
            "type": "items",
            "version": 1,
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
        return json.dumps(content, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "PrivateItems":
        """The list that a text describes; refused unless it is in the form it is written in."""
        try:
            f = _check.json_fields(text)
            privacy = Privacy(epsilon=f["epsilon"], delta=f["delta"])
            rule = ThresholdRule(privacy, f["scale"], f["threshold"])
            rule.verify()
            whole = all(type(count) is int for count in (*f["counts"], f["n_users"])) and f["n_users"] > 0
            texts = all(map(is_shown, f["items"])) and isinstance(f["study"], str)
            flags = isinstance(f["counted"], bool) and isinstance(f["seeded"], bool)
            if not (whole and texts and flags and len(f["items"]) == len(f["counts"]) == len(set(f["items"]))):
                raise ValueError("not a list")
            found = cls(
                f["study"], tuple(f["items"]), tuple(f["counts"]), f["n_users"], rule, f["counted"], f["seeded"]
            )
        except (AttributeError, KeyError, NumericalError, TypeError, ValueError) as reason:
            raise ProtocolError("The text does not describe a list of items.") from reason
        if found.to_json() != text:
            raise ProtocolError("The text is not in the form that lists are written in. Write it anew with to_json.")
        return found

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
    random_state: int | np.random.Generator | None = None,
) -> PrivateItems:
    """Release the items that enough trusted users have, and all public candidates, with noisy counts."""
    statistic = OpenStatistic("list of frequent items", counts, n_users, tuple(candidates))
    found = release_open(statistic, rule, cost, ledger=ledger, random_state=random_state)
    return PrivateItems(cost.study, found.items, found.counts, n_users, rule, found.counted, found.seeded)
