"""The operator's page: log in, see all studies, see one, open, close, release or withdraw it.

The functions take the public documents of studies, with their counts, and give whole pages. Everything in them is
escaped. A button posts to ``/operator/studies/{id}/{action}`` with the session's `FORM_FIELD`. A withdrawal also has
the study's id, typed by the operator, in ``confirm``.
"""

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from hybriddp.reporting.html import Section, alerts, paragraphs, table, wide
from hybriddp.reporting.wording import counted, significant
from hybriddp.service.expected import EXPECTED_HEADINGS
from hybriddp.service.kinds.kind import NO_WAY_BACK
from hybriddp.service.pages.look import hidden, kept, not_ready, script_tag, server_page
from hybriddp.service.pages.parts import live_parts, part_means
from hybriddp.service.pages.rounds import (
    Refused,
    close_label,
    has_next_round,
    hours_field,
    round_facts,
    rounds_sections,
)
from hybriddp.service.pages.session import FORM_FIELD
from hybriddp.service.problems import REASONS

__all__ = ["front_page", "login_page", "message_page", "refused_rows", "studies_page", "study_page"]

_FOOTER = "hybriddp curator. Counts are exact; a group's size is public once the study has closed."
_HEADINGS = ("Study", "State", "Trusted", "Local", "ε", "Closing time (UTC)")
_ALONE = {
    "mean": "means and the weight",
    "distribution": "own distributions",
    "kmeans": "weights and what each step cost",
}
_REFUSED_HEADINGS = ("Reason", "What it means", "Requests")
_SCRIPT = "study.js"
_LABELS = {"list": "Release the list", "round": "Publish the next round"}
_MOST_SHARES = 5  # that a study's page tells
_NEXT = {"created": "open", "open": "close", "asking": "close", "closed": "release"}
"""What an operator may do next; a study that has not been released can also be withdrawn, on its own page."""


def front_page() -> str:
    """Return the page at the server's address, which links to everything else."""
    links = (
        ("/plan", "What a study would give, before anybody is asked"),
        ("/operator", "For the operator"),
        ("/schema/openapi.json", "For programs: all addresses, in an OpenAPI document"),
        ("/health", "Whether the server lives"),
    )
    items = "".join(f'<li><a href="{path}">{path}</a>: {escape(words)}</li>' for path, words in links)
    return _page("Curator", [Section("", [f"<ul>{items}</ul>"])], here="/")


def login_page(*, failed: bool = False, leads_to: str = "") -> str:
    """Return the page with the form for the admin key.

    ``leads_to`` is the page that the operator wanted to open.
    """
    form = (
        f'<form method="post" action="/operator/login">{hidden("next", leads_to) if leads_to else ""}'
        "<p><label>Admin key "
        '<input type="password" name="key" size="44" autocomplete="current-password" required autofocus></label> '
        '<button class="next">Log in</button></p></form>'
    )
    told = alerts(["That is not the admin key."]) if failed else []
    help_ = paragraphs(["The server printed the admin key when it started for the first time. It stores only a hash."])
    return _page("Curator", [Section("", [*told, form, *help_])])


def message_page(title: str, message: str) -> str:
    """Return a page that explains why an action failed, with a way back."""
    return _page(title, [Section("", [*alerts([message]), _BACK])])


def studies_page(studies: Sequence[Mapping[str, Any]], *, form_token: str, notice: str = "") -> str:
    """Return the list of all studies.

    Parameters
    ----------
    studies : sequence of mappings
        The studies' public documents, with counts.
    form_token : str
        The session's `Sessions.form_token`.
    notice : str
        What has just been done.
    """
    rows = "".join(f"<tr>{_row(study)}</tr>" for study in studies)
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in _HEADINGS)
    listed = f'<table class="list"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    listed = wide(listed, "Studies")
    none = paragraphs(["There is no study yet."])
    blocks = [*paragraphs([notice] if notice else [], style="answer"), *([listed] if studies else none)]
    new = '<p><a class="button" href="/operator/new">New study</a></p>'
    return _page("Studies", [Section("", [*blocks, new, _logout(form_token)])])


