"""Take part: what is asked, by whom, what each choice means, and a form that only its script can send.

The script checks the study, draws on the device, and shows what left it. Until it has checked the study, both choices
and the button are disabled; if it never runs, they stay so and the page says why. A token is in the page that answers
a POST, and never in an address.
"""

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from hybriddp.client.plain import one_line
from hybriddp.reporting.html import Section, alerts, paragraphs
from hybriddp.reporting.wording import significant
from hybriddp.service.pages import take_part_items, take_part_points
from hybriddp.service.pages.look import hidden, kept, not_ready, people_page, script_tag
from hybriddp.service.pages.take_part_points import choice_words, point_fields, point_question, round_words, state_words

__all__ = ["ASKED", "SCRIPT", "no_study_page", "take_part_page"]

SCRIPT = "take_part.js"
ASKED = ("mean", "distribution", "frequency", take_part_items.KIND, "kmeans")
"""Kinds of studies that the page can ask for; others are for apps."""

_FOOTER = "hybriddp curator. This page comes from the curator, and so does its script."
_STYLE = """\
.field { margin: 1.2rem 0; } .field > label, legend { font-weight: 600; display: block; padding: 0; }
fieldset { border: 0; padding: 0; margin: 1.2rem 0; }
.option { border: 1px solid var(--edge); border-radius: .4rem; padding: .7rem 1rem; margin: .7rem 0; }
.option label { font-weight: 600; } .option p, .option ul { margin: .4rem 0 0 1.6rem; }
.option:has(:checked) { border-color: var(--both); box-shadow: 0 0 0 1px var(--both); }
.option:has(:disabled) label { color: var(--muted); }
.options { display: grid; gap: 0 1.2rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 52rem) { .options { grid-template-columns: 1fr 1fr; align-items: start; } }
summary { cursor: pointer; } details { margin: .6rem 0; } .option details { margin-left: 1.6rem; }
input[type=number] { width: 12rem; font-size: 1.15rem; } textarea { font: .85rem/1.4 ui-monospace, monospace; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--raised); border-radius: .3rem; padding: .7rem;
  margin: .5rem 0; font: .85rem/1.45 ui-monospace, monospace; }
.code { font-size: 2.2rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.odds { display: grid; gap: .2rem 1rem; grid-template-columns: minmax(6rem, auto) 1fr; align-items: center;
  margin: 1rem 0; overflow-wrap: anywhere; }
.odds .bar { background: var(--raised); border-radius: .2rem; display: flex; align-items: center; gap: .6rem; }
.odds .bar span { white-space: nowrap; }
.odds .bar i { background: var(--local); height: 1.5rem; border-radius: .2rem; min-width: 2px; flex: none; }
.odds .mine i { background: var(--both); } .odds .mine { font-weight: 600; }
.said { border-left: .25rem solid var(--both); padding: .1rem .8rem; margin: 1.2rem 0; } .said:empty { display: none; }
.wrongly { border-left-color: var(--danger); background: var(--warn); padding: .5rem .8rem; }
.actions { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1.2rem 0; } .actions form { margin: 0; }
[hidden] { display: none !important; }
"""
_NOT_READY = (
    "This page does not work now, and sends nothing. It needs JavaScript, because your own device checks the study and "
    "draws what leaves it. Turn JavaScript on or reload the page. If that does not help, ask the people who run the "
    "study."
)
_ENDED = ("closed", "released", "withdrawn")
_STATES = {
    "created": "This study is not open yet. Come back later.",
    "asking": "This study now asks what this page cannot ask. Take part with your organization's app.",
    "closed": "This study has closed, and takes no contributions any more. Its result will be here.",
    "released": "This study has ended, and its result is released.",
    "withdrawn": "This study was withdrawn by the people who run it. What people contributed has been deleted.",
}


def take_part_page(
    study: Mapping[str, Any],
    *,
    token: str = "",
    problem: str = "",
    part: str = "",
) -> str:
    """Return the page on which people take part.

    Parameters
    ----------
    study : mapping
        The study's public document.
    token : str
        The participant's token, if it came with the request.
    problem : str
        Why the study does not take the token.
    part : str
        The part of the users that the token says they are in.
    """
    asked = json.loads(study["text"])
    lead = [*alerts(text for text in (problem, study.get("warning")) if text), *_who(study, asked, part)]
    told = ['<div id="said" class="said" role="status" tabindex="-1"></div>']
    is_open = (study["state"] == "open" and study["kind"] in ASKED) or take_part_items.is_asking(study)
    if is_open or _comes_back(study):
        told.insert(0, not_ready(_NOT_READY))
    if is_open:
        sections = [Section("", lead), Section("", [*told, _form(study, asked, token)]), Section("", [_sent()])]
    else:
        sections = [Section("", [*lead, *told, *_ended(study)]), Section("", [_device(study, token)])]
    style = _STYLE + (take_part_points.STYLE if _asks_in_rounds(study) else "")
    return people_page(_title(study), sections, footer=_FOOTER, style=style, head=script_tag(_script(study)))


