"""The key of a mock curator: it signs receipts, and is thrown away."""

import base64
import secrets
from collections.abc import Mapping
from typing import Any

from hybriddp.client.receipt import canonical_bytes

__all__ = ["MockSigner", "base64url"]


class MockSigner:
    """A key that nobody has seen before."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self.key = Ed25519PrivateKey.generate()
        self.kid = secrets.token_urlsafe(8)

    def sign(self, receipt: Mapping[str, Any]) -> dict[str, Any]:
        """Sign a receipt and return it with its signature."""
        signature = base64url(self.key.sign(canonical_bytes(receipt)))
        return {"receipt": dict(receipt), "signature": signature, "kid": self.kid}

    def jwks(self) -> dict[str, Any]:
        """Return the public key as a JSON Web Key Set."""
        x = base64url(self.key.public_key().public_bytes_raw())
        return {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x, "kid": self.kid, "use": "sig", "alg": "EdDSA"}]}


def base64url(content: bytes) -> str:
    """Bytes in the base64 of tokens and signatures, without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