def study_page(
    study: Mapping[str, Any],
    *,
    form_token: str,
    rejections: Mapping[str, int] | None = None,
    result: Mapping[str, Any] | None = None,
    budget: str = "",
    obstacle: str = "",
    doubt: str = "",
    expected: Sequence[Sequence[str]] = (),
    parts: Sequence[Sequence[str]] = (),
    round_rejections: Refused | None = None,
    trouble: str = "",
    notice: str = "",
    problem: str = "",
) -> str:
    """One study: what people were told, how many took part, what came out.

    Parameters
    ----------
    study : mapping
        The study's public document, with counts.
    form_token : str
        The session's `Sessions.form_token`.
    rejections : mapping, optional
        How many requests were refused, by reason.
    result : mapping, optional
        The result document of a released study.
    budget : str
        The shared budget that the study pays from, and what is left of it.
    obstacle : str
        Why a closed study cannot be released.
    doubt : str
        What is implausible in the reports of a closed study.
    expected : sequence of rows
        The errors to expect, now and with more people.
    parts : sequence of rows
        The parts of the users, if there is an answer for each.
    round_rejections : mapping, optional
        How many answers were refused, by the number of the round and the reason.
    trouble : str
        Why a step that is taken by itself failed.
    notice, problem : str
        What has just been done, or why it was not.
    """
    lead = [
        _BACK,
        *alerts(text for text in (problem, trouble and f"{_FAILED} {trouble}", study.get("warning"), doubt) if text),
        *paragraphs([notice] if notice else [], style="answer"),
        *_answer(study, result),
        _listed(_facts(study, budget)),
    ]
    goes_on = has_next_round(study)
    if obstacle:
        lead += alerts([f"It cannot {'go on' if goes_on else 'be released'}. {obstacle} {NO_WAY_BACK}"])
    elif action := _buttons(study, form_token):
        lead.append(action)
    told = [] if study["state"] == "withdrawn" else [Section("What people are told", _told(study))]
    live = study["state"] in ("open", "asking") or (goes_on and study.get("round_hours") is not None and not obstacle)
    if live:
        lead.append(_live(study))
    sections = [
        Section("", lead),
        *rounds_sections(study, round_rejections or {}),
        *([Section("What it would give", _expected(expected))] if expected else []),
        *([Section("Parts", live_parts(study["parts"]["by"], parts))] if parts else []),
        *told,
        Section("Refused requests", _refused(rejections or {})),
        Section("The study's text", [_verbatim(str(study.get("text", "")))]),
    ]
    if study["state"] in _NEXT:
        sections.append(Section("Withdraw the study", _withdrawal(study, form_token)))
    return _page(_title(study), sections, head=script_tag(_SCRIPT) if live else "")


_FAILED = "The next step failed, and will be tried again by itself."
_BACK = '<p><a href="/operator">All studies</a></p>'


def _page(title: str, sections: Sequence[Section], *, here: str = "/operator", head: str = "") -> str:
    return server_page(title, sections, footer=_FOOTER, here=here, head=head)


def _listed(facts: Sequence[Sequence[str]]) -> str:
    """Names and what they stand for, as HTML."""
    rows = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{value}</td></tr>' for name, value in facts)
    return f'<table class="facts"><tbody>{rows}</tbody></table>'


def _row(study: Mapping[str, Any]) -> str:
    link = f'<a href="{_address(study)}">{escape(_title(study))}</a> <small>{escape(str(study["id"]))}</small>'
    plain = (*_sizes(study), study["epsilon"], _time(study.get("closes_at")))
    cells = [link, _state(study), *(escape(str(text)) for text in plain)]
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _title(study: Mapping[str, Any]) -> str:
    """Return the title of a study, or its id if its text has no title."""
    try:
        name = json.loads(study["text"])["name"]
    except (KeyError, TypeError, ValueError, RecursionError):
        name = None
    return name if isinstance(name, str) and name.strip() else str(study["id"])


def _state(study: Mapping[str, Any]) -> str:
    state = escape(str(study["state"]))
    return f'<span class="state {state}">{state}</span>'


def _address(study: Mapping[str, Any], action: str = "") -> str:
    path = f"/operator/studies/{quote(str(study['id']), safe='')}"
    return f"{path}/{action}" if action else path


