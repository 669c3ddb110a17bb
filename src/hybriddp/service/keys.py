"""The server's keys: one master key in a file, everything else derived from it, and the keys of operators and relays.

The master key is 256 random bits in a file that only its owner may read, outside of the data folder and so outside of
its backups. HKDF-SHA256 derives one key per purpose from it, so that none tells anything about another. Keys of the
operator (``hdpa_…``) and of relays (``hdpr_…``) are 256 random bits too: their plain SHA-256 is safe to store.
"""

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
import unicodedata
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from hybriddp.errors import DataError, ParameterError, raise_unchained

__all__ = [
    "ADMIN",
    "RELAY",
    "MasterKey",
    "is_admin_key",
    "is_master_key",
    "key_hash",
    "new_key",
    "participant_hash",
    "same_key",
    "write_secret",
]

ADMIN, RELAY = "hdpa_", "hdpr_"
"""How the keys of operators and of relays begin."""

_BYTES = 32
_PREFIX = "hybriddp-master-key-1 "
_ADMIN_KEY = re.compile(r"hdpa_[A-Za-z0-9_-]{43}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class MasterKey:
    """The server's master key, and the keys derived from it."""

    _secret: bytes = field(repr=False)

    @classmethod
    def create(cls, path: Path, *, data: Path | None = None) -> "MasterKey":
        """Create a key and write it to a new file that only its owner may read.

        Files inside the data folder are refused.
        """
        if data is not None and is_inside(path, data):
            raise DataError(f"The key file {path} must not be inside of the data folder {data}. Name another place.")
        key = cls(secrets.token_bytes(_BYTES))
        text = base64.urlsafe_b64encode(key._secret).decode("ascii")
        write_secret(path, f"{_PREFIX}{text}\n")
        return key

    @classmethod
    def load(cls, path: Path) -> "MasterKey":
        """Read the key in a file that `create` wrote."""
        try:
            text = path.read_text("ascii").rstrip("\r\n")
        except OSError as error:
            raise DataError(f"The key file {path} cannot be read ({error.strerror}).") from None
        except UnicodeDecodeError:
            text = ""
        try:
            secret = base64.b64decode(text.removeprefix(_PREFIX), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            secret = b""
        if not text.startswith(_PREFIX) or len(secret) != _BYTES:
            # What the decoder said could quote the key.
            raise_unchained(DataError(f"{path} is not a key file of hybriddp. Restore it from a safe copy."))
        return cls(secret)

    @cached_property
    def participants(self) -> bytes:
        """The HMAC key under which participants are known."""
        return self._derive("participants")

    @cached_property
    def token_secret(self) -> bytes:
        """The HS256 secret of participants' tokens: 64 hexadecimal digits, used as the text that they are.

        Text, so that it works unchanged in every JWT library and in every environment variable.
        """
        return self._derive("token secret").hex().encode("ascii")

    @cached_property
    def sessions(self) -> bytes:
        """The HMAC key of the operator page's session cookies and forms."""
        return self._derive("operator sessions")

    @cached_property
    def fingerprint(self) -> str:
        """What tells one master key from another and shows nothing of it, so that a database can name its own."""
        return self._derive("fingerprint").hex()

    def signing_key(self) -> Ed25519PrivateKey:
        """Derive the Ed25519 key that signs receipts."""
        return Ed25519PrivateKey.from_private_bytes(self._derive("receipts"))

    def total_key(self, digest: str, replica: str) -> bytes:
        """Derive the AES-256-GCM key of one replica's encrypted total of one study."""
        if not _DIGEST.fullmatch(digest):
            raise ParameterError("digest", "64 lower-case hexadecimal digits", digest)
        return self._derive(f"total\n{digest}\n{replica}")

    def _derive(self, purpose: str) -> bytes:
        info = f"hybriddp service 1\n{purpose}".encode()
        return HKDF(algorithm=SHA256(), length=_BYTES, salt=None, info=info).derive(self._secret)


def participant_hash(key: bytes, digest: str, name: str) -> bytes:
    """Return the 16 bytes by which a person is known in a study.

    Two spellings of one letter are one letter: better to count a person too seldom than twice.
    """
    named = unicodedata.normalize("NFC", f"{digest}\n{name}")
    # Keyed BLAKE2b (RFC 7693): OpenSSL's HMAC gives the interpreter away and waits for it again with every report.
    return hashlib.blake2b(named.encode(), key=key, digest_size=16).digest()


def is_master_key(text: str) -> bool:
    """Whether a text is that of a master key's file, given perhaps where the secret of tokens belongs."""
    return text.lstrip("\ufeff \t\r\n").startswith(_PREFIX.strip())


def new_key(prefix: str) -> str:
    """Generate a random key of 256 bits.

    The prefix is ``hdpa_`` for the operator and ``hdpr_`` for a relay.

    Examples
    --------
    >>> key = new_key("hdpa_")
    >>> len(key), key.startswith("hdpa_"), same_key(key, key_hash(key)), same_key(key[:-1], key_hash(key))
    (48, True, True, False)
    """
    if prefix not in (ADMIN, RELAY):
        raise ParameterError("prefix", f"{ADMIN!r} or {RELAY!r}", prefix)
    return prefix + secrets.token_urlsafe(_BYTES)


def is_admin_key(text: str) -> bool:
    """Whether a text has the form of an admin key: whoever made it, it is as long as one of 256 bits."""
    return _ADMIN_KEY.fullmatch(text) is not None


def key_hash(key: str) -> str:
    """SHA-256 of a key, in hexadecimal digits: all that the server stores of it."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def same_key(key: str, stored_hash: str) -> bool:
    """Whether a key has this hash, in a time that does not depend on where they differ."""
    return hmac.compare_digest(key_hash(key).encode("ascii"), stored_hash.encode("utf-8", "surrogatepass"))


def write_secret(path: Path, text: str) -> None:
    """Write a new file that only its owner may read; raise `DataError` if it is there already or cannot be made."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise DataError(f"{path} exists already and is left alone. Name another file.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be written ({error.strerror}).") from None
    try:
        with os.fdopen(handle, "w", encoding="ascii", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(path.parent)
    except OSError as error:
        path.unlink(missing_ok=True)  # half a key is none
        raise DataError(f"{path} cannot be written ({error.strerror}).") from None


def _sync_folder(folder: Path) -> None:
    """Let a new file's name survive a power failure too, before anything depends on it."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path is in a folder, at any depth, links followed."""
    return path.resolve().is_relative_to(folder.resolve())
