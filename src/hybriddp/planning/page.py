"""A plan as plain values and as HTML."""

from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from io import StringIO
from typing import Any

from hybriddp.planning import words
from hybriddp.planning.cases import OURS
from hybriddp.planning.crossovers import crossovers
from hybriddp.planning.plan import Option, Plan, Span, readable
from hybriddp.planning.risks import Difference, differences, poisoning

LABELS = {
    "trusted-only": "trusted only",
    "full-local": "everybody local",
    "local-only": "local only",
    "naive": "naive hybrid",
    "privacy": "privacy-weighted",
    "known-variance": "known variance",
    OURS: "adaptive (ours)",
}
HEADINGS = ("", "weight", "error", "95 % interval", "noise", "R", "r")

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
{story}
<h2>Every estimator</h2>
{options}
<p>The paper's estimators with Laplace noise, and ours with its own channel. Error: typical (root mean squared). Noise:
its share of the expected squared error. R and r: by how much the better and the worse of the two single worlds err
more, in squared error.</p>
{picture}
<h2>If the groups differ</h2>
{differences}
<p>{differing}</p>
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
    head = "".join(f"<th>{heading}</th>" for heading in HEADINGS)
    rows = "".join(
        f'<tr class="{"ours" if option.name == OURS else "papers"}">'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells(option))
        + "</tr>"
        for option in made.options
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def differences_table(rows: Sequence[Difference]) -> str:
    """What other gaps and spreads would do, as HTML."""
    head = "".join(
        f"<th>{name}</th>"
        for name in ("mean gap", "variance ratio", "trusted only", "everybody local", "known variance", "ours")
    )
    body = "".join(
        f"<tr><td>{readable(row.mean_gap)}</td><td>{row.variance_ratio:g}</td>"
        + "".join(
            f"<td>{readable(error)}</td>"
            for error in (row.trusted_only, row.full_local, row.known_variance, row.adaptive)
        )
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def page(made: Plan) -> str:
    """A page that stands alone: words, tables and, if matplotlib is there, the picture."""
    return _PAGE.format(
        story="\n".join(f"<p>{escape(line)}</p>" for line in made.explain().splitlines()),
        options=fragment(made),
        picture=_picture(made),
        differences=differences_table(differences(made)),
        differing=escape(words.differing()),
    )


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
        "estimators": [asdict(option) for option in made.options],
        "crossovers": asdict(crossovers(made)),
        "if_groups_differ": [asdict(row) for row in differences(made)],
        "forged": asdict(poisoning(made, min(100, made.n_users - made.n_trusted))),
        "words": made.explain().splitlines(),
    }
