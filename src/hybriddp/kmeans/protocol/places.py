r"""Places: where a participant stands among all of a study, by a number that nobody else can choose.

A device draws a nonce of 128 random bits and commits to it when its person joins (`hybriddp.client.contribution`). The
*place* is the first 64 bits, as an unsigned integer with the most significant byte first, of

    SHA-256("hybriddp place 1\n" + study digest + "\n" + nonce + "\n" + subject)

in UTF-8. The digest is the SHA-256 of the study's text (64 hexadecimal digits in lower case), the nonce has 32 such
digits, and ``subject`` is the subject of the participant's token, a text of 1 to 256 characters, in Unicode's form NFC:
a person has one place, however a later token spells them.

The nonce is what makes it nobody else's choice: whoever issues tokens can choose subjects, and try them until they
stand where they are wanted. The commitment is what hides the place until the device opens it: a server that knew places
earlier could turn away those who stand in somebody's slice. A device that does not keep to the protocol can choose its
own place. That is a question of integrity only: it learns nothing about anybody else by it.
"""

import hashlib
import re
import unicodedata

from hybriddp.errors import ParameterError

__all__ = ["LONGEST_SUBJECT", "PLACES", "is_subject", "place"]

LONGEST_SUBJECT = 256  # characters
PLACES = 1 << 64
_PURPOSE = "hybriddp place 1"
_DIGEST, _NONCE = re.compile("[0-9a-f]{64}"), re.compile("[0-9a-f]{32}")


def place(study_digest: str, subject: str, nonce: str) -> int:
    """Compute the place of a participant, from 0 to below $2^{64}$.

    Examples
    --------
    >>> place("0" * 64, "participant 1", "f" * 32)
    13833858247621451858
    """
    if not isinstance(study_digest, str) or not _DIGEST.fullmatch(study_digest):
        raise ParameterError("study_digest", "the SHA-256 of a study's text in hexadecimal digits", study_digest)
    if not is_subject(subject):
        raise ParameterError("subject", f"a text of 1 to {LONGEST_SUBJECT} characters", "…")
    if not isinstance(nonce, str) or not _NONCE.fullmatch(nonce):
        raise ParameterError("nonce", "32 lower-case hexadecimal digits", "…")
    message = f"{_PURPOSE}\n{study_digest}\n{nonce}\n{unicodedata.normalize('NFC', subject)}"
    return int.from_bytes(hashlib.sha256(message.encode()).digest()[:8])


def is_subject(value: object) -> bool:
    """Whether a value is a text of 1 to 256 characters, all of which can be written in UTF-8."""
    short = isinstance(value, str) and 1 <= len(value) <= LONGEST_SUBJECT
    return short and not any("\ud800" <= letter <= "\udfff" for letter in str(value))
