"""Which study reports were made for: the digest that files carry, in the metadata of Parquet or in a column.

Codes of another study give a wrong answer that looks right, so a digest of another study is refused. Reports without
one are accepted: nothing ties them to the study, and their summary says so.
"""

from collections.abc import Collection, Sequence
from typing import Any

from hybriddp.errors import DataError, ProtocolError
from hybriddp.mean.study import MeanStudy
from hybriddp.tables.names import File

METADATA_KEY = "hybriddp.study"
"""The key in the metadata of a Parquet file."""

DIGEST_COLUMN = "study"
"""The column of a table. Only what looks like a digest counts: a column of other studies' names does no harm."""

_DIGEST = "^[0-9a-f]{64}$"


def by_digest(files: Sequence[File], study: MeanStudy, digests: Collection[str]) -> list[tuple[list[File], bool]]:
    """Files whose metadata tie their reports to the study, and the others; `ProtocolError` if they name another."""
    tied: list[File] = []
    others: list[File] = []
    for file in files:
        digest = _stored(file)
        if digest is not None and digest not in digests:
            raise ProtocolError(
                f"{file.name} has reports of study {digest[:12]}…, not of {study.digest[:12]}… ({study.title!r}): "
                "name, bounds, epsilon, delta and channel must all be the same."
            )
        (others if digest is None else tied).append(file)
    return [(group, flag) for group, flag in ((tied, True), (others, False)) if group]


def digest_matches(nw: Any, key: Any, whole: str, parts: dict[Any, str]) -> tuple[Any, Any]:  # noqa: ANN401
    """Whether a row's digest is that of the study, or of the part that its key names; and whether it is another one."""
    x = nw.col(DIGEST_COLUMN)
    right = x == whole
    for name, digest in parts.items():
        right = right | ((key == name) & (x == digest))
    return right, x.str.contains(_DIGEST) & ~right


def refuse_foreign(count: int, what: str, study: MeanStudy) -> None:
    """Raise `ProtocolError` if rows of a table carry the digest of another study."""
    if count:
        raise ProtocolError(
            f"{what} has {count:,} reports that carry the digest of another study than {study.digest[:12]}… "
            f"({study.title!r}): name, bounds, epsilon, delta and channel must all be the same."
        )


def _stored(file: File) -> str | None:
    """The digest in the metadata of a Parquet file that is on a disk."""
    if file.is_text or file.remote:
        return None
    from pyarrow.parquet import read_metadata

    stored = (read_metadata(file.name).metadata or {}).get(METADATA_KEY.encode())
    if stored is None:
        return None
    digest: str = stored.decode("ascii", "replace")
    if len(digest) != 64:
        raise DataError(f"{file.name} says under {METADATA_KEY!r} something that is no digest of a study.")
    return digest
