"""The planner's page: a form whose address holds its state, the answer in three lines, curves and a table.

Without JavaScript the form is sent and the server answers with a page. With it, sliders stand beside the fields, and
the same numbers come from ``/plan.json``.
"""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from hybriddp.planning import MeanPlan
from hybriddp.planning.curves import EPSILON, OPT_INS, ErrorCurves
from hybriddp.planning.estimators import OURS
from hybriddp.planning.mean_tables import LABELS as ESTIMATORS
from hybriddp.reporting.html import Section, alerts, table, wide
from hybriddp.service.pages.curves import LINES, axis_range, curves_figure, place_range, swatch
from hybriddp.service.pages.look import kept, not_ready, script_tag, server_page, style_tag
from hybriddp.service.planner import Planned, PlanRequest

__all__ = ["plan_json", "plan_page"]

SCRIPT = "plan.js"
_HINTS = {
    "users": ("Users who take part", "All of them together."),
    "opt_ins": ("Opt-ins, in %", "The share of users who trust you with the value itself."),
    "epsilon": ("Privacy, ε", "What everybody is promised: smaller is more private. 1 is usual."),
    "lower": ("Lower bound", "No value counts as less. From public knowledge, not from data."),
    "upper": ("Upper bound", "No value counts as more."),
    "sd": ("Spread of the values", "Their standard deviation, roughly; empty if nobody knows."),
    "mean": ("Mean of the values", "Roughly; empty if nobody knows."),
}
_HEADINGS = ("Estimator", "Typical error", "95 % interval", "Weight on opt-ins")
_STYLE = """\
.split { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0 3rem; }
.split h2:first-child { margin-top: .5rem; }
@media (min-width: 60rem) { .split { grid-template-columns: 17rem minmax(0, 1fr); } }
.fields { display: grid; grid-template-columns: repeat(auto-fill, minmax(16rem, 1fr)); gap: .8rem 2rem; }
.field label { font-weight: 600; display: block; }
.field input { width: 100%; }
.field input[type=range] { padding: 0; accent-color: var(--both); }
.field .hint { font-size: .85rem; display: block; }
fieldset { border: 0; padding: 0; margin: 1.2rem 0 .6rem; } fieldset label { margin-right: 1.2rem; }
legend { font-weight: 600; padding: 0; }
figure { margin: 1.5rem 0; max-width: 46rem; }
figcaption { color: var(--muted); font-size: .9rem; }
.swatch { width: 28px; height: 10px; margin-right: .5rem; }
.u-axis { color: var(--ink); }
#readout { min-height: 3.2rem; font-size: .9rem; margin: 0; }
.busy { opacity: .6; }
"""


def plan_page(planned: Planned) -> str:
    """Return the page of a plan, or of the problems with the request."""
    request, made = planned.request, planned.plan
    lead = (
        "<p>How accurate would the mean of a number be, before anybody is asked? Some users trust you with their "
        "value. All others send a report that their own device has randomized. Everybody gets the same promise.</p>"
    )
    answer = f'<h2>The answer</h2><div id="answer" aria-live="polite">{"".join(_answer(planned))}</div>'
    curves = ""
    if made is not None and planned.curves is not None:
        labels = plan_labels(planned.curves)
        figure = curves_figure(planned.curves, made.rmse, x_label=labels["x"], y_label=labels["y"])
        curves = (
            f'<h2>Every estimator</h2><figure id="curves">{figure}<figcaption>{escape(labels["caption"])}</figcaption>'
            f'</figure><p id="readout" class="hint"></p><div id="estimators">{wide(_table(made), "Estimators")}</div>'
        )
    split = f'<div class="split"><div>{_form(request, planned.problems)}</div><div>{answer}{curves}</div></div>'
    sections = [Section("", [lead, split])]
    head = style_tag("uplot.css") + script_tag(SCRIPT)
    return server_page("Plan a study", sections, here="/plan", style=_STYLE, head=head)


def plan_labels(curves: ErrorCurves) -> dict[str, str]:
    """Return the labels of the curves."""
    against = curves.against == OPT_INS
    x = "share of users who opt in" if against else "ε"
    return {
        "x": x,
        "y": "typical error",
        "caption": f"The typical error of each estimator against {'the ' if against else ''}{x}; both axes are "
        "logarithmic. The dot is this plan.",
    }


