"""`StudyParts`: the public partition of a study's users, fixed before anybody is asked.

Who is in which part is public, and so are the sizes of the parts. Nobody is in two of them, so each user pays for one
release only: see `MeanStudy.estimate_parts`.
"""

import json
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from hybriddp import _check
from hybriddp.errors import HybridDPError, ParameterError, ProtocolError
from hybriddp.release.event import Part

__all__ = ["LONGEST_NAME", "MOST_PARTS", "PART_NAME", "StudyParts", "is_part_name"]

MOST_PARTS = 300
"""In one study."""
LONGEST_NAME = 100
"""Characters of a part's name, and of what the users are grouped by."""

PART_NAME = (
    f"a readable text of at most {LONGEST_NAME} characters, with single spaces between words and none around them"
)
"""What a part's name must be, in words."""
_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"  # without which some languages are misspelled
_LISTED = 12  # names in a sentence


@dataclass(frozen=True)
class StudyParts:
    """What the users are grouped by, and the names of the parts: public, and never read from the data.

    Parameters
    ----------
    by : str
        What the users are grouped by, for example ``"country"``.
    names : iterable of str
        The parts, for example ``["DE", "FR", "other"]``: two that a ledger would take for one, such as DE and de, are
        refused.

    Examples
    --------
    >>> parts = StudyParts("country", ["DE", "FR", "other"])
    >>> parts.position("FR"), parts.position("fr"), parts.position(None)
    (1, None, None)
    >>> StudyParts.from_json(parts.to_json()) == parts
    True
    """

    by: str
    names: tuple[str, ...]

    def __init__(self, by: str, names: Iterable[str]) -> None:
        listed = tuple(names) if isinstance(names, list | tuple) else ()
        if not 2 <= len(listed) <= MOST_PARTS:
            raise ParameterError("names", f"a list of 2 to {MOST_PARTS} names", len(listed), shown_as="len(names)")
        for name, text in (("by", by), *(("names", text) for text in listed)):
            if not is_part_name(text):
                raise ParameterError(name, PART_NAME, text)
        alike: dict[str, str] = {}
        for text in listed:
            key = Part(by, text).same_key
            if key in alike:
                raise ParameterError("names", f"different: {alike[key]} and {text} are the same to a ledger", text)
            alike[key] = text
        object.__setattr__(self, "by", by)
        object.__setattr__(self, "names", listed)

    def position(self, name: object) -> int | None:
        """Return the number of a part, or None if there is no such part.

        Numbers start at 0, in the order of the names.

        Two spellings of one letter are one letter (NFC). Case and spaces count.
        """
        return self._positions.get(_one_spelling(name)) if isinstance(name, str) else None

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {_one_spelling(name): i for i, name in enumerate(self.names)}

    def listed(self) -> str:
        """Return the names in words, only the first ones if there are many."""
        more = f" and {len(self.names) - _LISTED:,} more" if len(self.names) > _LISTED else ""
        return f"{', '.join(self.names[:_LISTED])}{more}"

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "names": list(self.names)}

    def to_json(self) -> str:
        """As a text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "StudyParts":
        """Parse the parts from a text."""
        return cls.from_dict(_check.json_fields(text))

    @classmethod
    def from_dict(cls, fields: object) -> "StudyParts":
        """Create the parts from plain values, or raise `ProtocolError`."""
        if not isinstance(fields, dict) or set(fields) != {"by", "names"}:
            raise ProtocolError("The parts of a study must have what users are grouped by, and names.")
        try:
            return cls(fields["by"], fields["names"])
        except HybridDPError as error:
            raise ProtocolError(f"The parts of the study cannot be read: {error}") from None


def is_part_name(text: object) -> bool:
    """Whether a text can be the name of a part, or say what users are grouped by: it is shown as it is, on one line."""
    if not _check.is_readable(text) or len(str(text)) > LONGEST_NAME or " ".join(str(text).split()) != text:
        return False
    return all(letter.isprintable() or letter in _JOINERS for letter in str(text))


def _one_spelling(name: str) -> str:
    return unicodedata.normalize("NFC", name)
