"""One study of every kind, and shares with every kind of channel, with values for it."""

import json
from typing import Any, cast

import numpy as np

from hybriddp.distribution import DistributionStudy
from hybriddp.mean import MeanStudy
from hybriddp.shares import FrequencyStudy
from hybriddp.study.study import Study

AnyStudy = Study[Any, Any, Any]

STUDIES: dict[str, AnyStudy] = {
    "mean": MeanStudy("minutes", bounds=(0, 240), epsilon=1),
    "response": FrequencyStudy("opened", categories=["yes", "no", "later"], other=False, epsilon=1),
    "other": FrequencyStudy("browser", categories=["Chrome", "Firefox"], epsilon=1, other=True),
    "choice": FrequencyStudy("floor", categories=range(12), other=False, epsilon="0.5"),
    "unary": FrequencyStudy("room", categories=range(22), other=False, epsilon=1),
    "hashing": FrequencyStudy("street", categories=range(100), other=False, epsilon=1),
    "distribution": DistributionStudy("load", bounds=(0, 240), epsilon=1, scale="log"),
}
ONE_OF_EACH = ("mean", "response", "distribution")
"""One of each kind."""


def values_for(study: AnyStudy, n: int, *, seed: int = 0) -> list[Any]:
    """Draw values that a study can ask for."""
    rng = np.random.default_rng(seed)
    if isinstance(study, FrequencyStudy):
        found: list[Any] = rng.choice(np.array(study.categories), n).tolist()
        return found
    numbers: list[Any] = np.minimum(rng.gamma(2.0, 20.0, n), 240).tolist()
    return numbers


def extreme_values(study: AnyStudy) -> list[Any]:
    """Return values that are as far apart as they can be."""
    if isinstance(study, FrequencyStudy):
        return [study.categories[0], study.categories[-1], *(["none of them"] if study.other else [])]
    return [0.0, 240.0]


def changed(study: AnyStudy, **changes: object) -> str:
    """Change fields in the text of a study."""
    return json.dumps({**json.loads(study.to_json()), **changes}, separators=(",", ":"), ensure_ascii=False)


def renamed(study: AnyStudy) -> AnyStudy:
    """Return the same study by another name."""
    return type(study).from_json(changed(study, name="another"))


def at_epsilon(study: AnyStudy, epsilon: float) -> AnyStudy:
    """Return the same question at another ε, with the channel that is best for it."""
    asked: dict[str, Any] = {"name": study.name, "epsilon": epsilon}
    if isinstance(study, FrequencyStudy):
        return FrequencyStudy(**asked, categories=study.categories, other=study.other)
    kind: Any = type(study)
    return cast("AnyStudy", kind(**asked, bounds=json.loads(study.to_json())["bounds"]))
