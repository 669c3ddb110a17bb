"""What a running study would give with the people that it has, and with more: group sizes and public numbers only."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from hybriddp.errors import HybridDPError
from hybriddp.planning import plan
from hybriddp.service.kinds import study_kind

__all__ = ["EXPECTED_HEADINGS", "ExpectedRow", "expected_error", "expected_rows"]

EXPECTED_HEADINGS = ("People", "Trusted", "Local", "Typical error")
_ASSUMED: dict[str, dict[str, Any]] = {"mean": {}, "frequency": {"slope": 0}, "distribution": {}}
"""What is assumed of each kind of study that has a plan."""
_FEW = (100, 10_000)  # people of either group, from whom multiples are taken while there are hardly any


class ExpectedRow(NamedTuple):
    """Who takes part, and the error to expect."""

    people: str
    trusted: str
    local: str
    error: str


@lru_cache(maxsize=256)
def expected_rows(text: str, n_trusted: int, n_local: int) -> tuple[ExpectedRow, ...]:
    """List the expected errors of a study, now and with more people.

    The list is empty for kinds of study without a plan.

    Examples
    --------
    >>> from hybriddp import MeanStudy
    >>> text = MeanStudy("minutes", bounds=(0, 240), epsilon=1).to_json()
    >>> [row.error for row in expected_rows(text, 1, 5_000)][0]
    'too few to say'
    >>> [row.people for row in expected_rows(text, 0, 0)]
    ['now', 'for example', 'ten times as many', 'twice the trusted']
    >>> expected_rows(text, 500, 50_000)[1]
    ExpectedRow(people='twice as many', trusted='1,000', local='100,000', error='0.32 to 0.744')
    """
    error = _planner(text)
    if error is None:
        return ()
    few = min(n_trusted, n_local) < 2
    trusted, local = _FEW if few else (n_trusted, n_local)
    cases = {
        "now": (n_trusted, n_local),
        "for example" if few else "twice as many": (trusted, local) if few else (2 * trusted, 2 * local),
        "ten times as many": (10 * trusted, 10 * local),
        "twice the trusted": (2 * trusted, local),
    }
    return tuple(ExpectedRow(people, f"{t:,}", f"{n:,}", _words(error, t, n)) for people, (t, n) in cases.items())


@lru_cache(maxsize=4096)
def expected_error(text: str, n_trusted: int, n_local: int) -> str:
    """Return the expected error of a study with this number of people.

    The text is empty for kinds of study without a plan.

    Examples
    --------
    >>> from hybriddp import MeanStudy
    >>> expected_error(MeanStudy("minutes", bounds=(0, 240), epsilon=1).to_json(), 1_000, 100_000)
    '0.32 to 0.744'
    """
    error = _planner(text)
    return "" if error is None else _words(error, n_trusted, n_local)


def _words(error: Callable[[int, int], str], n_trusted: int, n_local: int) -> str:
    if min(n_trusted, n_local) < 2:
        return "too few to say"
    try:
        return error(n_trusted, n_local)
    except HybridDPError:  # more than anybody can plan for
        return "not known"


def _planner(text: str) -> Callable[[int, int], str] | None:
    """Return the function that gives a kind's error for group sizes, in words."""
    kind = study_kind(text)
    assumed = _ASSUMED.get(kind.name)
    if assumed is None:
        return None
    study: Any = getattr(kind, "study", None)
    return lambda t, n: plan(study, n_users=t + n, trusted_fraction=t / (t + n), **assumed).typical_error