def no_study_page(message: str) -> str:
    """Return the page for the address of a study that does not exist."""
    return people_page("Take part", [Section("", alerts([message]))], footer=_FOOTER)


def _until(study: Mapping[str, Any]) -> str:
    return "This round ends" if _asks_in_rounds(study) and study["state"] == "asking" else "Open until"


def _asks_in_rounds(study: Mapping[str, Any]) -> bool:
    return bool(study["kind"] == "kmeans")


def _comes_back(study: Mapping[str, Any]) -> bool:
    """Whether a device that has joined a study comes back to answer."""
    return _asks_in_rounds(study) and study["state"] in ("closed", "asking")


def _script(study: Mapping[str, Any]) -> str:
    return take_part_points.SCRIPT if _asks_in_rounds(study) else SCRIPT


def _title(study: Mapping[str, Any]) -> str:
    return one_line(str(study.get("title") or study["id"]))


def _who(study: Mapping[str, Any], asked: Mapping[str, Any], part: str) -> list[str]:
    consent = study.get("consent") or {}
    who, ended = one_line(consent.get("organization", "")) or "Somebody", study["state"] in _ENDED
    facts = [
        ("Asked by", who),
        ("Purpose", one_line(consent.get("purpose", ""))),
        ("Contact", one_line(consent.get("contact", ""))),
        *([] if ended else [(_until(study), str(study["closes_at"]).replace("T", " ").removesuffix("Z") + " UTC")]),
        *([("Rounds", round_words(study))] if _asks_in_rounds(study) else []),
        *_counted_in(study, part),
        ("Promise", kept(str(study["promise"]))),
    ]
    rows = "".join(f'<tr><th scope="row">{name}</th><td>{escape(text)}</td></tr>' for name, text in facts if text)
    more = take_part_items.item_words(study) if study["kind"] == take_part_items.KIND and not ended else []
    return [
        *paragraphs([_question(study, asked)]),
        *more,
        f'<table class="facts"><tbody>{rows}</tbody></table>',
    ]


def _counted_in(study: Mapping[str, Any], part: str) -> list[tuple[str, str]]:
    """Name the part that the participant is counted in, which is public."""
    if not study.get("parts"):
        return []
    by = one_line(study["parts"]["by"])
    mine = f"{by}: {one_line(part)}, as your token says. " if part else f"Your {by}, as your token says it. "
    words = (
        "Each part gets an answer of its own, if enough people are in it. Which part you are in is not hidden, and how "
        "many people each has is public once the study has closed."
    )
    return [("Your part", words if study["state"] in _ENDED else f"{mine}{words}")]


