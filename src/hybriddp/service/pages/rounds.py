"""A study that asks in rounds, on the operator's page: who was asked and who answered, round by round.

All numbers are public or become so: how many enrolled and how many answered a round are in what the study publishes,
and do not depend on anybody's point. About how many were asked is a fraction of those who enrolled.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hybriddp.reporting.html import Section, paragraphs, table, wide
from hybriddp.reporting.wording import counted, significant

__all__ = [
    "close_label",
    "has_next_round",
    "hours_field",
    "round_facts",
    "round_length",
    "round_rows",
    "rounds_sections",
]

_HEADINGS = ("Round", "What for", "Ends (UTC)", "Asked", "Answered", "Missing", "Too late", "Too early")
_WORDS = (
    "A hash of each person's name decides which round asks them. The server does not write that down, so the numbers "
    "of people who were asked and who are missing are approximate. Answers are too late if their round has ended, and "
    "too early if a later round asks; these are counted since the server started, and repeated attempts count again."
)
_NONE_YET = "No round has been published yet. People can join and leave until enrollment closes."
_NO_ROUND = "No round has been published. Nobody can join or leave any more."

Refused = Mapping[tuple[int, str], int]


def rounds_sections(study: Mapping[str, Any], refused: Refused) -> list[Section]:
    """Return the section of rounds, or nothing for studies without rounds."""
    if study.get("kind") != "kmeans" or study["state"] == "withdrawn":
        return []
    rows = round_rows(study, refused)
    if not rows:
        return [Section("Rounds", paragraphs([_NONE_YET if study["state"] in ("created", "open") else _NO_ROUND]))]
    listed = f'<div class="refused" id="rounds">{wide(table(_HEADINGS, rows), "Rounds")}</div>'
    return [Section("Rounds", [listed, *paragraphs([_WORDS], style="hint")])]


def round_rows(study: Mapping[str, Any], refused: Refused) -> list[list[str]]:
    """Each round: number, purpose, end, asked, answered, missing, and answers that came too late or too early.

    Examples
    --------
    >>> one = {"number": 1, "purpose": "a grid", "closes_at": "2030-01-31T12:00:00Z", "asked_about": 50, "answered": 41}
    >>> round_rows({"state": "closed", "rounds": [one]}, {(1, "late"): 2})
    [['1', 'a grid', '2030-01-31 12:00', 'about 50', '41', 'about 9', '2', '0']]
    """
    rounds: Sequence[Mapping[str, Any]] = study.get("rounds") or ()
    last = len(rounds) if study["state"] == "asking" else 0
    return [_row(one, refused, so_far=one["number"] == last) for one in rounds]


def _row(one: Mapping[str, Any], refused: Refused, *, so_far: bool) -> list[str]:
    number, asked, answered = one["number"], one["asked_about"], one["answered"] or 0
    ends = str(one["closes_at"])[:16].replace("T", " ")
    missing = f"about {max(asked - answered, 0):,}" + (" so far" if so_far else "")
    late, early = (f"{refused.get((number, reason), 0):,}" for reason in ("late", "early"))
    return [str(number), str(one["purpose"]), ends, f"about {asked:,}", f"{answered:,}", missing, late, early]


def round_facts(study: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Whether people can join, what is asked, and what follows by itself."""
    if study.get("kind") != "kmeans" or study["state"] == "withdrawn":
        return []
    facts = [("Enrollment", _ENROLLMENT.get(study["state"], "closed"))]
    asked, rounds, hours = study.get("round"), study.get("rounds") or (), study.get("round_hours")
    if asked:
        facts.append(("Round", f"{asked['number']}, {asked['purpose']}: {asked['user_fraction']} of the local group"))
    elif rounds and study["state"] == "closed":
        facts.append(("Round", "ended" if has_next_round(study) else "the last one has been counted"))
    if rounds and study["state"] == "closed" and not has_next_round(study):
        facts.append(("Next step", "release it, or withdraw it"))
    elif study["state"] != "released":
        facts.append(("Next step", _BY_HAND if hours is None else _by_itself(hours, at_end=study["release_at_end"])))
    return facts


_ENROLLMENT = {"created": "not open yet", "open": "open: people can join and leave"}
_BY_HAND = "by hand"


def _by_itself(hours: float, *, at_end: bool) -> str:
    end = "the study is released by itself" if at_end else "the study waits for you to release it"
    return f"by itself, a round every {round_length(hours)}; after the last one {end}"


def round_length(hours: float) -> str:
    """Describe the length of a round in a convenient unit.

    Examples
    --------
    >>> round_length(24.0), round_length(0.25), round_length(0.02), round_length(2.5)
    ('24 hours', '15 minutes', '72 seconds', '2.5 hours')
    """
    seconds = round(3600 * hours)
    if seconds % 3600 == 0:
        return counted(seconds // 3600, "hour")
    if seconds < 7200:
        return counted(seconds // 60, "minute") if seconds % 60 == 0 else counted(seconds, "second")
    return f"{significant(hours)} hours"


def has_next_round(study: Mapping[str, Any]) -> bool:
    """Whether a closed study still has rounds to ask."""
    steps = study.get("steps") or [{}]
    first = (steps[0].get("name"), steps[0].get("state"))
    return study["state"] == "closed" and first == ("rounds", "pending")


def close_label(study: Mapping[str, Any]) -> str:
    """Describe what closing a study does in its current state.

    Closing ends the enrollment or a round. The text is empty if it ends neither.
    """
    return _CLOSE.get(study["state"], "") if study.get("kind") == "kmeans" else ""


_CLOSE = {"open": "Close enrollment", "asking": "End the round"}


def hours_field(study: Mapping[str, Any]) -> str:
    """Return the field for the length of the next round."""
    hours = study.get("round_hours") or 24
    value = int(hours) if float(hours).is_integer() else 24
    return (
        f'<label>Hours until it ends <input type="number" name="hours" min="1" max="8760" value="{value}" required>'
        "</label> "
    )
