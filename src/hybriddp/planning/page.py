"""A plan as plain values and as HTML."""

from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from io import StringIO
from typing import Any

from hybriddp.planning import words
from hybriddp.planning.cases import OURS
from hybriddp.planning.choices import BoundsChoice, EpsilonChoice, bounds_choices, epsilon_choices
from hybriddp.planning.crossovers import crossovers
from hybriddp.planning.headline import headline
from hybriddp.planning.plan import Option, Plan, Span, given, readable
from hybriddp.planning.risks import Difference, differences, poisoning
from hybriddp.wording import percent, significant

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

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Plan of a hybrid study</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #22303c; max-width: 56rem; margin: 3rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.5rem; }} h2 {{ font-size: 1.15rem; margin-top: 2.5rem; }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: right; padding: .35rem .6rem; border-bottom: 1px solid #e4e8ec; }}
th:first-child, td:first-child {{ text-align: left; }}
tr.ours {{ font-weight: 600; color: #1d8a6b; }}
svg {{ width: 100%; height: auto; }}
footer {{ color: #66727e; font-size: .85rem; margin-top: 3rem; }}
</style>
</head>
<body>
<h1>Plan of a hybrid study</h1>
{headline}
<h2>Which ε</h2>
{epsilons}
<h2>Which bounds</h2>
{bounds}
<p>{cut}</p>
<h2>Either group alone, and both</h2>
{options}
<p>With one-byte reports. Error: typical (root mean squared). Noise: its share of the expected squared error. R and r:
by how much the better and the worse of trusted only and everybody local err more, in squared error.</p>
{picture}
<h2>In detail</h2>
{details}
<h2>If the groups differ</h2>
{differences}
<p>With one-byte reports. {differing}</p>
<h2>The paper's estimators, with its Laplace noise</h2>
{papers}
<p>R and r are over the paper's own trusted only and everybody local, which have Laplace noise too.</p>
<footer>Made with hybriddp, before any data was collected.</footer>
</body>
</html>
"""


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


def fragment(made: Plan) -> str:
    """The table of estimators, for notebooks."""
    return _table(HEADINGS, [cells(made[name]) for name in SINGLE], ours=True)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, ours: bool = False) -> str:
    """A table; its last row is ours, if it is said so."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        f'<tr class="{"ours" if ours and i == len(rows) - 1 else "other"}">'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row)
        + "</tr>"
        for i, row in enumerate(rows)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


EPSILON_HEADINGS = ("ε", "guessed right at most", "error", "95 % interval")
BOUNDS_HEADINGS = ("bounds", "cut off", "pull", "pull if long-tailed", "noise", "error")


def epsilon_cells(row: EpsilonChoice) -> tuple[str, ...]:
    """One ε as the cells of a table."""
    return row.epsilon, words.guess(row.guess), str(row.rmse), f"± {row.half_width}"


def bounds_cells(row: BoundsChoice) -> tuple[str, ...]:
    """One pair of bounds as the cells of a table."""
    low, high = map(given, row.bounds)
    cut = "?" if row.cut_off is None else percent(row.cut_off, 2)
    pull, tail = ("?" if one is None else significant(one, 2) for one in (row.pull, row.tail_pull))
    return f"{low} to {high}", cut, pull, tail, str(row.noise), str(row.total)


def cut_words(made: Plan) -> str:
    """What to say beside the table of bounds."""
    if made.sd is None or made.mean is None:
        return "With a rough mean and sd, this table also says what bounds that are too tight cut off."
    return (
        "Values beyond the bounds are clamped, which pulls the mean; more users do not help. error: noise and pull, "
        "under the assumed shape, which ends at your bounds; long-tailed: lognormal, with the same mean and sd. Choose "
        "bounds from what is publicly known, not from data."
    )


DIFFERENCE_HEADINGS = ("mean gap", "variances", "trusted only", "everybody local", "known variance", "adaptive")


def difference_cells(row: Difference) -> tuple[str, ...]:
    """One difference of the groups as the cells of a table."""
    errors = (row.trusted_only, row.full_local, row.known_variance, row.adaptive)
    return readable(row.mean_gap), f"× {row.variance_ratio:g}", *(readable(error) for error in errors)


def page(made: Plan) -> str:
    """A page that stands alone: words, tables and, if matplotlib is there, the picture."""
    crossing = crossovers(made)
    return _PAGE.format(
        headline=_paragraphs(headline(made, crossing)),
        details=_paragraphs(words.details(made, crossing)),
        epsilons=_table(EPSILON_HEADINGS, [epsilon_cells(row) for row in epsilon_choices(made)]),
        bounds=_table(BOUNDS_HEADINGS, [bounds_cells(row) for row in bounds_choices(made)]),
        cut=escape(cut_words(made)),
        options=fragment(made),
        papers=_table(HEADINGS, [cells(option) for option in made.papers]),
        picture=_picture(made),
        differences=_table(DIFFERENCE_HEADINGS, [difference_cells(row) for row in differences(made)]),
        differing=escape(words.differing()),
    )


def _paragraphs(lines: Sequence[str]) -> str:
    return "\n".join(f"<p>{escape(line)}</p>" for line in lines)


def _picture(made: Plan) -> str:
    target = StringIO()
    made.plot().savefig(target, format="svg")
    text = target.getvalue()
    return text[text.index("<svg") :]


def plain(made: Plan) -> dict[str, Any]:
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
        "rmse": made.rmse,
        "mostly_noise": made.mostly_noise,
        "nobody_trusts_rmse": asdict(made.full_local),
        "answer": list(headline(made, crossovers(made))),
        "assumed": made.shape,
        "detectable_change": asdict(made[OURS].detectable),
        "estimators": [asdict(option) for option in made.options],
        "papers_with_laplace_noise": [asdict(option) for option in made.papers],
        "epsilon_choices": [asdict(row) for row in epsilon_choices(made)],
        "bounds_choices": [asdict(row) for row in bounds_choices(made)],
        "crossovers": asdict(crossovers(made)),
        "if_groups_differ": [asdict(row) for row in differences(made)],
        "forged": asdict(poisoning(made, min(100, made.n_users - made.n_trusted))),
        "words": made.explain().splitlines(),
    }
