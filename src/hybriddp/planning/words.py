"""A plan in plain words: what you get, whether it is worth it and what would change it; then what each number means."""

import math
from typing import TYPE_CHECKING

from hybriddp.planning.alternatives import best_guess
from hybriddp.planning.evaluate import OURS, Span, readable
from hybriddp.privacy import Privacy
from hybriddp.reporting.wording import percent, significant, to_precision_of

if TYPE_CHECKING:
    from hybriddp.planning.plan import Plan

_HARDLY = 1.05  # an error that is larger by less than this is as good
_NARROWER = 1.1  # an interval that is narrower by less than this is not worth a word
_FREQUENT = 0.02  # bounds that clip more than this of the values are not proposed

DIFFERING = (
    "If those who opt in are different people, no estimate of one number survives every difference: one that is too "
    "small to be seen through the noise pulls the answer by its size times the extra weight. Ours reports the "
    "difference it sees with a z-score, and takes the extra weight back where it is clear."
)
"""What to say beside a table of groups that differ."""


def headline(made: "Plan") -> tuple[str, str, str]:
    """The answer in three lines."""
    return what_you_get(made), worth_it(made), what_would_change_it(made)


def given(number: float) -> str:
    """What somebody stated, with all its digits."""
    return significant(number, 12)


def two_digits(span: Span) -> str:
    """An error, or from which one to which."""
    low, high = (to_precision_of(error, error) for error in (span.best, span.worst))
    return high if low == high else f"{low} to {high}"


def what_you_get(made: "Plan") -> str:
    """The answer with its interval, its typical error, and the change that could be told."""
    ours = made[OURS]
    mean = "the mean" if made.mean is None else f"the mean (about {given(made.mean)})"
    whole, name = (made.width, "the range") if not made.mean else (abs(made.mean), "it")
    low, high = percent(ours.rmse.best / whole, 2), percent(ours.rmse.worst / whole, 2)
    return (
        f"What you get: {mean} ± {two_digits(ours.half_width)} (95 % interval), typically off by "
        f"{two_digits(ours.rmse)} ({high if low == high else f'{low} to {high}'} of {name}). Between two such studies, "
        f"a change of {two_digits(ours.detectable)} would be noticed (80 % power)."
    )


def worth_it(made: "Plan") -> str:
    """Whether to do it, and whether both groups are needed."""
    ours, alone, local = made.rmse, made["trusted-only"].rmse.worst, made.full_local.worst
    off, off_alone, off_local = (to_precision_of(error, error) for error in (ours, alone, local))
    if made.mostly_noise:
        return f"Worth it: no. Mostly noise: an error of more than {significant(made.noise_limit, 2)} tells little."
    if made.mean_gap and ours > min(alone, local):
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
        f"reported locally: as good as {_times(made)} times as many local users."
    )


def what_would_change_it(made: "Plan") -> str:
    """The same study with one thing changed: the typical error of each."""
    if made.mostly_noise:
        found = [] if made.crossovers.least_users is None else [f"at least {made.crossovers.least_users:,} users"]
        found += [] if made.least_epsilon is None else [f"ε = {float(made.least_epsilon):g}"]
        return f"What would change it: {' or '.join(found or ['far more users'])}."
    doubled = [f"{two_digits(rmse)} with {change}" for change, rmse in made.doublings.items()]
    changes = ", ".join([*doubled, *_tighter(made)])
    return f"What would change it: off by {changes}.{_known_spread(made)}{_too_tight(made)}"


def _known_spread(made: "Plan") -> str:
    """What public knowledge of the spread would do for the interval, which allows for more where nobody has any."""
    if made.public_limit is None:
        return ""
    limit, width = made.public_limit
    if width.worst > made[OURS].half_width.worst / _NARROWER:
        return ""
    known = f"that values vary by no more than {given(limit)} (sd_at_most)"
    return f" The interval would be ± {two_digits(width)} if it is public knowledge {known}."


def _times(made: "Plan") -> str:
    """How many times as many local users would be as good; the error of local reports hardly depends on the spread."""
    ours = made[OURS].rmse
    ratios = sorted((made.full_local.worst / error) ** 2 for error in (ours.best, ours.worst))
    return two_digits(Span(ratios[0], ratios[1]))


