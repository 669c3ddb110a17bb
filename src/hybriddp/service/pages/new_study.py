"""The operator's form of a new study. What is wrong with a field stands beside it."""

from collections.abc import Mapping, Sequence
from html import escape

from hybriddp.reporting.html import Section, alerts
from hybriddp.service.pages.look import hidden, server_page
from hybriddp.service.pages.session import FORM_FIELD

__all__ = ["new_study_page"]

_STYLE = """\
.field { margin: 0 0 1.1rem; max-width: 34rem; }
.field > label, .field > .label { font-weight: 600; display: block; }
.field input:not([type=radio], [type=checkbox]), .field textarea { width: 100%; }
.field .hint { display: block; font-size: .9rem; }
.field > label.choice { display: block; font-weight: normal; }
[aria-invalid=true] { border-color: var(--danger); border-width: 2px; }
fieldset { border: 0; padding: 0; margin: 0 0 1rem; } legend { font-weight: 600; padding: 0; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; max-width: 34rem; }
form:not(:has([value=mean]:checked)) .of-mean, form:not(:has([value=frequency]:checked)) .of-frequency,
form:not(:has([value=distribution]:checked)) .of-distribution,
form:not(:has([value=heavy-hitters]:checked)) .of-items, form:not(:has([value=kmeans]:checked)) .of-kmeans,
form:has(:is([value=frequency], [value=heavy-hitters], [value=kmeans]):checked) .of-number { display: none; }
"""
_LABELS = {
    "name": ("Name", "What is asked, as people will read it. Put the week into it: no two studies have the same text."),
    "lower": ("Lower bound", "No value counts as less."),
    "upper": ("Upper bound", "No value counts as more."),
    "categories": ("Categories", "One on each line, in the order that results have."),
    "clusters": ("Clusters", "How many places to look for, around which people are."),
    "ranges": (
        "Bounds of each number",
        "One line for each number that people have: the lower and the upper bound, and its name, such as 0 24 hour.",
    ),
    "round_hours": (
        "Hours of a round",
        "Rounds follow each other by themselves once the study has closed, each this long. Empty: you publish each.",
    ),
    "epsilon": ("Privacy, ε", "What everybody is promised, from 0.01 to 20: smaller is more private."),
    "delta": ("Privacy, δ", "How likely an item of one person alone may be shown, such as 0.000001."),
    "organization": ("Who asks", "The organization, as people know it."),
    "purpose": ("What for", "What the answer will be used for, in a sentence or two."),
    "contact": ("Contact", "Whom to write to."),
    "closes_at": ("Closes at (UTC)", "Then nobody can join or withdraw any more."),
    "id": ("Id", "Its name in addresses: lowercase letters, digits and hyphens. Random if empty."),
    "min_trusted": ("Trusted at least", "Fewer trusted people: no release. 2 if empty."),
    "min_local": ("Local at least", "Fewer local people: no release. 2 if empty."),
    "budget": ("Shared budget", "The name of a budget that other studies pay from too. Empty: one of its own."),
    "part_by": ("A mean for each", "What people are grouped by, such as country: tokens say who is in which part."),
    "part_names": ("Parts", "Such as DE, one on each line: all that there are. The minima above hold in each."),
    "origins": ("Web origins", "Whose pages may send to it, such as https://app.example.org, one on each line."),
}
_OTHER = {
    "usual": "counted together, as one more category, if there are three or more",
    "yes": "counted together, as one more category",
    "no": "not counted: how many they are is public",
}
_AREAS = ("categories", "ranges", "purpose", "part_names", "origins")
_TYPES = {"closes_at": "datetime-local"}
_DECIMAL = ("lower", "upper", "round_hours", "epsilon", "delta")
_WHOLE = ("clusters", "min_trusted", "min_local")
_NEEDED = ("name", "organization", "purpose", "contact", "closes_at", "epsilon")


