"""A plan in three lines: what you get, whether it is worth it, and what would change it."""

import math
from contextlib import suppress

from hybriddp.errors import ParameterError
from hybriddp.planning.cases import OURS
from hybriddp.planning.choices import bounds_choices
from hybriddp.planning.crossovers import Crossovers
from hybriddp.planning.plan import Plan, Span, given
from hybriddp.planning.risks import again, errors_again
from hybriddp.planning.solve import solve
from hybriddp.wording import percent, significant, to_precision_of

_HARDLY = 1.05  # an error that is larger by less than this is as good
_NARROWER = 1.1  # an interval that is narrower by less than this is not worth a word
_FREQUENT = 0.02  # bounds that cut off more than this of the values are not proposed


def headline(made: Plan, crossing: Crossovers) -> tuple[str, str, str]:
    """The three lines."""
    return what_you_get(made), worth_it(made), what_would_change_it(made, crossing)


def two_digits(span: Span) -> str:
    """An error, or from which one to which."""
    low, high = (to_precision_of(error, error) for error in (span.best, span.worst))
    return high if low == high else f"{low} to {high}"


def what_you_get(made: Plan) -> str:
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


def worth_it(made: Plan) -> str:
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


def what_would_change_it(made: Plan, crossing: Crossovers) -> str:
    """The same study with one thing changed: the typical error of each."""
    if made.mostly_noise:
        return f"What would change it: {' or '.join(_remedies(made, crossing))}."
    changes = ", ".join(text for text in (*_twice(made), _tighter(made)) if text)
    return f"What would change it: off by {changes}.{_known_spread(made)}{_too_tight(made)}"


def _known_spread(made: Plan) -> str:
    """What public knowledge of the spread would do for the interval, which allows for more where nobody has any."""
    if not made.sd or made.sd_at_most is not None:
        return ""
    limit = math.ceil(1.25 * made.sd / 10 ** (digits := math.floor(math.log10(made.sd)))) * 10**digits
    try:
        width = again(made, sd_at_most=limit)[OURS].half_width
    except ParameterError:  # more than values between the bounds can vary
        return ""
    if width.worst > made[OURS].half_width.worst / _NARROWER:
        return ""
    known = f"that values vary by no more than {given(limit)} (sd_at_most)"
    return f" The interval would be ± {two_digits(width)} if it is public knowledge {known}."


def _times(made: Plan) -> str:
    """How many times as many local users would be as good; the error of local reports hardly depends on the spread."""
    ours = made[OURS].rmse
    ratios = sorted((made.full_local.worst / error) ** 2 for error in (ours.best, ours.worst))
    return two_digits(Span(ratios[0], ratios[1]))


def _twice(made: Plan) -> list[str]:
    epsilon = f"{2 * float(made.privacy.epsilon):.3g}"
    options: dict[str, dict[str, object]] = {
        f"with ε = {epsilon}": {"epsilon": epsilon},
        f"with {2 * made.n_users:,} users": {"n_users": 2 * made.n_users},
        f"with {2 * made.n_trusted:,} opt-ins": {"trusted_fraction": 2 * made.trusted_fraction},
    }
    found = []
    for words, change in options.items():
        try:
            found.append(f"{two_digits(errors_again(made, **change)[OURS].rmse)} {words}")
        except ParameterError:  # ε above 20, or nobody left who does not trust
            continue
    return found


def _tighter(made: Plan) -> str | None:
    """The best of the tighter bounds, if they are better and cut off little."""
    rows = [row for row in bounds_choices(made) if row.cut_off is not None and row.cut_off <= _FREQUENT]
    best = min(rows, key=lambda row: row.total.worst, default=None)
    if best is None or best.bounds == made.bounds:
        return None
    if max(best.total.worst, math.hypot(best.noise.worst, best.tail_pull or 0.0)) > made.rmse / _HARDLY:
        return None  # a long tail would eat up what they save
    low, high = map(given, best.bounds)
    return f"{two_digits(best.total)} with bounds of {low} to {high} (beyond: {percent(best.cut_off or 0.0, 2)})"


def _too_tight(made: Plan) -> str:
    """A warning where a long tail would be cut off by more than the error shows."""
    pulls = [row.tail_pull for row in bounds_choices(made) if row.bounds == made.bounds and row.tail_pull is not None]
    if not pulls or pulls[0] < made.rmse / 2:
        return ""
    low, high = map(given, made.bounds)
    pull = significant(pulls[0], 2)
    return f" Beware: if values have a long tail, {low} to {high} cuts it off and pulls the mean by {pull}."


def _remedies(made: Plan, crossing: Crossovers) -> list[str]:
    """What it takes for the answer to be more than noise."""
    found = [] if crossing.least_users is None else [f"at least {crossing.least_users:,} users"]
    known = {name: value for name, value in made.question.items() if name != "epsilon"}
    with suppress(ParameterError):  # where no ε is enough
        found.append(f"ε = {solve(for_='epsilon', target_rmse=made.noise_limit, **known).value:g}")
    return found or ["far more users"]
