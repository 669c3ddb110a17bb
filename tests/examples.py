"""How many examples a property gets that takes longer than others."""

from hypothesis import settings


def fewer_examples(times: int) -> settings:
    """A decorator: that many times fewer examples than the profile has, which `make test-long` makes many."""
    return settings(max_examples=max(1, settings().max_examples // times))
