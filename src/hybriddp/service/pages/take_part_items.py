"""Items that nobody has listed, on the page on which people take part: in two steps, each of another group.

While the study is open, those who trust type an item. Once the list of frequent ones is released, those who do not are
asked about it.
"""

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from hybriddp.client.plain import one_line
from hybriddp.reporting.html import paragraphs

__all__ = ["KIND", "is_asking", "item_field", "item_words", "not_now"]

KIND = "heavy-hitters"
_SHOWN = 50  # items of a list, on the page
_LONGEST = 200  # characters that can be typed; what is too long to be kept counts as other
_LATER = (
    "Not yet: those who do not trust are asked about a list, which is made of what those who do have given. Come back "
    "when the list is released."
)
_OVER = "Not any more: the list has been made. Now those who do not trust are asked about it."


def is_asking(study: Mapping[str, Any]) -> bool:
    """Whether a study asks people about its list now."""
    return bool(study["kind"] == KIND and study["state"] == "asking" and study.get("question"))


def not_now(study: Mapping[str, Any], choice: str) -> str:
    """Explain why the participant cannot make this choice now.

    The text is empty if the choice is possible. Other participants could make the choice before, or can make it later.
    """
    if study["kind"] != KIND:
        return ""
    if choice == "report":
        return "" if is_asking(study) else _LATER
    return _OVER if is_asking(study) else ""


def item_words(study: Mapping[str, Any]) -> list[str]:
    """Explain how items are used, and show the list once it exists."""
    if not is_asking(study):
        return paragraphs(
            [
                "Items that enough of those who trust have become a public list; no other item is ever shown. Those "
                "who do not trust are then asked about this list."
            ]
        )
    items = [one_line(str(item), 80) for item in json.loads(study["question"]["text"])["categories"]]
    more = [f"… and {len(items) - _SHOWN:,} more"] if len(items) > _SHOWN else []
    listed = "".join(f"<li>{escape(item)}</li>" for item in [*items[:_SHOWN], *more])
    summary = f"The list that was released: {len(items):,} item{'s' if len(items) > 1 else ''}"
    return [
        f"<details open><summary>{summary}</summary><ul>{listed}</ul></details>",
        *paragraphs(["If yours is not on the list, type it all the same: it counts as something else."]),
    ]


def item_field() -> str:
    """Return the field for an item."""
    return (
        '<div class="field"><label for="value">Your item</label>'
        f'<input id="value" name="value" type="text" maxlength="{_LONGEST}" required autocomplete="off" '
        'aria-describedby="value-hint">'
        '<div class="hint" id="value-hint">A text, to the letter: upper and lower case differ.</div></div>'
    )
