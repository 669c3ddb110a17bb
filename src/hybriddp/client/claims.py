"""What a client reads in its own token: for which study it is, and for whom.

The token is not verified here: that is for the curator, who has the key. It is only read, and never shown.
"""

import base64
import hashlib
import re
import unicodedata
from dataclasses import dataclass, field

from hybriddp.client.problems import parse_object
from hybriddp.errors import HybridDPError, ParameterError, ProtocolError, raise_unchained

__all__ = ["TokenClaims", "check_study_id", "one_spelling", "read_claims"]

_STUDY_ID = re.compile(r"[a-z0-9-]{1,64}")
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class TokenClaims:
    """What a token claims: the study (``aud``), and a hash of the participant (``sub``) for the journal."""

    study: str
    participant: str
    subject: str = field(default="", repr=False, compare=False)  # who it is, as the token says it
    part: str = ""  # of the users that they are in, in a study of parts; not checked


def read_claims(token: str | None, study: str | None) -> TokenClaims:
    """Read the study and the participant from a token and a study's id.

    Either the token or the id may be missing.
    """
    if study is not None:
        check_study_id(study)
    if token is None:
        if study is None:
            raise ParameterError("study", "the id of a study, where there is no token that names it", study)
        return TokenClaims(study, "")
    claims = _payload(token)
    audience = claims.get("aud")
    if isinstance(audience, list) and len(audience) == 1:
        audience = audience[0]
    if not isinstance(audience, str) or not _STUDY_ID.fullmatch(audience):
        raise ProtocolError("The token does not say for which study it is: its claim aud must be a study's id.")
    if study is not None and audience != study:
        raise ProtocolError(f"The token is for study {audience!r}, not for {study!r}.")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject:
        raise ProtocolError("The token does not say for whom it is: its claim sub must be a text.")
    who = f"hybriddp participant 1\n{audience}\n{one_spelling(subject)}".encode("utf-8", "surrogatepass")
    part = claims.get("part")
    return TokenClaims(audience, hashlib.sha256(who).hexdigest(), subject, part if isinstance(part, str) else "")


def one_spelling(subject: str) -> str:
    """Normalize a participant's name to Unicode's form NFC.

    é is the same person, written as one character or as two. Case and spaces count.

    Examples
    --------
    >>> one_spelling("Ame\N{COMBINING ACUTE ACCENT}lie") == "Am\N{LATIN SMALL LETTER E WITH ACUTE}lie"
    True
    """
    return unicodedata.normalize("NFC", subject)


def check_study_id(study: str) -> str:
    """Check a study's id, which is a part of addresses."""
    if not isinstance(study, str) or not _STUDY_ID.fullmatch(study):
        raise ParameterError("study", "1 to 64 lower-case letters, digits and hyphens", study)
    return study


def _payload(token: str) -> dict[str, object]:
    """Read the claims of a token, which error messages never show."""
    try:
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise ValueError
        part = token.split(".")[1]
        return parse_object(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, HybridDPError):
        raise_unchained(ProtocolError("The token is not a JSON Web Token. Ask for a new one."))
