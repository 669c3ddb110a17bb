"""Lines of JSON, each with a checksum that runs over all lines before it.

The last field of a line, ``"chain"``, is the SHA-256 of the checksum before it followed by the line without this field.
A line that was edited, removed, added or moved breaks the chain at that line. What it cannot show is a cut at the end:
for that, one checksum has to be kept elsewhere. It has no key: it finds accidents and edits by hand, not somebody who
computes all checksums anew.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

START = ""
"""The checksum before the first line."""

_FIELD = b',"chain":"'
_END = b'"}'
_DECODER = json.JSONDecoder()
_CHECKSUM = re.compile(re.escape(_FIELD) + b"[0-9a-f]{64}" + re.escape(_END))
_SUFFIX = len(_FIELD) + 64 + len(_END)


@dataclass(frozen=True, slots=True)
class Link:
    """A line, without its line break, and the checksum at its end."""

    line: bytes
    head: str


def link(fields: Mapping[str, object], head: str) -> Link:
    """The line that follows the one with the checksum ``head``.

    Examples
    --------
    >>> first = link({"a": 1}, START)
    >>> first.line[:16], len(first.head)
    (b'{"a":1,"chain":"', 64)
    >>> unlink(first.line, START)["a"]
    1
    """
    body = json.dumps(fields, separators=(",", ":")).encode()  # ASCII: texts are escaped, line breaks too
    new = _checksum(head, body)
    return Link(body[:-1] + _FIELD + new.encode() + _END, new)


def unlink(line: bytes, head: str) -> dict[str, Any]:
    """The fields of a line, checksum and all; `ValueError` if it does not follow the one with the checksum ``head``."""
    body = line[:-_SUFFIX] + b"}"
    if line[-_SUFFIX:] != _FIELD + _checksum(head, body).encode() + _END:
        raise ValueError("the checksum is another one")
    text = line.decode()
    fields, end = _DECODER.raw_decode(text)
    if end != len(text) or not isinstance(fields, dict):
        raise ValueError("not one JSON object")
    return fields


def ends_with(tail: bytes, head: str) -> bool:
    """Whether these bytes end with a whole line that has the checksum ``head``."""
    return tail.endswith(_FIELD + head.encode() + _END + b"\n")


def has_checksum(some: bytes) -> bool:
    """Whether the end of a line is among these bytes, right or wrong: the beginning of one line has none.

    Texts of an event cannot look like it, because their quotation marks are escaped.
    """
    return _CHECKSUM.search(some) is not None


def digest(text: bytes) -> str:
    """The checksum of a text without lines: what a chain starts from where it goes on from one."""
    return sha256(text).hexdigest()


def _checksum(head: str, body: bytes) -> str:
    return sha256(head.encode() + body).hexdigest()