def _tighter(made: "Plan") -> list[str]:
    """The best of the tighter bounds, if they are better and clip little."""
    rows = [row for row in made.bounds_choices if row.clipped_fraction is not None]
    few = [row for row in rows if (row.clipped_fraction or 0.0) <= _FREQUENT]
    best = min(few, key=lambda row: row.total.worst, default=None)
    if best is None or best.bounds == made.bounds:
        return []
    if max(best.total.worst, math.hypot(best.noise.worst, best.long_tail_bias or 0.0)) > made.rmse / _HARDLY:
        return []  # a long tail would eat up what they save
    low, high = map(given, best.bounds)
    beyond = percent(best.clipped_fraction or 0.0, 2)
    return [f"{two_digits(best.total)} with bounds of {low} to {high} (beyond: {beyond})"]


def _too_tight(made: "Plan") -> str:
    """A warning where clipping a long tail would cost more than the error shows."""
    biases = [row.long_tail_bias or 0.0 for row in made.bounds_choices if row.bounds == made.bounds]
    if not biases or biases[0] < made.rmse / 2:
        return ""
    low, high = map(given, made.bounds)
    bias = significant(biases[0], 2)
    return f" Beware: if values have a long tail, {low} to {high} clips it and moves the mean by {bias}."


def details(made: "Plan") -> list[str]:
    """What was asked, what it means and from where on it would be another plan."""
    lines = [_situation(made), assumption(made), promise(made.privacy), *_crossings(made), _forgery(made)]
    if made.sd is None:
        lines.append("If you know how much values vary, say so: the spans become one number.")
    return lines


def _situation(made: "Plan") -> str:
    """Who would be asked."""
    gap = "" if made.mean_gap == 0 else f"; trusted users' values are {given(made.mean_gap)} higher on average"
    return (
        f"{made.n_users:,} users, {made.n_trusted:,} of whom ({percent(made.trusted_fraction)}) trust the curator; "
        f"values from {given(made.bounds[0])} to {given(made.bounds[1])}{gap}."
    )


def assumption(made: "Plan") -> str:
    """What is assumed about the values."""
    if made.sd is None:
        return "Nothing is assumed about the values: the spans go from all alike to half of them at each bound."
    where = "the middle of the bounds as its mean" if made.mean is None else f"mean {given(made.mean)}"
    hint = " A rough mean would make this better." if made.mean is None else ""
    return f"Assumed: a Beta shape on the bounds with {where} and sd {given(made.sd)}.{hint}"


def promise(privacy: Privacy) -> str:
    """What ε means: how sure somebody can become about one of two possible values."""
    epsilon = float(privacy.epsilon)
    delta = "" if privacy.exact_delta == 0 else f", but for a chance of {privacy.delta}"
    weak = " This one is hardly a protection." if epsilon > 5 else ""
    return (
        f"ε = {privacy.epsilon}: someone who has narrowed your value down to two candidates and sees the answer "
        f"guesses right at most {guess(best_guess(epsilon))} of the time (50 % without it){delta}. A smaller ε is more "
        f"private.{weak}"
    )


def guess(chance: float) -> str:
    """A chance in percent, never rounded to certainty."""
    sure = 100 * chance
    return f"{sure:.0f} %" if sure < 99 else f"{sure:.1f} %" if sure < 99.9 else "more than 99.9 %"


def _crossings(made: "Plan") -> list[str]:
    """From which numbers on it would be another plan."""
    crossing = made.crossovers

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
            f"With fewer than {crossing.least_users:,} users, at this fraction of opt-ins, the answer would be mostly "
            f"noise: off by more than {readable(made.noise_limit)}."
        )
    return lines


def _forgery(made: "Plan") -> str:
    """What a hundred forged reports could do."""
    count = min(100, made.n_users - made.n_trusted)
    found = made.poisoning(count)
    return (
        f"{count} forged local reports could move the answer by at most {readable(found.local)}; "
        f"{min(count, made.n_trusted)} forged trusted values by {readable(found.trusted)}."
    )
