"""Sessions of the operator's page: a signed cookie for the admin key, and a field against forged forms.

Nothing about a session is stored before its logout. The cookie holds its end and a random name, under a MAC that covers
the admin key's hash: so every replica knows it, and a new admin key ends all sessions.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field

__all__ = ["COOKIE", "FORM_FIELD", "Sessions"]

COOKIE = "hybriddp_operator"
"""Name of the cookie: to be set with HttpOnly, SameSite=Strict, Path=/operator, and Secure behind TLS."""

FORM_FIELD = "csrf"
"""Name of the hidden field in every form."""

_COOKIE = re.compile(r"([0-9]{1,12})\.([0-9a-f]{32})\.([0-9a-f]{64})")


@dataclass(frozen=True)
class Sessions:
    """What makes and recognizes sessions.

    Parameters
    ----------
    key : bytes
        `MasterKey.sessions`.
    admin_hash : str
        The stored hash of the admin key.
    hours : int
        How long a session lasts.
    """

    key: bytes = field(repr=False)
    admin_hash: str = field(repr=False)
    hours: int = 12

    def start(self, now: float) -> str:
        """Start a session and return its cookie."""
        content = f"{int(now) + 3600 * self.hours}.{secrets.token_hex(16)}"
        return f"{content}.{self._mac('session', content)}"

    def is_valid(self, cookie: str | None, now: float) -> bool:
        """Whether a cookie is one of ours and has not ended."""
        found = _COOKIE.fullmatch(cookie or "")
        if found is None:
            return False
        ours = hmac.compare_digest(found[3], self._mac("session", f"{found[1]}.{found[2]}"))
        return ours and now < int(found[1])

    @staticmethod
    def ends_at(cookie: str) -> int:
        """Return when a valid cookie ends, in seconds since 1970."""
        return int(cookie.partition(".")[0])

    def form_token(self, cookie: str) -> str:
        """Return the text that this session's forms carry in `FORM_FIELD`."""
        return self._mac("form", cookie)

    def is_own_form(self, cookie: str, token: str) -> bool:
        """Whether a form came from a page of this session, and not from another site."""
        return hmac.compare_digest(token.encode("utf-8", "surrogatepass"), self.form_token(cookie).encode("ascii"))

    def _mac(self, purpose: str, content: str) -> str:
        text = f"{purpose}\n{self.admin_hash}\n{content}".encode("utf-8", "surrogatepass")
        return hmac.new(self.key, text, hashlib.sha256).hexdigest()
