"""A plan in plain words: what each number means, and whether it is worth it."""

import math

from hybriddp.planning.cases import OURS
from hybriddp.planning.crossovers import Crossovers, crossovers
from hybriddp.planning.plan import Plan, Span, readable
from hybriddp.planning.risks import poisoning


def story(made: Plan) -> str:
    """The whole story, a sentence or two per line."""
    crossing = crossovers(made)
    return "\n".join(
        [
            situation(made),
            promise(made),
            accuracy(made),
            worth(made),
            *crossing_lines(made, crossing),
            forgery(made),
            *(
                []
                if made.sd is not None
                else ["If you know how much values vary, say so: the spans become one number."]
            ),
            f"Recommendation: {recommendation(made, crossing)}",
        ]
    )


def situation(made: Plan) -> str:
    """Who would be asked."""
    spread = "nobody knows how much they vary" if made.sd is None else f"which vary by {readable(made.sd)}"
    gap = "" if made.mean_gap == 0 else f", and trusted users' values are {readable(made.mean_gap)} higher on average"
    return (
        f"{made.n_users:,} users, {made.n_trusted:,} of whom ({percent(made.trusted_fraction)}) trust the curator; "
        f"values from {readable(made.bounds[0])} to {readable(made.bounds[1])}, {spread}{gap}."
    )


def promise(made: Plan) -> str:
    """What ε means: how sure somebody can become about one of two possible values."""
    epsilon = float(made.privacy.epsilon)
    sure = 100 / (1 + math.exp(-epsilon))
    delta = "" if made.privacy.exact_delta == 0 else f" (but for a chance of {made.privacy.delta})"
    shown = f"{sure:.0f} %" if sure < 99 else f"{sure:.1f} %" if sure < 99.9 else "more than 99.9 %"
    weak = " This one is hardly a protection." if epsilon > 5 else ""
    return (
        f"ε = {made.privacy.epsilon}: who knows that your value is one of two, and guesses after seeing the answer, is "
        f"right at most {shown} of the time instead of 50 %{delta}. A smaller ε is more private.{weak}"
    )


def accuracy(made: Plan) -> str:
    """How wrong the answer would be."""
    ours = made[OURS]
    share = Span(ours.rmse.best / made.width, ours.rmse.worst / made.width)
    return (
        f"The hybrid answer would typically be off by {ours.rmse} ({_percents(share)} of the range); "
        f"its 95 % interval is the answer ± {ours.half_width}."
    )


def worth(made: Plan) -> str:
    """What the opt-ins buy."""
    times = _times(made)
    alone = made["trusted-only"].rmse
    return (
        f"With {percent(made.trusted_fraction)} opted in you get the error of {times} times as many local users. If "
        f"nobody trusted, it would be off by {made.full_local}; if only those who trust were asked, by {alone}."
    )


def _times(made: Plan) -> str:
    """How many times as many local users would be as good; the error of local reports hardly depends on the spread."""
    ours = made[OURS].rmse
    ratios = sorted((made.full_local.worst / error) ** 2 for error in (ours.best, ours.worst))
    return str(Span(round(ratios[0], 1), round(ratios[1], 1)))


def crossing_lines(made: Plan, crossing: Crossovers) -> list[str]:
    """From which numbers on it would be another plan."""

    def users(count: int) -> str:
        return f"{count:,} ({percent(count / made.n_users)})"

    lines = []
    if crossing.halves_the_error is None:
        lines.append("No number of opt-ins halves the error of a study in which nobody trusts.")
    else:
        lines.append(
            f"To halve the error of a study in which nobody trusts, {users(crossing.halves_the_error)} must opt in."
        )
    if crossing.trusted_only_wins is not None:
        lines.append(
            f"From {users(crossing.trusted_only_wins)} opt-ins on, they alone are as good as everybody reporting "
            "locally."
        )
    if crossing.least_users is not None:
        lines.append(
            f"With fewer than {crossing.least_users:,} users, at this share of opt-ins, the answer would be mostly "
            f"noise: off by more than {readable(made.noise_limit)}."
        )
    return lines


def forgery(made: Plan) -> str:
    """What a hundred forged reports could do."""
    count = min(100, made.n_users - made.n_trusted)
    found = poisoning(made, count)
    return (
        f"{count} forged local reports could move the answer by at most {readable(found.local)}; "
        f"{min(count, made.n_trusted)} forged trusted values by {readable(found.trusted)}."
    )


def recommendation(made: Plan, crossing: Crossovers) -> str:
    """What to do."""
    ours, alone, local = made.rmse, made["trusted-only"].rmse.worst, made.full_local.worst
    if made.mostly_noise:
        need = "" if crossing.least_users is None else f" Ask at least {crossing.least_users:,} users, or"
        return f"not like this: the answer would be mostly noise.{need or ' Find more users, or'} allow a larger ε."
    if made.mean_gap and ours > min(alone, local):
        return (
            "publish the two groups' means side by side: they differ by so much that no single weight is good, and the "
            "divergence report of the estimate will say so."
        )
    if alone <= 1.05 * ours:
        return "the trusted users alone are enough: local reports would improve the answer by less than 5 %."
    if local <= 1.05 * ours:
        return "the opt-ins hardly help: local reports alone are within 5 %. Ask for more opt-ins, or do without them."
    return (
        f"worth it: the hybrid errs {min(alone, local) / ours:.2g} times less than the better of the two groups alone."
    )


def differing() -> str:
    """What to say beside a table of groups that differ."""
    return (
        "If those who opt in are different people, no estimate of one number survives every difference: one that is "
        "too small to be seen through the noise pulls the answer by its size times the extra weight. Ours reports the "
        "difference it sees with a z-score, and takes the extra weight back where it is clear."
    )


def percent(share: float) -> str:
    """A share in per cent, with three digits."""
    return f"{100 * share:.3g} %"


def _percents(share: Span) -> str:
    low, high = percent(share.best), percent(share.worst)
    return high if low == high else f"{low} to {high}"
