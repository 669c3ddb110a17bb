"""x."""


def start_demo(url: str, admin_key: str, token_secret: bytes) -> None:
    """X."""