def new_study_page(
    texts: Mapping[str, str], *, kinds: Mapping[str, str], form_token: str, problems: Mapping[str, str]
) -> str:
    """Return the form, with the entered values and their problems.

    Parameters
    ----------
    texts : mapping
        What stands in the fields.
    kinds : mapping
        The kinds of study that can be made, with their words.
    form_token : str
        The session's `Sessions.form_token`.
    problems : mapping
        By field what is wrong; under "" what belongs to no field.
    """

    def field(name: str, style: str = "") -> str:
        return _field(name, texts[name], problems.get(name, ""), style)

    def box(name: str, words: str) -> str:
        checked = " checked" if texts[name] == "yes" else ""
        return f'<label class="choice"><input type="checkbox" name="{name}" value="yes"{checked}> {words}</label>'

    what = [
        _choice("kind", "What to find out", kinds, texts["kind"], problems.get("kind", "")),
        field("name"),
        f'<div class="pair of-number">{field("lower")}{field("upper")}</div>',
        '<div class="of-distribution">',
        _choice(
            "scale", "Precision", {"equal": "the same everywhere", "log": "finer near the lower bound"}, texts["scale"]
        ),
        "</div>",
        '<div class="of-frequency">',
        field("categories"),
        _choice("other", "People with another item", _OTHER, texts["other"]),
        "</div>",
        f'<div class="of-kmeans">{field("clusters")}{field("ranges")}</div>',
        field("epsilon"),
        '<div class="of-items">',
        field("delta"),
        "</div>",
    ]
    who = [
        _choice(
            "tokens",
            "Who can take part",
            {"yes": "people with a token, once each", "no": "anybody, any number of times: an open pilot"},
            texts["tokens"],
        ),
        f'<div class="pair">{field("min_trusted")}{field("min_local")}</div>',
        f'<div class="field">{box("single_group", "One group may be empty")}</div>',
        field("closes_at"),
        f'<div class="field">{box("later", "Open it later, with a button on its page")}</div>',
        f'<div class="of-kmeans">{field("round_hours")}',
        f'<div class="field">{box("release_at_end", "Release it by itself after the last round")}</div></div>',
    ]
    told = [field("organization"), field("purpose"), field("contact")]
    parts = [field("part_by", "of-mean"), field("part_names", "of-mean")]
    more = [*parts, field("id"), field("budget"), field("origins")]
    wrong = {name: words for name, words in problems.items() if name and words}
    lead = [*alerts([problems[""]] if problems.get("") else []), *_summary(wrong)]
    form = "\n".join(
        [
            f'<form method="post" action="/operator/new" novalidate>{hidden(FORM_FIELD, form_token)}',
            *(f"<h2>{heading}</h2>{''.join(part)}" for heading, part in _parts(what, told, who, more)),
            '<p><button class="next">Make the study</button></p></form>',
        ]
    )
    back = '<p><a href="/operator">All studies</a> · <a href="/plan">Planner: what would it give?</a></p>'
    return server_page("New study", [Section("", [back, *lead, form])], here="/operator", style=_STYLE)


def _parts(*blocks: Sequence[str]) -> Sequence[tuple[str, Sequence[str]]]:
    headings = ("What is asked", "What people are told", "Who takes part, and until when", "If needed")
    return list(zip(headings, blocks, strict=True))


def _summary(wrong: Mapping[str, str]) -> list[str]:
    """Links to the fields that are wrong, for whoever does not see them all at once."""
    if not wrong:
        return []
    links = "".join(
        f'<li><a href="#{name}">{escape(_LABELS.get(name, ("Kind", ""))[0])}</a>: {escape(words)}</li>'
        for name, words in wrong.items()
    )
    return [f'<div role="alert"><b>No study was made yet.</b><ul>{links}</ul></div>']


def _field(name: str, text: str, problem: str, style: str) -> str:
    label, hint = _LABELS[name]
    attributes = f'id="{name}" name="{name}" aria-describedby="{name}-hint {name}-wrong"'
    attributes += ' aria-invalid="true"' if problem else ""
    attributes += ' aria-required="true"' if name in _NEEDED else ""
    if name in _AREAS:
        control = f'<textarea {attributes} rows="{2 if name == "origins" else 4}">{escape(text)}</textarea>'
    else:
        mode = "decimal" if name in _DECIMAL else "numeric" if name in _WHOLE else "text"
        control = (
            f'<input {attributes} type="{_TYPES.get(name, "text")}" inputmode="{mode}" autocomplete="off" '
            f'value="{escape(text)}">'
        )
    return (
        f'<div class="field {style}"><label for="{name}">{label}</label>{control}'
        f'<span class="hint" id="{name}-hint">{hint}</span>'
        f'<span class="wrong" id="{name}-wrong">{escape(problem)}</span></div>'
    )


def _choice(name: str, legend: str, options: Mapping[str, str], chosen: str, problem: str = "") -> str:
    radios = "".join(
        f'<label class="choice"><input type="radio" name="{name}" value="{value}"'
        f"{' checked' if value == chosen else ''}> {escape(words)}</label>"
        for value, words in options.items()
    )
    wrong = f'<span class="wrong">{escape(problem)}</span>' if problem else ""
    return f'<fieldset class="field" id="{name}"><legend>{legend}</legend>{radios}{wrong}</fieldset>'
