r"""Which algorithm, and what the trusted group does in it: decided by public numbers only.

Where group sizes are public and the trusted group is too small to help in many dimensions, its points are reported as
if they were local: the curator lets each of them answer one question, through the same channel. Its users then pay what
local users pay, ε, and count as much. So are they if the trusted group is alone and ε is too small to be shared out.
"""

from fractions import Fraction

from hybriddp.errors import ParameterError
from hybriddp.kmeans.algorithm.high_dim import LEAST_EPSILON_FRACTION, many_dimensions, trusted_takes_part
from hybriddp.kmeans.algorithm.low_dim import few_dimensions
from hybriddp.kmeans.algorithm.problem import Problem
from hybriddp.kmeans.algorithm.step import Algorithm, Release, Step
from hybriddp.kmeans.statistics import UserCount
from hybriddp.kmeans.study import SIZE_EPSILON_FRACTION, KMeansStudy
from hybriddp.odds import SMALLEST

FEW = 3
"""Up to so many dimensions a grid covers the whole box."""


def trusted_is_used(study: KMeansStudy, n_trusted: int, n_local: int) -> bool:
    """Whether the trusted group takes part; where it cannot help it pays nothing. Decided by public numbers only.

    A group whose size is private always takes part: its size is released first, and pays for itself.
    """
    if not n_trusted or study.size_is_private or study.box.n_dimensions <= FEW:
        return n_trusted > 0
    problem = _problem(study, n_trusted, n_local)
    return _takes_part(problem) if n_local else _affordable(problem)


def require_enough_epsilon(study: KMeansStudy, n_trusted: int, n_local: int) -> None:
    """Raise `ParameterError` if the trusted group is alone, and ε too small to be divided into its releases."""
    if n_trusted and not n_local and not trusted_is_used(study, n_trusted, n_local):
        least = float(Fraction(SMALLEST) / LEAST_EPSILON_FRACTION)
        raise ParameterError(
            "epsilon",
            f"at least {least:g} without local users in more than {FEW} dimensions, where it is divided into releases",
            study.privacy.epsilon,
            remedy="Nothing has been spent.",
        )


def joins_local(study: KMeansStudy, n_trusted: int, n_local: int) -> bool:
    """Whether the trusted group's points are reported as if they were local."""
    if study.size_is_private or not n_trusted or study.box.n_dimensions <= FEW:
        return False
    problem = _problem(study, n_trusted, n_local)
    return not _takes_part(problem) if n_local else not _affordable(problem)


def choose_algorithm(study: KMeansStudy, *, has_trusted: bool, n_trusted: int, n_local: int) -> Algorithm:
    """The algorithm for a study.

    Parameters
    ----------
    study : KMeansStudy
        The study.
    has_trusted : bool
        Whether there is a trusted group at all.
    n_trusted : int
        Its size. Not looked at where it is private: it is released first.
    n_local : int
        The size of the local group.
    """
    epsilon_left = Fraction(1)
    if not has_trusted:
        n_trusted = 0
    elif study.size_is_private:
        heard = yield Step("the size of the trusted group", release=Release(UserCount(), SIZE_EPSILON_FRACTION))
        assert heard.published is not None  # noqa: S101
        n_trusted, epsilon_left = max(int(heard.published.values[0]), 1), 1 - SIZE_EPSILON_FRACTION
    elif joins_local(study, n_trusted, n_local):
        n_trusted, n_local = 0, n_trusted + n_local
    problem = _problem(study, n_trusted, n_local, epsilon_left)
    if study.box.n_dimensions <= FEW:
        return (yield from few_dimensions(problem))
    if n_local and not _takes_part(problem):
        problem = _problem(study, 0, n_local, epsilon_left)
    return (yield from many_dimensions(problem))


conversation = choose_algorithm


def _takes_part(problem: Problem) -> bool:
    return _affordable(problem) and trusted_takes_part(problem)


def _affordable(problem: Problem) -> bool:
    """Whether each release would cost as much as the least that a promise can be about."""
    return Fraction(problem.epsilon) * problem.epsilon_left * LEAST_EPSILON_FRACTION >= Fraction(SMALLEST)


def _problem(study: KMeansStudy, n_trusted: int, n_local: int, epsilon_left: Fraction = Fraction(1)) -> Problem:
    return Problem(
        n_clusters=study.n_clusters,
        widths=study.box.widths,
        epsilon=study.privacy.epsilon,
        changed_users=study.changed_users,
        n_trusted=n_trusted,
        n_local=n_local,
        epsilon_left=epsilon_left,
    )
