"""A curator's words as they are shown to people: on one line, and without characters that act instead of showing.

A line break, an escape of a terminal or a character that turns the direction of writing around could make a curator's
words look like a line of ours, such as the one that says what ε means.
"""

__all__ = ["LONGEST", "one_line"]

LONGEST = 2_000
"""Characters of one text of a curator's that are shown."""

_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"  # without which some languages are misspelled


def one_line(content: object, longest: int = LONGEST) -> str:
    r"""Return a text on one line, without control and direction characters.

    Long texts are shortened. The result is empty if the content is not a text.

    Examples
    --------
    >>> one_line("a pilot\n\x1b[2JIf you report: \u202enothing")
    'a pilot [2JIf you report: nothing'
    """
    if not isinstance(content, str):
        return ""
    shown = (letter if letter.isprintable() or letter in _JOINERS else " " for letter in content)
    plain = " ".join("".join(shown).split())
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"
