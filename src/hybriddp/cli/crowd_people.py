"""Simulated people: what they have, and what their devices draw from it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.client.contribution import Contribution
from hybriddp.client.offer import StudyOffer
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import ParameterError, raise_unchained
from hybriddp.frequency import FrequencyStudy
from hybriddp.mean import MeanStudy
from hybriddp.simulation.distributions import population

__all__ = ["SimulatedPerson", "check_values", "simulated_people"]

_AT_A_TIME = 10_000  # people whose values are drawn together
_NUMBER = r"[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?"
_ZIPF = re.compile(rf"zipf\( *({_NUMBER}) *\)")
_SHARES = re.compile(rf"shares\( *({_NUMBER}(?: *, *{_NUMBER})*) *\)")


@dataclass(frozen=True, slots=True)
class SimulatedPerson:
    """Somebody who does not exist: their name at the curator, and what they send."""

    name: str
    contribution: Contribution


def check_values(offer: StudyOffer, values: str) -> None:
    """Raise `ParameterError` if the values of people cannot be drawn from this: before anybody is sent."""
    if isinstance(offer.study, FrequencyStudy):
        category_shares(values, len(offer.study.names))
        return
    try:
        population(values, offer.study.bounds)
    except ParameterError as wrong:
        raise_unchained(ParameterError("values", wrong.expected.removeprefix("values or "), values))


def category_shares(values: str, n_categories: int) -> FloatArray:
    """The share of each category among simulated people.

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


def simulated_people(
    offer: StudyOffer, values: str, group: str, first: int, last: int, *, prefix: str, seed: int
) -> Iterator[SimulatedPerson]:
    """The people with these numbers, who are all in one group; their devices draw as real ones do."""
    rng = np.random.default_rng([seed, first])
    for start in range(first, last, _AT_A_TIME):
        drawn = _contributions(offer, values, group, min(_AT_A_TIME, last - start), rng)
        for i, contribution in enumerate(drawn, start):
            yield SimulatedPerson(f"{prefix}-{i}", contribution)


def _contributions(
    offer: StudyOffer, values: str, group: str, count: int, rng: np.random.Generator
) -> Iterator[Contribution]:
    study = offer.study
    if isinstance(study, FrequencyStudy):
        made: list[Any] = _items(study, values, count, rng)
    else:
        made = _numbers(study, values, count, rng)
    if group == "local":
        codes = study.randomize(made).codes.tolist()
        return (Contribution.new(offer.digest, group, code) for code in codes)
    return (offer.draw(value, group=group) for value in made)


def _numbers(study: MeanStudy | DistributionStudy, values: str, count: int, rng: np.random.Generator) -> list[float]:
    crowd = population(values, study.bounds).crowd
    found: list[float] = study.grid.values(rng.choice(crowd.units, count, p=crowd.users / crowd.count)).tolist()
    return found


def _items(study: FrequencyStudy, values: str, count: int, rng: np.random.Generator) -> list[str | int]:
    """Categories; who has another item has one that no study can have as a category."""
    shares = category_shares(values, len(study.names))
    names: list[str | int] = list(study.categories)
    if study.other:
        names.append("\N{REPLACEMENT CHARACTER}" * 1001 if study.domain.are_texts else 1 << 53)
    return [names[i] for i in rng.choice(len(names), count, p=shares).tolist()]
