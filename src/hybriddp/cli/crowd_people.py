"""Simulated people: what they have, and what their devices draw from it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.client.contribution import Contribution
from hybriddp.client.offer import StudyOffer
from hybriddp.client.problems import RejectedError, UnavailableError
from hybriddp.client.questions import OfferedStudy
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import BudgetError, DataError, HybridDPError, ParameterError, ProtocolError, raise_unchained
from hybriddp.items import HeavyHitterStudy
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.mean import MeanStudy
from hybriddp.shares import FrequencyStudy
from hybriddp.simulation.distributions import population

__all__ = ["SimulatedPerson", "check_values", "rejection_reason", "simulated_people"]

N_ITEMS = 1_000
"""Different items of simulated people in an open domain, unless as many shares are given."""
_AT_A_TIME = 10_000  # people whose values are drawn together
_NUMBER = r"[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?"
_ZIPF = re.compile(rf"zipf\( *({_NUMBER}) *\)")
_SHARES = re.compile(rf"shares\( *({_NUMBER}(?: *, *{_NUMBER})*) *\)")

_IN_ROUNDS = "A study that asks in rounds needs people who come back: see crowd_rounds."


@dataclass(frozen=True, slots=True)
class SimulatedPerson:
    """Somebody who does not exist: their name at the curator, and what they send."""

    name: str
    contribution: Contribution


def check_values(offer: StudyOffer, values: str) -> None:
    """Raise `ParameterError` if the values of people cannot be drawn from this: before anybody is sent."""
    if isinstance(offer.study, HeavyHitterStudy):
        item_shares(values)
        return
    if isinstance(offer.study, FrequencyStudy):
        category_shares(values, len(offer.study.names))
        return
    if isinstance(offer.study, KMeansStudy):
        raise ProtocolError(_IN_ROUNDS)
    try:
        population(values, offer.study.bounds)
    except ParameterError as wrong:
        raise_unchained(ParameterError("values", wrong.expected.removeprefix("values or "), values))


def category_shares(values: str, n_categories: int) -> FloatArray:
    """Return the share of each category among simulated people.

    Examples
    --------
    >>> category_shares("zipf(1)", 3).round(3).tolist()
    [0.545, 0.273, 0.182]
    >>> category_shares("shares(3, 1)", 2).tolist()
    [0.75, 0.25]
    """
    rank = np.arange(1, n_categories + 1, dtype=np.float64)
    if values == "uniform":
        weights = np.ones(n_categories)
    elif zipf := _ZIPF.fullmatch(values):
        weights = rank ** -min(float(zipf[1]), 20.0)
    elif shares := _SHARES.fullmatch(values):
        weights = np.array([float(share) for share in shares[1].split(",")])
    else:
        weights = np.empty(0)
    if len(weights) != n_categories or not 0 < weights.sum() < np.inf:
        expected = f"uniform, zipf(1) or shares(…) with one number for each of the {n_categories:,} categories"
        raise ParameterError("values", expected, values)
    shares_of: FloatArray = weights / weights.sum()
    return shares_of


def item_shares(values: str) -> FloatArray:
    """Return the shares of the items of simulated people in an open domain.

    The items are ``item 1``, ``item 2``, and so on.

    Examples
    --------
    >>> len(item_shares("zipf(1)")), len(item_shares("shares(3,1)"))
    (1000, 2)
    """
    given = _SHARES.fullmatch(values)
    return category_shares(values, given[1].count(",") + 1 if given else N_ITEMS)


def simulated_people(
    offer: StudyOffer, values: str, group: str, first: int, last: int, *, prefix: str, seed: int
) -> Iterator[SimulatedPerson]:
    """Simulate the people with these numbers, who are all in one group.

    Their devices draw as real ones do.
    """
    rng = np.random.default_rng([seed, first])
    for start in range(first, last, _AT_A_TIME):
        drawn = _contributions(offer, values, group, min(_AT_A_TIME, last - start), rng)
        for i, contribution in enumerate(drawn, start):
            yield SimulatedPerson(f"{prefix}-{i}", contribution)


def _contributions(
    offer: StudyOffer, values: str, group: str, count: int, rng: np.random.Generator
) -> Iterator[Contribution]:
    made = _values(offer.study, values, count, rng)
    if group == "trusted":
        return (offer.draw(value, group=group) for value in made)
    asked = offer.asked.reported
    if isinstance(asked, KMeansStudy | HeavyHitterStudy):
        raise ProtocolError(_IN_ROUNDS)
    codes = asked.randomize(made).codes.tolist()
    return (Contribution.new(asked.digest, group, code) for code in codes)


def _values(
    study: OfferedStudy, values: str, count: int, rng: np.random.Generator
) -> list[float] | list[str] | list[str | int]:
    if isinstance(study, HeavyHitterStudy):
        shares = item_shares(values)
        return [f"item {i + 1}" for i in rng.choice(len(shares), count, p=shares).tolist()]
    if isinstance(study, FrequencyStudy):
        return _items(study, values, count, rng)
    if isinstance(study, KMeansStudy):
        raise ProtocolError(_IN_ROUNDS)
    return _numbers(study, values, count, rng)


def _numbers(study: MeanStudy | DistributionStudy, values: str, count: int, rng: np.random.Generator) -> list[float]:
    crowd = population(values, study.bounds).values
    found: list[float] = study.grid.values(rng.choice(crowd.units, count, p=crowd.users / crowd.count)).tolist()
    return found


def _items(study: FrequencyStudy, values: str, count: int, rng: np.random.Generator) -> list[str | int]:
    """Categories; who has another item has one that no study can have as a category."""
    shares = category_shares(values, len(study.names))
    names: list[str | int] = list(study.categories)
    if study.other:
        names.append("\N{REPLACEMENT CHARACTER}" * 1001 if study.domain.are_texts else 1 << 53)
    return [names[i] for i in rng.choice(len(names), count, p=shares).tolist()]


def rejection_reason(error: HybridDPError) -> str:
    """Return the curator's word for a rejection."""
    if isinstance(error, RejectedError):
        return error.reason
    known = {UnavailableError: "unavailable", DataError: "out-of-range", BudgetError: "refused"}
    return known.get(type(error), "the answer cannot be read")