def _question(study: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    ended = study["state"] in _ENDED or (_asks_in_rounds(study) and study["state"] == "asking")
    lead = "People were asked for" if ended else "You are asked for"
    if _asks_in_rounds(study):
        return point_question(lead, asked)
    if study["kind"] in ("mean", "distribution"):
        lower, upper = (significant(float(bound), 6) for bound in asked["bounds"])
        return f"{lead} one number, from {lower} to {upper}. A number outside counts as the nearer bound."
    if study["kind"] == "frequency":
        return f"{lead} one of {len(asked['categories']) + bool(asked['other']):,} answers."
    return f"{lead} one item: a text of your own."


def _ended(study: Mapping[str, Any]) -> list[str]:
    words = _STATES.get(study["state"], "This page cannot ask for what the study wants. Take part with an app.")
    if _asks_in_rounds(study):
        words = state_words(study, words)
    link = f'<p><a class="button" href="/studies/{study["id"]}/result.html">See the result</a></p>'
    return [
        *paragraphs([words], style="" if _comes_back(study) else "answer"),
        *([link] if study["state"] == "released" else []),
    ]


def _device(study: Mapping[str, Any], token: str) -> str:
    """Return the data that the script needs to manage the device's own records.

    This is for studies that do not ask anything now.
    """
    who = _token(token) if _comes_back(study) else hidden("token", token)
    return f'<div id="take-part" {_data(study)}>{who}</div>{_sent()}'


def _data(study: Mapping[str, Any]) -> str:
    """Return the data for the script, which requests and checks the rest itself."""
    needs = "yes" if study["tokens"] else "no"
    return f'data-study="{study["id"]}" data-digest="{study["digest"]}" data-tokens="{needs}"'


def _form(study: Mapping[str, Any], asked: Mapping[str, Any], token: str) -> str:
    """Return the form; with ``method="dialog"`` browsers send nothing of it by themselves, whatever becomes of it."""
    return (
        f'<form id="take-part" method="dialog" autocomplete="off" {_data(study)}>'
        f"{_token(token) if study['tokens'] else ''}{_value(study, asked)}"
        f"<fieldset><legend>Do you trust the curator with {'them' if _asks_in_rounds(study) else 'it'}?</legend>"
        f'<div class="options">{_option(study, "report")}{_option(study, "trust")}</div></fieldset>'
        '<p><button class="next" disabled>Take part</button></p></form>'
    )


def _token(token: str) -> str:
    """Return the field that says who takes part: from the organization's app, or pasted."""
    if token:
        return hidden("token", token)
    return (
        '<div class="field"><label for="token">Your token</label>'
        '<textarea id="token" name="token" rows="4" required autocomplete="off" spellcheck="false" '
        'aria-describedby="token-hint"></textarea><span class="hint" id="token-hint">The text that you got from the '
        "organization: it says that you may take part, and counts you once.</span></div>"
    )


def _value(study: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Return the field or fields for what is asked; a category is its number."""
    if _asks_in_rounds(study):
        return point_fields(asked, study.get("dimensions") or ())
    if study["kind"] == "frequency":
        items = [one_line(str(item)) for item in asked["categories"]]
        items += ["something else"] if asked["other"] else []
        options = "".join(f'<option value="{i}">{escape(item)}</option>' for i, item in enumerate(items))
        return (
            '<div class="field"><label for="value">Your answer</label>'
            f'<select id="value" name="value" required><option value="">Choose …</option>{options}</select></div>'
        )
    if study["kind"] == take_part_items.KIND:
        return take_part_items.item_field()
    lower, upper = (significant(float(bound), 6) for bound in asked["bounds"])
    return (
        '<div class="field"><label for="value">Your number</label>'
        '<input id="value" name="value" type="number" step="any" inputmode="decimal" required autocomplete="off" '
        f'aria-describedby="value-hint"><span class="hint" id="value-hint"> from {lower} to {upper}</span></div>'
    )


def _option(study: Mapping[str, Any], choice: str) -> str:
    noun = {"frequency": "answer", take_part_items.KIND: "item"}.get(study["kind"], "number")
    not_now = take_part_items.not_now(study, choice)
    group = "local" if choice == "report" else "trusted"
    if choice == "report":
        label = "No: randomize it on my device"
        words = (
            f"Your device draws one code at random, and only that leaves it. Your {noun} makes some codes likelier "
            f"than others, and that is all that anybody learns from one. Your {noun} itself stays here."
        )
    else:
        label = f"Yes: send the {noun} itself"
        words = (
            f"The curator gets your {noun}, adds it to those of all others, and publishes only answers with noise. The "
            "answer becomes more accurate. The promise is the same towards everybody who sees the answer, but the "
            f"curator could see your {noun}."
        )
    if _asks_in_rounds(study):
        label, words = choice_words(choice)
    later, why = (" data-later", f'<p class="hint">{not_now}</p>') if not_now else ("", "")
    sentences = "".join(f"<li>{escape(str(one))}</li>" for one in study["stored"][group])
    return (
        f'<div class="option"><label><input type="radio" name="choice" value="{choice}" required disabled{later} '
        f'aria-describedby="{choice}-words"> {label}</label><p id="{choice}-words">{words}</p>{why}'
        f"<details><summary>What is stored of you</summary><ul>{sentences}</ul></details></div>"
    )


def _sent() -> str:
    """Return the place where the script shows the sent data and the receipt.

    The script also shows the possible next steps there.
    """
    return (
        '<section id="sent" aria-label="What left your device" hidden></section>'
        '<section id="checked" aria-label="What this device has checked" hidden></section>'
    )
