"""Local reports that go through a shuffler: what the curator's view of all of them promises, and the way back."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hybriddp import _check
from hybriddp.amplification.clones import closed_form_epsilon, numerical_epsilon
from hybriddp.errors import ParameterError

Method = Literal["numerical", "closed form", "local"]

_LOCAL_EPSILON = _check.Range("a number from 0.01 to 20", lower=0.01, upper=20.0)
_DELTA = _check.Range("a number from 1e-100 to below 1", lower=1e-100, upper=1.0, upper_open=True)
_PER_DECADE = 900  # numbers of three digits: 100 to 999
_LAST_CANDIDATE = 3 * _PER_DECADE + 100  # 20.0; the first is 0.0100


@dataclass(frozen=True, slots=True)
class ShuffledPrivacy:
    """What every user is promised if nobody can tell which of the shuffled reports is whose.

    Attributes
    ----------
    epsilon, delta : float
        The promise of the shuffled reports together, for one replaced value.
    local_epsilon : float
        The promise of one report by itself. It stays if the shuffler fails.
    n_reports : int
        How many reports are shuffled.
    colluding : int
        How many of them are counted as known to the curator.
    method : {"numerical", "closed form", "local"}
        Which bound gave ε; "local" if neither is below `local_epsilon`.
    assumptions : tuple of str
        What it rests on, in sentences.
    """

    epsilon: float
    delta: float
    local_epsilon: float
    n_reports: int
    colluding: int
    method: Method
    assumptions: tuple[str, ...]

    def __str__(self) -> str:
        count = "1 report" if self.n_reports == 1 else f"{self.n_reports:,} reports"
        alone = f"Each report is {self.local_epsilon:g}-private by itself, whatever the shuffler does."
        if self.method == "local":
            return f"{alone} Shuffling {count} promises no more than that."
        promise = f"Shuffling {count} makes them ({_up(self.epsilon)}, {self.delta:g})-private together"
        conditions = "\n".join(f"- {sentence}" for sentence in self.assumptions)
        return f"{alone} {promise} ({self.method} bound), if\n{conditions}"


def shuffled(*, local_epsilon: float, n_reports: int, delta: float, colluding: int = 0) -> ShuffledPrivacy:
    r"""What shuffled reports promise together: the better of two proven bounds, and never more than ε₀.

    Parameters
    ----------
    local_epsilon : float
        $\epsilon_0$ of one report, from 0.01 to 20. It must be pure: a report with a δ of its own is not covered.
    n_reports : int
        $n$, how many users send one report each.
    delta : float
        δ of the promise.
    colluding : int
        How many other users may tell the curator their reports; only the rest hides anybody.

    Examples
    --------
    >>> promise = shuffled(local_epsilon=4.0, n_reports=100_000, delta=1e-6)
    >>> promise.epsilon
    0.1698
    >>> promise.method
    'numerical'
    >>> shuffled(local_epsilon=4.0, n_reports=100_000, delta=1e-6, colluding=50_000).epsilon
    0.2467
    """
    local = _check.number("local_epsilon", local_epsilon, _LOCAL_EPSILON)
    dlt = _check.number("delta", delta, _DELTA)
    honest = _honest(n_reports, colluding)
    epsilon, method = _best(local, honest, dlt)
    return ShuffledPrivacy(
        epsilon=epsilon,
        delta=dlt,
        local_epsilon=local,
        n_reports=int(n_reports),
        colluding=int(colluding),
        method=method,
        assumptions=_assumptions(int(n_reports), int(colluding)),
    )


def largest_local_epsilon(*, epsilon: float, delta: float, n_reports: int, colluding: int = 0) -> float:
    """The largest ε₀, in three digits and at most 20, whose shuffled reports keep (ε, δ).

    It is never below ε itself (in three digits), which needs no shuffler.

    Parameters
    ----------
    epsilon, delta : float
        What the shuffled reports must promise together.
    n_reports, colluding : int
        As for `shuffled`.

    Raises
    ------
    ParameterError
        If not even reports of ε₀ = 0.01, the smallest that a channel has, keep it.

    Examples
    --------
    >>> largest_local_epsilon(epsilon=0.5, delta=1e-6, n_reports=100_000)
    5.91
    >>> largest_local_epsilon(epsilon=0.5, delta=1e-6, n_reports=10)
    0.5
    """
    eps = _check.number("epsilon", epsilon, _check.POSITIVE)
    dlt = _check.number("delta", delta, _DELTA)
    honest = _honest(n_reports, colluding)
    best = _last(lambda index: _best(_candidate(index), honest, dlt)[0] <= eps)
    if best is None:
        remedy = (
            "Without a shuffler, reports of local_epsilon = epsilon would keep it, but no channel goes below 0.01: "
            "ask for more reports or a larger epsilon."
        )
        expected = f"large enough for shuffled reports of local_epsilon = 0.01 ({honest:,} count)"
        raise ParameterError("epsilon", expected, epsilon, remedy=remedy)
    return _candidate(best)


def _best(local_epsilon: float, honest: int, delta: float) -> tuple[float, Method]:
    best: tuple[float, Method] = (local_epsilon, "local")
    if honest == 1:
        return best  # nobody to hide among
    numerical = numerical_epsilon(local_epsilon=local_epsilon, n_reports=honest, delta=delta)
    if numerical < best[0]:
        best = numerical, "numerical"
    closed_form = closed_form_epsilon(local_epsilon=local_epsilon, n_reports=honest, delta=delta)
    if closed_form is not None and closed_form < best[0]:
        best = closed_form, "closed form"
    return best


def _honest(n_reports: int, colluding: int) -> int:
    """The number of reports that the curator cannot set aside."""
    n = _check.integer("n_reports", n_reports, at_least=1)
    known = _check.integer("colluding", colluding, at_least=0)
    if known >= n:
        raise ParameterError("colluding", f"below n_reports ({n:,}), since it counts other users", colluding)
    return n - known


def _candidate(index: int) -> float:
    decade, digits = divmod(index, _PER_DECADE)
    return float(f"{100 + digits}e{decade - 4}")  # the float nearest to the decimal


def _last(holds: Callable[[int], bool]) -> int | None:
    """The last candidate for which a condition holds that, once it fails, keeps failing; None if there is none."""
    if not holds(0):
        return None
    holding, failing = 0, _LAST_CANDIDATE + 1
    while failing - holding > 1:
        middle = (holding + failing) // 2
        if holds(middle):
            holding = middle
        else:
            failing = middle
    return holding


def _assumptions(n_reports: int, colluding: int) -> tuple[str, ...]:
    if colluding:
        pooling = f"At most {colluding:,} other users pool what they know with the curator"
    else:
        pooling = "No other user pools what they know with the curator"
    return (
        "The shuffler removes origin and order of the reports, and everything else that tells users apart, "
        "and colludes with nobody.",
        "All users send through the same channel with the same ε, which is pure (its δ is 0).",
        "Each user sends one report.",
        f"{pooling}, so that {n_reports - colluding:,} reports count.",
        "Neighbors differ in one user's value; how many reports there are is public.",
        "The shuffled reports are published once; what else is published about the same values adds to it.",
        "Values of the trusted group are not covered: they do not go through the shuffler.",
    )


def _up(x: float, digits: int = 3) -> str:
    """A few digits of a number, never less than it."""
    if x == 0.0:
        return "0"
    unit = math.floor(math.log10(x)) - digits + 1
    rounded = math.ceil(x / 10.0**unit * (1.0 - 1e-12))
    return f"{float(f'{rounded}e{unit}'):g}"
