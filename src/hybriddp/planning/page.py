"""A plan as tables, as a page and as plain values."""

from dataclasses import asdict
from io import StringIO
from typing import TYPE_CHECKING, Any

from hybriddp.planning import words
from hybriddp.planning.alternatives import BoundsChoice, Difference, EpsilonChoice
from hybriddp.planning.evaluate import OURS, Option, Span, readable
from hybriddp.planning.words import given
from hybriddp.reporting.html import Section, paragraphs, render_page, table, wide
from hybriddp.reporting.wording import percent, significant

if TYPE_CHECKING:
    from hybriddp.planning.plan import Plan

LABELS = {
    "trusted-only": "trusted only",
    "full-local": "everybody local",
    "local-only": "local only",
    "naive": "naive hybrid",
    "privacy": "privacy-weighted",
    "known-variance": "known variance",
    OURS: "both (adaptive)",
}
HEADINGS = ("", "weight", "error", "95 % interval", "noise", "R", "r")
SINGLE = ("trusted-only", "full-local", OURS)
"""What a plan compares: either group alone, and both."""
EPSILON_HEADINGS = ("ε", "guessed right at most", "error", "95 % interval")
BOUNDS_HEADINGS = ("bounds", "clipped", "bias", "bias if long-tailed", "noise", "error")
DIFFERENCE_HEADINGS = ("mean gap", "variances", "trusted only", "everybody local", "known variance", "adaptive")
_ERRORS = (
    "With one-byte reports. Error: typical (root mean squared). Noise: its fraction of the expected squared error. R "
    "and r: by how much the better and the worse of trusted only and everybody local err more, in squared error."
)
_PAPER = "R and r are over the paper's own trusted only and everybody local, which have Laplace noise too."


def cells(option: Option) -> tuple[str, ...]:
    """One estimator as the cells of a table."""
    noise = option.privacy.worst / max(option.rmse.worst**2, 1e-300)
    return (
        LABELS[option.name],
        f"{_short(Span(100 * option.weight.best, 100 * option.weight.worst))} %",
        str(option.rmse),
        f"± {option.half_width}",
        f"{100 * min(noise, 1.0):.0f} %",
        _short(option.gain_over_best),
        _short(option.gain_over_worst),
    )


def _short(span: Span) -> str:
    low, high = f"{span.best:.3g}", f"{span.worst:.3g}"
    return low if low == high else f"{low} to {high}"


def epsilon_cells(row: EpsilonChoice) -> tuple[str, ...]:
    """One ε as the cells of a table."""
    return row.epsilon, words.guess(row.guess), str(row.rmse), f"± {row.half_width}"


def bounds_cells(row: BoundsChoice) -> tuple[str, ...]:
    """One pair of bounds as the cells of a table."""
    low, high = map(given, row.bounds)
    clipped = "?" if row.clipped_fraction is None else percent(row.clipped_fraction, 2)
    biases = ("?" if one is None else significant(one, 2) for one in (row.clipping_bias, row.long_tail_bias))
    return f"{low} to {high}", clipped, *biases, str(row.noise), str(row.total)


def difference_cells(row: Difference) -> tuple[str, ...]:
    """One difference of the groups as the cells of a table."""
    errors = (row.trusted_only, row.full_local, row.known_variance, row.adaptive)
    return readable(row.mean_gap), f"× {row.variance_ratio:g}", *(readable(error) for error in errors)


def clipping_words(made: "Plan") -> str:
    """What to say beside the table of bounds."""
    if made.sd is None or made.mean is None:
        return "With a rough mean and sd, this table also says what bounds that are too tight clip."
    return (
        "Values beyond the bounds are clipped, which biases the mean; more users do not help. error: noise and bias, "
        "under the assumed shape, which ends at your bounds; long-tailed: lognormal, with the same mean and sd. Choose "
        "bounds from what is publicly known, not from data."
    )


def fragment(made: "Plan") -> str:
    """The table of estimators, for notebooks."""
    return table(HEADINGS, [cells(made[name]) for name in SINGLE], last_is_ours=True)


def page(made: "Plan") -> str:
    """A page that stands alone: words, tables and the picture."""
    epsilons = wide(table(EPSILON_HEADINGS, [epsilon_cells(row) for row in made.epsilon_choices]), "Choices of ε")
    bounds = wide(table(BOUNDS_HEADINGS, [bounds_cells(row) for row in made.bounds_choices]), "Choices of bounds")
    differing = wide(table(DIFFERENCE_HEADINGS, [difference_cells(row) for row in made.differences]), "Differences")
    papers = wide(table(HEADINGS, [cells(option) for option in made.papers]), "The paper's estimators")
    sections = [
        Section("", paragraphs(words.headline(made))),
        Section("Which ε", [epsilons]),
        Section("Which bounds", [bounds, *paragraphs([clipping_words(made)])]),
        Section(
            "Either group alone, and both", [wide(fragment(made), "Estimators"), *paragraphs([_ERRORS]), _picture(made)]
        ),
        Section("In detail", paragraphs(words.details(made))),
        Section("If the groups differ", [differing, *paragraphs([f"With one-byte reports. {words.DIFFERING}"])]),
        Section("The paper's estimators, with its Laplace noise", [papers, *paragraphs([_PAPER])]),
    ]
    footer = "Made with hybriddp, before any data was collected."
    return render_page("Plan of a hybrid study", sections, footer=footer, width=56)


def _picture(made: "Plan") -> str:
    target = StringIO()
    made.plot().savefig(target, format="svg")
    text = target.getvalue()
    return f'<div class="picture">{text[text.index("<svg") :]}</div>'


def plain(made: "Plan") -> dict[str, Any]:
    """Everything as plain values."""
    return {
        "n_users": made.n_users,
        "n_trusted": made.n_trusted,
        "trusted_fraction": made.trusted_fraction,
        "epsilon": made.privacy.epsilon,
        "delta": made.privacy.delta,
        "bounds": list(made.bounds),
        "sd": made.sd,
        "mean": made.mean,
        "mean_gap": made.mean_gap,
        "variance_ratio": made.variance_ratio,
        "sd_at_most": made.sd_at_most,
        "rmse": made.rmse,
        "mostly_noise": made.mostly_noise,
        "nobody_trusts_rmse": asdict(made.full_local),
        "answer": list(words.headline(made)),
        "assumed": words.assumption(made),
        "detectable_change": asdict(made[OURS].detectable),
        "estimators": [asdict(option) for option in made.options],
        "papers_with_laplace_noise": [asdict(option) for option in made.papers],
        "epsilon_choices": [asdict(row) for row in made.epsilon_choices],
        "bounds_choices": [asdict(row) for row in made.bounds_choices],
        "crossovers": asdict(made.crossovers),
        "if_groups_differ": [asdict(row) for row in made.differences],
        "forged": asdict(made.poisoning(min(100, made.n_users - made.n_trusted))),
        "words": [*words.headline(made), *words.details(made)],
    }
