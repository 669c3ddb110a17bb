"""A study of every kind whose results are `hybriddp.study.result.Result`, and estimates of it for tests."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybriddp.distribution import DistributionStudy
from hybriddp.items import HeavyHitterStudy
from hybriddp.mean import MeanStudy
from hybriddp.shares import FrequencyStudy
from hybriddp.study.result import Result

RNG = np.random.default_rng(0)
FRUIT = ["fig", "pear", "plum"]


@dataclass(frozen=True)
class Kind:
    """How a kind is asked and answered."""

    study: Callable[[str], Any]
    values: np.ndarray
    far: Any  # a value that most users do not have

    def estimate(
        self,
        title: str = "minutes",
        *,
        n_trusted: int = 1000,
        n_local: int = 20_000,
        tied: bool = True,
        apart: bool = False,
        key: str | None = None,
        **options: Any,
    ) -> Result:
        """Estimate; trusted users have another value than the others if the groups are ``apart``."""
        study = self.study(title)
        if key is not None:
            study = study.part("country", key)
        asked = getattr(study, "dictionary", study)  # of items: what devices are asked
        trusted = np.full(n_trusted, self.far) if apart else self.values[:n_trusted]
        reports = asked.randomize(self.values[-n_local:].tolist(), random_state=1) if n_local else None
        if reports is not None and "ledger" in options:
            reports = asked.randomize(self.values[-n_local:].tolist())
        given = {"random_state": 2} if "ledger" not in options else {}
        result: Result = study.estimate(
            trusted=trusted.tolist() if n_trusted else None,
            local=reports if tied or reports is None else reports.codes,
            single_group=not (n_trusted and n_local),
            **given | options,
        )
        return result


NUMBERS = RNG.gamma(4.0, 20.0, 21_000)
KINDS = {
    "mean": Kind(lambda name: MeanStudy(name, bounds=(0, 240), epsilon=1), NUMBERS, 200.0),
    "shares": Kind(lambda name: FrequencyStudy(name, categories=FRUIT, epsilon=1), RNG.choice(FRUIT, 21_000), "plum"),
    "items": Kind(lambda name: HeavyHitterStudy(name, domain=FRUIT, epsilon=1), RNG.choice(FRUIT, 21_000), "plum"),
    "quantiles": Kind(lambda name: DistributionStudy(name, bounds=(0, 240), epsilon=1), NUMBERS, 200.0),
}
