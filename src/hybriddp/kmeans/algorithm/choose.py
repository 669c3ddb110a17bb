"""Which algorithm, and whether the trusted group takes part in it: decided by public numbers only.

In more than three dimensions a trusted group that is too small, beside the local users, to help is not used: it pays
nothing.
"""

from fractions import Fraction

from hybriddp.errors import DataError, ParameterError
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.high_dim import high_dim_algorithm
from hybriddp.kmeans.algorithm.low_dim import low_dim_algorithm
from hybriddp.kmeans.algorithm.plans import LEAST_EPSILON_FRACTION, trusted_takes_part
from hybriddp.kmeans.algorithm.problem import Algorithm, Problem
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.privacy import SMALLEST_EPSILON


def trusted_pays(study: KMeansStudy, n_trusted: int, n_local: int) -> bool:
    """Whether a trusted group of this size pays for anything."""
    return n_trusted > 0 and _is_used(_problem(study, n_trusted, n_local))


def require_users(study: KMeansStudy, n_trusted: int, n_local: int) -> None:
    """Raise an error if there are too few users, or a trusted group alone whose ε is too small to be divided."""
    if n_trusted and not n_local and not trusted_pays(study, n_trusted, n_local):
        least = float(Fraction(SMALLEST_EPSILON) / LEAST_EPSILON_FRACTION)
        expected = f"at least {least:g} without local users in more than {tuning.MAX_LOW_DIM} dimensions, where it is "
        expected += "divided into releases"
        raise ParameterError("epsilon", expected, study.privacy.epsilon, remedy="Nothing has been spent.")
    if n_trusted + n_local < study.n_clusters:
        raise DataError(
            f"There must be at least as many users as clusters, but there are {n_trusted + n_local:,} users for "
            f"{study.n_clusters:,} clusters. Nothing has been spent."
        )


def choose_algorithm(study: KMeansStudy, *, n_trusted: int, n_local: int) -> Algorithm:
    """Choose the algorithm for a study."""
    require_users(study, n_trusted, n_local)
    problem = _problem(study, n_trusted if trusted_pays(study, n_trusted, n_local) else 0, n_local)
    algorithm = low_dim_algorithm if problem.n_dimensions <= tuning.MAX_LOW_DIM else high_dim_algorithm
    return algorithm(problem)


def _is_used(problem: Problem) -> bool:
    """Whether the trusted group helps, and each release would cost at least the least ε that a promise can be about."""
    if problem.n_dimensions <= tuning.MAX_LOW_DIM:
        return True
    cheapest = Fraction(problem.epsilon) * LEAST_EPSILON_FRACTION
    return cheapest >= Fraction(SMALLEST_EPSILON) and (not problem.n_local or trusted_takes_part(problem))


def _problem(study: KMeansStudy, n_trusted: int, n_local: int) -> Problem:
    return Problem(
        n_clusters=study.n_clusters,
        widths=study.box.widths,
        epsilon=study.privacy.epsilon,
        n_trusted=n_trusted,
        n_local=n_local,
    )
