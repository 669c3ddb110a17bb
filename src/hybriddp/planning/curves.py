"""Every estimator's error against one thing that can be chosen: the fraction of opt-ins, or ε.

The places where errors are computed do not depend on the plan's own fraction or ε, as long as that is among the usual
ones. So a curve stays where it is while somebody moves along it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hybriddp import _check
from hybriddp.planning.estimators import OURS, PAPERS
from hybriddp.planning.mean import MeanPlan

OPT_INS, EPSILON = "opt-ins", "epsilon"
EPSILONS = ("0.1", "0.15", "0.2", "0.3", "0.5", "0.7", "1", "1.5", "2", "3", "4", "5", "7", "10")
_POINTS = 25
_LEAST, _MOST = 1e-4, 0.5  # of the users opt in


@dataclass(frozen=True, slots=True, repr=False)
class ErrorCurves:
    """Typical error of each estimator with one-byte reports, in the worst case."""

    against: str
    x: tuple[float, ...]  # fractions of opt-ins, or values of ε
    here: float  # those of the plan
    worst: Mapping[str, tuple[float, ...]]
    best: tuple[float, ...]  # of ours, if all values are alike; the same where the spread is known

    def __repr__(self) -> str:
        return f"<ErrorCurves: {len(self.worst)} estimators at {len(self.x)} places, against {self.against}>"


def error_curves(plan: MeanPlan, against: str = OPT_INS) -> ErrorCurves:
    """Return the curves around a plan.

    Examples
    --------
    >>> from hybriddp import MeanStudy, plan
    >>> study = MeanStudy("minutes", bounds=(0, 240), epsilon=1)
    >>> curves = error_curves(plan(study, n_users=100_000, trusted_fraction=0.05, sd=30))
    >>> curves.here, max(curves.worst["trusted-only"]) > 100 * min(curves.worst["adaptive"])
    (0.05, True)
    """
    _check.choice("against", against, (OPT_INS, EPSILON))
    if against == OPT_INS:
        here = plan.trusted_fraction
        others = [plan.changed(trusted_fraction=fraction) for fraction in _fractions(plan)]
        x = tuple(other.trusted_fraction for other in others)
    else:
        here = float(plan.privacy.epsilon)
        texts = sorted({*EPSILONS, plan.privacy.epsilon}, key=float)
        others, x = [plan.changed(epsilon=text) for text in texts], tuple(map(float, texts))
    worst = {name: tuple(other.errors[name].worst for other in others) for name in (*PAPERS, OURS)}
    return ErrorCurves(against, x, here, worst, tuple(other.errors[OURS].best for other in others))


def _fractions(plan: MeanPlan) -> list[float]:
    """Return fractions in whole users, equally far on a logarithmic axis, the plan's own among them."""
    n, here = plan.n_users, plan.n_trusted
    least, most = max(2, round(min(_LEAST * n, here))), min(n - 2, round(max(_MOST * n, here)))
    numbers = {*np.geomspace(least, most, _POINTS).round().astype(int).tolist(), here}
    return [number / n for number in sorted(numbers)]
