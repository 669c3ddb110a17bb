"""A plan in plain words: the answer in three lines, then what each number means."""

from hybriddp.planning.choices import best_guess
from hybriddp.planning.crossovers import Crossovers, crossovers
from hybriddp.planning.headline import headline
from hybriddp.planning.plan import Plan, given, readable
from hybriddp.planning.risks import poisoning
from hybriddp.wording import percent


def story(made: Plan) -> str:
    """The answer, then the whole story, a sentence or two per line."""
    crossing = crossovers(made)
    return "\n".join([*headline(made, crossing), *details(made, crossing)])


def details(made: Plan, crossing: Crossovers) -> list[str]:
    """What was asked, what it means and from where on it would be another plan."""
    lines = [situation(made), made.shape, promise(made), *crossing_lines(made, crossing), forgery(made)]
    if made.sd is None:
        lines.append("If you know how much values vary, say so: the spans become one number.")
    return lines


def situation(made: Plan) -> str:
    """Who would be asked."""
    gap = "" if made.mean_gap == 0 else f"; trusted users' values are {given(made.mean_gap)} higher on average"
    return (
        f"{made.n_users:,} users, {made.n_trusted:,} of whom ({percent(made.trusted_fraction)}) trust the curator; "
        f"values from {given(made.bounds[0])} to {given(made.bounds[1])}{gap}."
    )


def promise(made: Plan) -> str:
    """What ε means: how sure somebody can become about one of two possible values."""
    epsilon = float(made.privacy.epsilon)
    delta = "" if made.privacy.exact_delta == 0 else f", but for a chance of {made.privacy.delta}"
    weak = " This one is hardly a protection." if epsilon > 5 else ""
    return (
        f"ε = {made.privacy.epsilon}: someone who has narrowed your value down to two candidates and sees the answer "
        f"guesses right at most {guess(best_guess(epsilon))} of the time (50 % without it){delta}. A smaller ε is more "
        f"private.{weak}"
    )


def guess(chance: float) -> str:
    """A chance in percent, never rounded to certainty."""
    sure = 100 * chance
    return f"{sure:.0f} %" if sure < 99 else f"{sure:.1f} %" if sure < 99.9 else "more than 99.9 %"


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


def differing() -> str:
    """What to say beside a table of groups that differ."""
    return (
        "If those who opt in are different people, no estimate of one number survives every difference: one that is "
        "too small to be seen through the noise pulls the answer by its size times the extra weight. Ours reports the "
        "difference it sees with a z-score, and takes the extra weight back where it is clear."
    )
