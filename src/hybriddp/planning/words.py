"""A plan in plain words: what you get, whether it is worth it and what would change it; then what each number means."""

import math
from typing import TYPE_CHECKING

from hybriddp.planning.alternatives import best_guess, least_epsilon
from hybriddp.planning.base import readable
from hybriddp.planning.estimators import OURS, Span
from hybriddp.privacy import Privacy
from hybriddp.reporting.wording import percent, significant, to_precision_of

if TYPE_CHECKING:
    from hybriddp.planning.mean import MeanPlan

_HARDLY = 1.05  # an error that is larger by less than this is as good
_NARROWER = 1.1  # an interval that is narrower by less than this is not worth a word
_FREQUENT = 0.02  # bounds that clip more than this of the values are not proposed

DIFFERING = (
    "If those who opt in are different people, no estimate of one number survives every difference: one that is too "
    "small to be seen through the noise pulls the answer by its size times the extra weight. Ours reports the "
    "difference it sees with a z-score, and takes the extra weight back where it is clear."
)
"""What to say beside a table of groups that differ."""


def headline(plan: "MeanPlan") -> tuple[str, str, str]:
    """Return the answer in three lines."""
    return what_you_get(plan), worth_it(plan), what_would_change_it(plan)


def given(number: float) -> str:
    """Write a number that was given, with all its digits."""
    return significant(number, 12)


def two_digits(span: Span) -> str:
    """Write an error, or from which one to which."""
    low, high = (to_precision_of(error, error) for error in (span.best, span.worst))
    return high if low == high else f"{low} to {high}"


def what_you_get(plan: "MeanPlan") -> str:
    """Write the answer with its interval, its typical error, and the change that could be noticed."""
    ours = plan[OURS]
    mean = "the mean" if plan.mean is None else f"the mean (about {given(plan.mean)})"
    whole, name = (plan.width, "the range") if not plan.mean else (abs(plan.mean), "it")
    low, high = percent(ours.rmse.best / whole, 2), percent(ours.rmse.worst / whole, 2)
    return (
        f"What you get: {mean} ± {two_digits(ours.half_width)} (95 % interval), typically off by "
        f"{two_digits(ours.rmse)} ({high if low == high else f'{low} to {high}'} of {name}). Between two such studies, "
        f"a change of {two_digits(ours.detectable)} would be noticed (80 % power)."
    )


def worth_it(plan: "MeanPlan") -> str:
    """Write whether to run the study, and whether both groups are needed."""
    ours, alone, local = plan.rmse, plan["trusted-only"].rmse.worst, plan.full_local.worst
    off, off_alone, off_local = (to_precision_of(error, error) for error in (ours, alone, local))
    if plan.mostly_noise:
        return f"Worth it: no. Mostly noise: an error of more than {significant(plan.noise_limit, 2)} tells little."
    if plan.mean_gap and ours > min(alone, local):
        return (
            "Worth it: not as one number. The groups differ so much that no single weight is good; publish the two "
            "groups' means side by side. The estimate's divergence report will say so."
        )
    if alone <= _HARDLY * ours:
        return (
            f"Worth it: the trusting users alone are enough. They would be off by {off_alone}; local reports would "
            f"improve that by less than 5 %. If everybody reported locally it would be {off_local}."
        )
    if local <= ours:
        return (
            f"Worth it: not the opt-ins. If everybody reported locally, the answer would be off by {off_local}, no "
            f"more than the {off} of both groups. Ask for more opt-ins, or do without them."
        )
    if local <= _HARDLY * ours:
        return (
            f"Worth it: the opt-ins hardly help. If everybody reported locally, the answer would be off by "
            f"{off_local}, less than 5 % more. Ask for more opt-ins, or do without them."
        )
    return (
        f"Worth it: yes. Off by {off}, against {off_alone} from the trusting users alone and {off_local} if everybody "
        f"reported locally: as good as {_times(plan)} times as many local users."
    )


def what_would_change_it(plan: "MeanPlan") -> str:
    """Write the typical errors of the same study with one thing changed."""
    if plan.mostly_noise:
        users, epsilon = plan.crossovers.least_users, least_epsilon(plan)
        changes = [] if users is None else [f"at least {users:,} users"]
        changes += [] if epsilon is None else [f"ε = {float(epsilon):g}"]
        return f"What would change it: {' or '.join(changes or ['far more users'])}."
    doubled = [f"{two_digits(rmse)} with {change}" for change, rmse in plan.doublings.items()]
    errors = ", ".join([*doubled, *_tighter(plan)])
    return f"What would change it: off by {errors}.{_known_spread(plan)}{_too_tight(plan)}"