def _sizes(study: Mapping[str, Any]) -> tuple[str, str]:
    counts = study.get("counts") or {}
    trusted, local = (f"{counts[group]:,}" if group in counts else "" for group in ("trusted", "local"))
    return trusted, local


def _time(text: object) -> str:
    return str(text or "").removesuffix("Z").replace("T", " ")


def _closing(study: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the closing time of a study.

    For a closed study it is the latest possible time, since the study may have been closed by hand.
    """
    time = _time(study.get("closes_at"))
    if study["state"] == "withdrawn":
        return []
    return (
        [("Closes at (UTC)", time)]
        if study["state"] in ("created", "open", "asking")
        else [("Closed", f"{time} UTC or before")]
    )


def _facts(study: Mapping[str, Any], budget: str) -> list[list[str]]:
    trusted, local = _sizes(study)
    delta = str(study.get("delta", "0"))
    promise = f"ε = {study['epsilon']}" + ("" if delta == "0" else f", δ = {delta}")
    facts = [
        ("Promise", promise),
        *([("Budget", budget)] if budget else []),
        *round_facts(study),
        *_closing(study),
        ("Participants", "known by their tokens" if study.get("tokens", True) else "not known: an open pilot"),
        ("Id", study["id"]),
        ("Digest", study.get("digest", "")),
    ]
    page = f"/studies/{quote(str(study['id']), safe='')}/take-part"
    people = [["Page for people", f'<a href="{page}">{escape(page)}</a>']]
    sizes = [["Trusted", _size("trusted", trusted, study)], ["Local", _size("local", local, study)]]
    rest = [[name, escape(str(value))] for name, value in facts]
    return [["State", _state(study)], *sizes, *([] if study["state"] == "withdrawn" else people), *rest]


def _size(group: str, count: str, study: Mapping[str, Any]) -> str:
    """Show the size of a group, which the page's script keeps up to date."""
    least = f"{study.get(f'min_{group}', 0):,}"
    where = " in a part for its answer" if study.get("parts") else " for a release"
    return f'<span id="count-{group}">{escape(count)}</span> (at least {least}{where})'


def _live(study: Mapping[str, Any]) -> str:
    """Return the place for the script's status, with a hint if the script has not run."""
    words = "Counts are not live: this page's script has not run. Reload the page to see new counts."
    without = not_ready(words, style="hint")
    return (
        f'<div data-live="{_address(study, "live")}" data-state="{escape(str(study["state"]))}">'
        f'<p class="hint" id="live-status" role="status"></p>{without}</div>'
    )


def _expected(rows: Sequence[Sequence[str]]) -> list[str]:
    words = (
        "From the sizes of the groups and the study's public numbers alone, whatever people have sent. Where there are "
        "two numbers, values are all alike for the first and differ as much as they can for the second."
    )
    return [
        f'<div id="expected">{wide(table(EXPECTED_HEADINGS, rows), "What it would give")}</div>',
        *paragraphs([words], style="hint"),
    ]


def _answer(study: Mapping[str, Any], result: Mapping[str, Any] | None) -> list[str]:
    """Show the result of a study, with links to it."""
    if study["state"] != "released":
        return []
    blocks = []
    estimate = (result or {}).get("estimate", result) or {}
    if estimate.get("type") == "mean":
        (row,) = estimate["rows"]
        value, low, high = (significant(float(row[name]), 10) for name in ("value", "lower", "upper"))
        blocks += paragraphs([kept(f"Result: {value}, 95 % interval {low} to {high}")], style="answer")
    elif isinstance(estimate.get("parts"), list):
        blocks += paragraphs([kept(_means(estimate))], style="answer")
    elif any(isinstance(estimate.get(field), list) for field in ("rows", "centers")):
        told = str((result or {}).get("answer", "")).splitlines()[-1:]  # behind the warnings
        title = f"{study.get('title')}: "
        blocks += paragraphs([kept(f"Result: {line.removeprefix(title)}") for line in told], style="answer")
    what = _ALONE.get(str(study.get("kind")), "shares and the weights")
    path = f"/studies/{quote(str(study['id']), safe='')}/result"
    blocks.append(
        f'<p>For everybody: <a href="{path}.html">page</a>, <a href="{path}">JSON</a>. For you: '
        f'<a href="{_address(study, "report")}">report</a> with the groups\' {what}.</p>'
    )
    return blocks


def _means(estimate: Mapping[str, Any]) -> str:
    """Describe the means of the first parts of a result in words."""
    told = part_means(estimate)
    more = f"; {len(told) - _MOST_SHARES:,} more" if len(told) > _MOST_SHARES else ""
    return f"Result by {estimate['by']}, with 95 % intervals: {'; '.join(told[:_MOST_SHARES])}{more}"


def _told(study: Mapping[str, Any]) -> list[str]:
    consent, stored = study.get("consent") or {}, study.get("stored") or {}
    named = (("Organization", "organization"), ("Purpose", "purpose"), ("Contact", "contact"))
    facts = [(words, escape(str(consent[name]))) for words, name in named if consent.get(name)]
    blocks = [_listed(facts), *paragraphs([kept(str(study["promise"]))] if study.get("promise") else [])]
    for group in ("local", "trusted"):
        if stored.get(group):
            items = "".join(f"<li>{escape(str(sentence))}</li>" for sentence in stored[group])
            blocks.append(f"<p>What is stored of a {group} participant:</p><ul>{items}</ul>")
    return blocks


def refused_rows(rejections: Mapping[str, int]) -> list[list[str]]:
    """List the reasons for refused requests, with their meanings and counts."""
    return sorted([reason, _meaning(reason), f"{n:,}"] for reason, n in rejections.items() if reason in REASONS)


def _refused(rejections: Mapping[str, int]) -> list[str]:
    rows = refused_rows(rejections)
    if not rows:
        return paragraphs(["None since this server started."])
    total = counted(sum(rejections.values()), "request")
    return [
        f'<div class="refused" id="refused">{wide(table(_REFUSED_HEADINGS, rows), "Refused requests")}</div>',
        *paragraphs([f"{total} in all, since this server started."]),
    ]


def _meaning(reason: str) -> str:
    """Explain a reason to the operator."""
    if reason == "refused":
        return "Not possible: the study's state, the size of a group or the budget forbids it"
    return REASONS[reason].title


def _verbatim(text: str) -> str:
    """Show a long text without spaces in a scrolling field, for copying."""
    return f'<p><textarea readonly rows="6" aria-label="The text">{escape(text)}</textarea></p>'


# Forms


def _hidden(form_token: str) -> str:
    return hidden(FORM_FIELD, form_token)


def _buttons(study: Mapping[str, Any], form_token: str) -> str:
    """Return the form for the next step.

    A step that cannot be undone needs a confirmation.
    """
    action = _NEXT.get(study["state"])
    if action is None:
        return ""
    waits = study["state"] == "asking" and not study.get("question")  # a list whose release was interrupted
    if study.get("kind") == "heavy-hitters" and (study["state"] == "open" or waits):
        action = "list"
    sure = ""
    if has_next_round(study):
        action, sure = "round", hours_field(study)
    if action != "open":
        box = '<input type="checkbox" name="sure" value="yes" required>'
        sure += f"<label>{box} I know that this cannot be undone.</label> "
    label = close_label(study) if action == "close" else ""
    if label:
        sure += hidden("round", str(len(study.get("rounds") or ())))  # sent twice, it must not end the next one
    return (
        f'<form class="next" method="post" action="{_address(study, action)}">{_hidden(form_token)}{sure}'
        f'<button class="next">{label or _LABELS.get(action, action.capitalize())}</button></form>'
    )


def _withdrawal(study: Mapping[str, Any], form_token: str) -> list[str]:
    words = "Withdrawing deletes all contributions and the sums; only the ledger stays. It cannot be undone."
    form = (
        f'<form method="post" action="{_address(study, "withdraw")}">{_hidden(form_token)}<p><label>Type the id '
        f'{escape(str(study["id"]))} to confirm: <input name="confirm" autocomplete="off" required></label> '
        '<button class="danger">Withdraw</button></p></form>'
    )
    return [*paragraphs([words]), form]


def _logout(form_token: str) -> str:
    return f'<form method="post" action="/operator/logout">{_hidden(form_token)}<p><button>Log out</button></p></form>'
