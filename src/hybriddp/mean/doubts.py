"""What a reader must know before the number, told from released numbers alone: it costs nothing and hides nothing."""

from typing import TYPE_CHECKING

from hybriddp.mean.published import default_step, rounded

if TYPE_CHECKING:
    from hybriddp.mean.estimate import Estimate

FAR_APART = 6.0
"""Standard errors between the groups' means from which on untied reports are doubted."""
NEAR_A_BOUND = 0.02
"""Share of the range within which an answer counts as lying at a bound."""
UNTIED = (
    "Nothing ties the local reports to this study: they came as plain integers. Codes made for another study or "
    "another ε would give a wrong answer that looks right."
)


def warnings(estimate: "Estimate") -> tuple[str, ...]:
    """What makes an estimate doubtful, the worst first; empty if nothing does."""
    found = []
    gap = estimate.divergence
    if not estimate.tied and gap is not None and abs(gap.z) > FAR_APART:
        found.append(
            f"WARNING: do not use this number yet. The groups' means are more than {FAR_APART:g} standard errors "
            "apart, and nothing ties the reports to this study: they may have been made for another study or another ε."
        )
    elif gap is not None and abs(gap.z) > FAR_APART:
        found.append(
            f"WARNING: the groups' means are more than {FAR_APART:g} standard errors apart: check that both groups' "
            "values have the same units. If they do, those who trust are other people than those who do not."
        )
    side = _bound_near(estimate)
    if side is not None:
        found.append(
            f"WARNING: the answer lies at the {side} bound, within {100 * NEAR_A_BOUND:g} % of the range: check the "
            "units and the bounds. Values outside of the bounds count as the bound."
        )
    return tuple(found)


def _bound_near(estimate: "Estimate") -> str | None:
    """Which bound the published answer is at, if any."""
    value, (bottom, top) = float(rounded(estimate, default_step(estimate))), estimate.study.bounds
    near = NEAR_A_BOUND * estimate.study.width
    return "lower" if value <= bottom + near else "upper" if value >= top - near else None
