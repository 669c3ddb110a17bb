"""Trusted totals at rest: encrypted with a key that is not in the database.

AES-256-GCM, a key for every study and replica, a random nonce for every state; study, replica and count are
authenticated with it. Two states of one total, in a write-ahead log or in two backups, would give away what was added
between them: without the key they do not. With the key they do.

A total is written with a fixed number of bytes, which the study alone decides: the length of what is encrypted can be
seen.
"""

import os
from collections.abc import Callable
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hybriddp.errors import DataError

_NONCE = 12
_TAG = 16


class TotalSeal:
    """Encrypts and decrypts totals.

    Parameters
    ----------
    key : callable
        The key of a study's digest and a replica: `MasterKey.total_key`.
    """

    def __init__(self, key: Callable[[str, str], bytes]) -> None:
        self._cipher = lru_cache(maxsize=1024)(lambda digest, replica: AESGCM(key(digest, replica)))

    def close(self, total: int, digest: str, replica: str, count: int, *, total_bytes: int = 16) -> bytes:
        """Encrypt a total.

        Without the key, the bytes reveal only ``total_bytes``, the size that the total was written with. The total of a
        single replica may be negative, if withdrawn contributions were added by another replica.
        """
        nonce = os.urandom(_NONCE)
        plain = total.to_bytes(total_bytes, "big", signed=True)
        return nonce + self._cipher(digest, replica).encrypt(nonce, plain, _context(digest, replica, count))

    def open(self, sealed: bytes, digest: str, replica: str, count: int) -> int:
        """Decrypt a total.

        Raise `DataError` if it was sealed with another key or belongs to another row.
        """
        sealed = bytes(sealed)
        try:
            plain = self._cipher(digest, replica).decrypt(
                sealed[:_NONCE], sealed[_NONCE:], _context(digest, replica, count)
            )
        except (InvalidTag, ValueError):
            raise DataError(
                "A trusted total in the database cannot be decrypted: the key file is another one, or the row was "
                "changed. Nothing was released; restore the key file that this database was used with."
            ) from None
        return int.from_bytes(plain, "big", signed=True)

    @staticmethod
    def total_bytes(sealed: bytes) -> int:
        """Return the number of bytes that a sealed total was written with."""
        return len(sealed) - _NONCE - _TAG


def _context(digest: str, replica: str, count: int) -> bytes:
    return f"{digest}\n{replica}\n{count}".encode()
