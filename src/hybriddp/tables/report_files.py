"""Files of reports, which know their study: by a digest in the metadata of Parquet, or in a column.

Codes of another study give a wrong answer that looks right, so a digest of another study is refused. Reports without
one are accepted: nothing ties them to the study, and their summary says so. Next to the digest stands whether reports
were drawn with a seed, which makes them a simulation.
"""

import json
from collections.abc import Collection, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hybriddp.errors import DataError, ProtocolError, raise_unchained
from hybriddp.reporting.wording import counted
from hybriddp.tables.frames import nw, require_polars
from hybriddp.tables.paths import File, output_format, writing_error

if TYPE_CHECKING:
    import polars as pl

METADATA_KEY = "hybriddp.study"
"""The key in the metadata of a Parquet file."""

TEXT_KEY = "hybriddp.study.text"
"""The key that has the text of the study, to say what differs if it is another one."""

SEEDED_KEY = "hybriddp.seeded"
"""The key that says, with ``true``, that the reports of a Parquet file were drawn with a seed: they are not private."""

DIGEST_COLUMN = "study"
"""The column of a table. Only what looks like a digest counts: a column of other studies' names does no harm."""

SEEDED_WORD = "seeded"
"""Stands after the digest of a row, and a space, if its report was drawn with a seed."""

_LONGEST_VALUE = 200
_DIGEST = rf"^[0-9a-f]{{64}}(?: {SEEDED_WORD})?$"


class Origin(NamedTuple):
    """What the metadata of files say about their reports: tied to the study or not, seeded or not."""

    tied: bool = False
    seeded: bool = False


def by_digest(
    files: Sequence[File], study: str, text: str, digests: Collection[str]
) -> list[tuple[list[File], Origin]]:
    """Group files by what their metadata say of their reports; `ProtocolError` if they name another study.

    ``study`` names the study in an error, and ``text`` is what devices get.
    """
    found: dict[Origin, list[File]] = {}
    for file in files:
        digest, seeded = _stored(file)
        if digest is not None and digest not in digests:
            raise ProtocolError(
                f"{file.name} has reports of study {digest[:12]}…, not of {study}: "
                f"{_difference(file, digest, text) or _must_agree(text)}."
            )
        found.setdefault(Origin(digest is not None, seeded), []).append(file)
    return [(found[origin], origin) for origin in sorted(found, key=lambda x: (not x.tied, x.seeded))]


def digest_matches(schema: Any, key: Any, whole: Collection[str], parts: dict[Any, str]) -> tuple[Any, Any, Any] | None:  # noqa: ANN401
    """Return whether a row's digest is of the study or of its key's part, is another one, and is seeded.

    None if no column holds digests. Its name may be spelled otherwise, and it may hold texts in any way.
    """
    spelled = [name for name in schema.names() if name.strip().lower() == DIGEST_COLUMN]
    if len(spelled) > 1:
        raise DataError(f"The table has several columns called {DIGEST_COLUMN!r}, in other letters. Rename the others.")
    # Large bytes of Arrow are of an unknown type.
    if not spelled or schema[spelled[0]] not in (nw.String, nw.Categorical, nw.Enum, nw.Binary, nw.Unknown):
        return None
    x = nw.col(spelled[0]).cast(nw.String).str.strip_chars().str.to_lowercase()
    right = x.is_in([text for digest in sorted(whole) for text in (digest, f"{digest} {SEEDED_WORD}")])
    for name, digest in parts.items():
        right = right | ((key == name) & x.is_in([digest, f"{digest} {SEEDED_WORD}"]))
    return right, x.str.contains(_DIGEST) & ~right, right & x.str.ends_with(f" {SEEDED_WORD}")


def refuse_foreign(count: int, table: str, study: str, text: str) -> None:
    """Raise `ProtocolError` if rows of a table carry the digest of another study."""
    if count:
        raise ProtocolError(
            f"{table} has {counted(count, 'report', 'that carries', 'that carry')} the digest of another study "
            f"than {study}: {_must_agree(text)}."
        )


def _difference(file: File, digest: str, text: str) -> str:
    """Name the fields in which the study of a file and another one differ; empty if nobody can tell."""
    from pyarrow.parquet import read_metadata

    stored = (read_metadata(file.name).metadata or {}).get(TEXT_KEY.encode())
    if stored is None or sha256(stored).hexdigest() != digest:
        return ""
    try:
        return differences(json.loads(stored), json.loads(text))
    except (ValueError, AttributeError):
        return ""


def differences(theirs: dict[str, object], mine: dict[str, object]) -> str:
    """Say which fields of two studies' texts differ.

    Examples
    --------
    >>> differences({"name": "a", "epsilon": "1"}, {"name": "a", "epsilon": "2"})
    'epsilon is "1" in the file and "2" in this study'
    """
    differing = [name for name in dict.fromkeys([*theirs, *mine]) if theirs.get(name) != mine.get(name)]
    # Channels follow from the other fields, and say less.
    names = [name for name in differing if name != "channel"] or differing
    return "; ".join(
        f"{name} is {_value(theirs, name)} in the file and {_value(mine, name)} in this study" for name in names
    )


def _value(fields: dict[str, object], name: str) -> str:
    if name not in fields:
        return "left out"
    text = json.dumps(fields[name], ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _must_agree(text: str) -> str:
    fields = [name for name in json.loads(text) if name not in ("type", "version")]
    return f"kind of study, {', '.join(fields)} must all be the same"


def _stored(file: File) -> tuple[str | None, bool]:
    """Read the digest of a Parquet file's metadata, and whether its reports were drawn with a seed."""
    if file.is_text or file.remote:
        return None, False
    from pyarrow.parquet import read_metadata

    metadata = read_metadata(file.name).metadata or {}
    stored, seeded = metadata.get(METADATA_KEY.encode()), metadata.get(SEEDED_KEY.encode())
    if stored is None:
        return None, seeded == b"true"
    digest: str = stored.decode("ascii", "replace").strip().lower()
    if len(digest) != 64:
        raise DataError(f"{file.name} says under {METADATA_KEY!r} something that is no digest of a study.")
    return digest, seeded == b"true"


def write_table(
    frame: "pl.DataFrame", path: Path, *, study: str | None = None, text: str | None = None, seeded: bool = False
) -> None:
    """Write a table in the format that the name's ending says.

    The digest of a ``study`` ties its reports to it: it goes into the metadata of a Parquet file, and becomes a column
    of text files, which every reader survives. That reports are ``seeded`` stands beside it. A Parquet file has the
    ``text`` of the study, too.
    """
    polars, kind = require_polars(), output_format(path)
    if study is not None and kind != ".parquet":
        mark = f"{study} {SEEDED_WORD}" if seeded else study
        frame = frame.with_columns(polars.lit(mark).alias(DIGEST_COLUMN))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == ".parquet":
            metadata = {} if study is None else {METADATA_KEY: study}
            metadata |= {} if text is None else {TEXT_KEY: text}
            metadata |= {SEEDED_KEY: "true"} if seeded else {}
            frame.write_parquet(path, metadata=metadata or None)
        elif kind == ".jsonl":
            frame.write_ndjson(path)
        else:
            frame.write_csv(path, separator="\t" if kind == ".tsv" else ",")
    except (polars.exceptions.PolarsError, OSError) as reason:
        raise_unchained(writing_error(path, reason))
