"""Take part in a study of K-means: several numbers, one group that is asked later, and what each choice means."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from hybriddp.client.plain import one_line
from hybriddp.reporting.wording import significant
from hybriddp.service.pages.rounds import round_length

__all__ = [
    "SCRIPT",
    "STYLE",
    "choice_words",
    "point_fields",
    "point_question",
    "round_words",
    "state_words",
]

SCRIPT = "points.js"
STYLE = """\
.point { display: grid; grid-template-columns: repeat(auto-fill, minmax(12rem, 1fr)); gap: .2rem 1.2rem; }
.point .field { margin: .4rem 0; } .point label { font-weight: 600; display: block; }
.point .hint { display: block; font-size: .9rem; }
@media (max-width: 40rem) { .odds { grid-template-columns: minmax(0, 1fr); } .odds .bar { margin-bottom: .6rem; } }
"""
_STATES = {
    "closed": "Nobody can join any more. The study asks in rounds, and none is asked now. If you chose to be asked "
    "later, keep this page open or come back: it answers by itself when it is your turn.",
    "asking": "Nobody can join any more. The study now asks people who chose to be asked later, a part of them at a "
    "time. If it is your turn, this page answers by itself.",
}
_ALL_ASKED = "All rounds of this study have ended, and nobody is asked any more. Its result will be here."


def point_question(lead: str, asked: Mapping[str, Any]) -> str:
    """Return the question as a sentence that begins with ``lead``."""
    count = len(asked["bounds"])
    numbers = f"{count:,} numbers" if count > 1 else "one number"
    return (
        f"{lead} {numbers}, which together say where you are among all who take part. The study looks for "
        f"{int(asked['n_clusters']):,} places around which people are. A number outside of its bounds counts as the "
        "nearer bound."
    )


def point_fields(asked: Mapping[str, Any], names: Sequence[str] = ()) -> str:
    """Return one field for each number."""
    labels = [*map(one_line, names)] or [f"Number {j}" for j in range(1, len(asked["bounds"]) + 1)]
    fields = "".join(
        _field(j, label, pair) for j, (label, pair) in enumerate(zip(labels, asked["bounds"], strict=True), start=1)
    )
    return f'<fieldset><legend>Your numbers</legend><div class="point">{fields}</div></fieldset>'


def _field(number: int, label: str, bounds: Sequence[float]) -> str:
    lower, upper = (significant(float(bound), 6) for bound in bounds)
    name = f"value{number}"
    return (
        f'<div class="field"><label for="{name}">{escape(label)}</label>'
        f'<input id="{name}" name="{name}" type="number" step="any" inputmode="decimal" required autocomplete="off" '
        f'aria-describedby="{name}-hint"><span class="hint" id="{name}-hint">from {lower} to {upper}</span></div>'
    )


def choice_words(choice: str) -> tuple[str, str]:
    """Return the label of a choice and its explanation."""
    if choice == "report":
        return "No: randomize it on my device", (
            "Now your device only says that you take part. Your numbers stay on it, and it keeps them for later. The "
            "study asks in rounds, each of other people, and you are asked once: a hash of your name says in which "
            "round, and nobody can choose it. Then your device draws one code at random, and only that leaves it. This "
            "page answers by itself if it is open at that time, or when you open it again before the round ends."
        )
    return "Yes: send the numbers themselves", (
        "The curator gets your numbers and keeps them, encrypted, until the study's rounds end, since each round needs "
        "them. Then they are deleted. Only answers with noise are published. The answer becomes more accurate. The "
        "promise is the same towards everybody who sees the answer, but the curator could see your numbers."
    )


def round_words(study: Mapping[str, Any]) -> str:
    """Explain how often local participants have to open the page.

    The text is empty if the length of the rounds is unknown or the study is over.
    """
    hours = study.get("round_hours")
    if hours is None or study["state"] in ("released", "withdrawn"):
        return ""
    length = round_length(hours)
    return f"Each lasts {length}. If you do not trust, open this page at least every {length} once they have begun."


def state_words(study: Mapping[str, Any], otherwise: str) -> str:
    """Describe the state of a study that does not take contributions now."""
    steps = study.get("steps") or [{}]
    if study["state"] == "closed" and steps[0].get("state") == "released":
        return _ALL_ASKED
    return _STATES.get(study["state"], otherwise)