def option_rows(made: MeanPlan) -> Iterator[tuple[str, str, str, str, str]]:
    """Every estimator of a plan: its name, and the cells of the table."""
    for option in reversed(made.options):
        low, high = (f"{100 * weight:.3g}" for weight in (option.weight.best, option.weight.worst))
        weight = f"{low} %" if low == high else f"{low} to {high} %"
        yield option.name, ESTIMATORS[option.name], str(option.rmse), f"± {option.half_width}", weight


def plan_json(planned: Planned) -> dict[str, Any]:
    """Return an answer for the page's script, with words, rows and curves."""
    made, curves = planned.plan, planned.curves
    if made is None or curves is None:
        return {"problems": dict(planned.problems)}
    scale = 100 if curves.against == OPT_INS else 1
    return {
        "problems": {},
        "answer": [kept(line) for line in planned.answer],
        "notes": [kept(line) for line in planned.notes],
        "rows": [list(row) for row in option_rows(made)],
        "labels": plan_labels(curves),
        "against": curves.against,
        "here": [scale * curves.here, made.rmse],
        "across": [scale * x for x in place_range(curves)],
        "range": list(axis_range(curves)),
        "x": [scale * x for x in curves.x],
        "lines": {name: list(curves.worst[name]) for name in LINES},
        "query": planned.request.query,
        "study": _study_address(planned.request),
    }


def _study_address(request: PlanRequest) -> str:
    return f"/operator/new?{request.study_query}"


def _answer(planned: Planned) -> Iterator[str]:
    if planned.plan is None:
        yield from alerts([planned.problems.get("", "There is no plan yet: correct the marked fields.")])
        return
    for line in planned.answer:
        lead, _, rest = line.partition(": ")
        yield f"<p><b>{escape(lead)}:</b> {escape(kept(rest))}</p>"
    yield from (f'<p class="hint">{escape(kept(note))}</p>' for note in planned.notes)
    yield (
        f'<p><a class="button" id="make" href="{escape(_study_address(planned.request))}">Make this study</a> '
        f'<a id="link" href="/plan?{escape(planned.request.query)}">Link to this plan</a></p>'
    )


def _form(request: PlanRequest, problems: Mapping[str, str]) -> str:
    fields = "".join(_field(name, text, problems.get(name, "")) for name, text in request.texts)
    choices = "".join(
        f'<label><input type="radio" name="against" value="{value}"{" checked" if request.against == value else ""}> '
        f"{words}</label>"
        for value, words in ((OPT_INS, "opt-ins"), (EPSILON, "ε"))
    )
    without = (
        "Sliders need JavaScript, and this page's script has not run. Change a number and press the button: the server "
        "answers with a new page."
    )
    return (
        f'<form id="plan" method="get" action="/plan"><div class="fields">{fields}</div>'
        f"<fieldset><legend>Draw errors against</legend>{choices}</fieldset>"
        f"{not_ready(without, style='hint')}"
        '<p><button class="next">Show the answer</button></p></form>'
    )


def _field(name: str, text: str, problem: str) -> str:
    label, hint = _HINTS[name]
    invalid = ' aria-invalid="true"' if problem else ""
    return (
        f'<div class="field"><label for="{name}">{label}</label>'
        f'<input id="{name}" name="{name}" value="{escape(text)}" inputmode="decimal" autocomplete="off" '
        f'aria-describedby="{name}-hint {name}-wrong"{invalid}>'
        f'<span class="hint" id="{name}-hint">{hint}</span>'
        f'<span class="wrong" id="{name}-wrong">{escape(problem)}</span></div>'
    )


def _table(made: MeanPlan) -> str:
    """Return the table of estimators, each with a piece of its line."""
    html = table(_HEADINGS, [row[1:] for row in option_rows(made)])
    for name, label, *_ in option_rows(made):
        strong = ' class="ours"' if name == OURS else ""
        html = html.replace(f"<tr><td>{escape(label)}</td>", f"<tr{strong}><td>{swatch(name)}{escape(label)}</td>", 1)
    return html
