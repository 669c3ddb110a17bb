"""What simulated people's tokens are signed with: secrets and keys from files, of which no message shows anything."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybriddp.errors import DataError, MissingExtraError, ParameterError, raise_unchained
from hybriddp.service import check_installed
from hybriddp.service.keys import is_master_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["import_jwt", "read_key", "read_signer"]

_SHORTEST_SECRET = 32  # bytes, as the server wants it


def read_signer(secret_file: Path | None, private_key: Path | None) -> "str | Ed25519PrivateKey | None":
    """Read the key that participants' tokens are signed with."""
    if private_key is None:
        return None if secret_file is None else read_key(secret_file, _SHORTEST_SECRET)
    if secret_file is not None:
        raise ParameterError("private_key", "left out where --secret-file is given", str(private_key))
    check_installed("jwt", purpose="Making participants' tokens")
    from hybriddp.service.tokens import read_private_key

    return read_private_key(private_key)


def read_key(path: Path, shortest: int) -> str:
    """Read a file with one line, a secret that errors do not show."""
    try:
        text = path.read_text("ascii").strip()
    except OSError as reason:
        raise_unchained(DataError(f"{path} cannot be read: {reason.strerror}."))
    except UnicodeDecodeError:
        text = ""
    if is_master_key(text):
        raise DataError(
            f"{path} is the server's master key. Its secret of tokens is what `hybriddp tokens secret` prints."
        )
    if len(text) < shortest or not text.isprintable() or " " in text:
        raise DataError(f"{path} must hold one line of at least {shortest} characters: the secret or the key.")
    return text


def import_jwt() -> Any:  # noqa: ANN401
    """Import the token library, or raise an error that says how to install it."""
    try:
        import jwt
    except ImportError:
        raise MissingExtraError("PyJWT", extra="service", purpose="Making participants' tokens") from None
    return jwt