def _known_spread(plan: "MeanPlan") -> str:
    """Write how public knowledge of the spread would narrow the interval, which allows for more without any."""
    if plan.public_limit is None:
        return ""
    limit, width = plan.public_limit
    if width.worst > plan[OURS].half_width.worst / _NARROWER:
        return ""
    known = f"that values vary by no more than {given(limit)} (sd_at_most)"
    return f" The interval would be ± {two_digits(width)} if it is public knowledge {known}."


def _times(plan: "MeanPlan") -> str:
    """Write how many times as many local users would be as good; their error hardly depends on the spread."""
    ours = plan[OURS].rmse
    ratios = sorted((plan.full_local.worst / error) ** 2 for error in (ours.best, ours.worst))
    return two_digits(Span(ratios[0], ratios[1]))


def _tighter(plan: "MeanPlan") -> list[str]:
    """Write the best of the tighter bounds, if they are better and clip little."""
    rows = [row for row in plan.bounds_choices if row.clipped_fraction is not None]
    few = [row for row in rows if (row.clipped_fraction or 0.0) <= _FREQUENT]
    best = min(few, key=lambda row: row.total.worst, default=None)
    if best is None or best.bounds == plan.bounds:
        return []
    if max(best.total.worst, math.hypot(best.noise.worst, best.long_tail_bias or 0.0)) > plan.rmse / _HARDLY:
        return []  # a long tail would eat up what they save
    low, high = map(given, best.bounds)
    beyond = percent(best.clipped_fraction or 0.0, 2)
    return [f"{two_digits(best.total)} with bounds of {low} to {high} (beyond: {beyond})"]


def _too_tight(plan: "MeanPlan") -> str:
    """Warn where clipping a long tail would cost more than the error shows."""
    biases = [row.long_tail_bias or 0.0 for row in plan.bounds_choices if row.bounds == plan.bounds]
    if not biases or biases[0] < plan.rmse / 2:
        return ""
    low, high = map(given, plan.bounds)
    bias = significant(biases[0], 2)
    return f" Beware: if values have a long tail, {low} to {high} clips it and moves the mean by {bias}."


def details(plan: "MeanPlan") -> list[str]:
    """Return the situation, what it means and from where on it would be another plan, a line each."""
    lines = [_situation(plan), assumption(plan), promise(plan.privacy), *_crossings(plan), _forgery(plan)]
    if plan.sd is None:
        lines.append("If you know how much values vary, say so: the spans become one number.")
    return lines


def _situation(plan: "MeanPlan") -> str:
    """Write who would take part."""
    gap = "" if plan.mean_gap == 0 else f"; trusted users' values are {given(plan.mean_gap)} higher on average"
    return (
        f"{plan.n_users:,} users, {plan.n_trusted:,} of whom ({percent(plan.trusted_fraction)}) trust the curator; "
        f"values from {given(plan.bounds[0])} to {given(plan.bounds[1])}{gap}."
    )


def assumption(plan: "MeanPlan") -> str:
    """Write what is assumed about the values."""
    if plan.sd is None:
        return "Nothing is assumed about the values: the spans go from all alike to half of them at each bound."
    where = "the middle of the bounds as its mean" if plan.mean is None else f"mean {given(plan.mean)}"
    hint = " A rough mean would make this better." if plan.mean is None else ""
    return f"Assumed: a Beta shape on the bounds with {where} and sd {given(plan.sd)}.{hint}"


def promise(privacy: Privacy) -> str:
    """Write what ε means: how sure somebody can become about one of two possible values."""
    epsilon = float(privacy.epsilon)
    delta = "" if privacy.exact_delta == 0 else f", but for a chance of {privacy.delta}"
    weak = " This one is hardly a protection." if epsilon > 5 else ""
    return (
        f"ε = {privacy.epsilon}: someone who has narrowed your value down to two candidates and sees the answer "
        f"guesses right at most {guess(best_guess(epsilon))} of the time (50 % without it){delta}. A smaller ε is more "
        f"private.{weak}"
    )


def guess(chance: float) -> str:
    """Write a chance in percent, never rounded to certainty."""
    sure = 100 * chance
    return f"{sure:.0f} %" if sure < 99 else f"{sure:.1f} %" if sure < 99.9 else "more than 99.9 %"


def _crossings(plan: "MeanPlan") -> list[str]:
    """Write from which numbers on it would be another plan."""
    crossing = plan.crossovers

    def users(count: int) -> str:
        return f"{count:,} ({percent(count / plan.n_users)})"

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
            f"With fewer than {crossing.least_users:,} users, at this fraction of opt-ins, the answer would be mostly "
            f"noise: off by more than {readable(plan.noise_limit)}."
        )
    return lines


def _forgery(plan: "MeanPlan") -> str:
    """Write what a hundred forged reports could do."""
    count = min(100, plan.n_local)
    moved = plan.poisoning(count)
    return (
        f"{count} forged local reports could move the answer by at most {readable(moved.local)}; "
        f"{min(count, plan.n_trusted)} forged trusted values by {readable(moved.trusted)}."
    )
