import json
from typing import Any

import numpy as np
import pytest

from hybriddp.distribution import DistributionEstimate, DistributionStudy, SavedDistribution
from hybriddp.errors import DataError, ParameterError

STUDY = DistributionStudy("load", bounds=(0, 10_000), epsilon=1, scale="log")
LOAD = np.random.default_rng(0).lognormal(6.0, 0.8, 62_000)


@pytest.fixture(scope="module")
def estimate() -> DistributionEstimate:
    reports = STUDY.randomize(LOAD[2000:], random_state=1)
    return STUDY.estimate(trusted=LOAD[:2000], local=reports, random_state=2)


@pytest.fixture(scope="module")
def saved(estimate: DistributionEstimate) -> SavedDistribution:
    return SavedDistribution.from_json(estimate.to_json(at=[0.5]))


def test_other_quantiles_are_those_of_the_estimate(estimate: DistributionEstimate, saved: SavedDistribution) -> None:
    assert np.array_equal(saved.bins.edges, STUDY.bins.edges)
    for here, there in ((saved, estimate), (saved.allowing_groups_to_differ(), estimate.allowing_groups_to_differ())):
        for q in (0.1, 0.5, 0.8, 0.95):
            again, first = here.quantile(q), there.quantile(q)
            widest = STUDY.bins.widths[first.bin_number : first.bin_number + 2].max()
            assert abs(again.value - first.value) <= widest
            assert again.interval.lower <= first.interval.lower  # errors were rounded up
            assert again.interval.upper >= first.interval.upper
            assert np.searchsorted(STUDY.bins.edges, again.interval.upper) <= 2 + np.searchsorted(
                STUDY.bins.edges, first.interval.upper
            )


def test_values_of_the_cdf_are_those_of_the_estimate(estimate: DistributionEstimate, saved: SavedDistribution) -> None:
    for x in (float(STUDY.bins.edges[100]), 333.3, 0.0):
        again, first = saved.cdf(x), estimate.cdf(x)
        assert again.value == pytest.approx(first.value, abs=0.002)
        assert again.standard_error >= 0.9 * first.standard_error
        assert again.interval.lower <= first.interval.lower + 1e-3
        assert again.interval.upper >= first.interval.upper - 1e-3
    assert (saved.cdf(-1).value, saved.cdf(10_000).value, saved.cdf(10_000).standard_error) == (0, 1, 0)


def test_results_of_servers_and_parts_are_read(estimate: DistributionEstimate) -> None:
    told = estimate.to_dict()
    server = SavedDistribution.from_json(json.dumps({"estimate": told, "answer": "…"}))
    assert server.quantile(0.9) == SavedDistribution.from_json(json.dumps(told)).quantile(0.9)
    part = {**told, "users": {"by": "country", "key": "DE"}}
    text = json.dumps({"by": "country", "parts": [{"key": "DE", "estimate": part}, {"key": "FR", "estimate": told}]})
    german, _ = SavedDistribution.from_parts_json(text)
    assert german.title == "load [country = DE]"
    assert repr(german) == "SavedDistribution('load [country = DE]')"
    with pytest.raises(DataError, match="2 parts of the users"):
        SavedDistribution.from_json(text)


def _without_errors(told: dict[str, Any]) -> None:
    told["cdf"]["standard_errors"][7] = -1.0


def _falling(told: dict[str, Any]) -> None:
    told["cdf"]["values"] = told["cdf"]["values"][::-1]


def _short(told: dict[str, Any]) -> None:
    told["cdf"]["edges"].pop()


@pytest.mark.parametrize("spoil", [_without_errors, _falling, _short])
def test_other_texts_are_refused(estimate: DistributionEstimate, spoil: Any) -> None:  # noqa: ANN401
    told = estimate.to_dict()
    spoil(told)
    for text in (json.dumps(told), "no JSON", "[]", "{}", '{"estimate": 7}'):
        with pytest.raises(DataError, match="holds no released distribution"):
            SavedDistribution.from_json(text)


def test_what_was_not_saved_is_not_known(estimate: DistributionEstimate, saved: SavedDistribution) -> None:
    honest = SavedDistribution.from_json(estimate.allowing_groups_to_differ().to_json())
    with pytest.raises(DataError, match="one answer only"):
        honest.allowing_groups_to_differ()
    with pytest.raises(ParameterError, match="^q must be"):
        saved.quantile(1.0)
    assert [one.q for one in saved.published()] == [0.5, 0.9, 0.95, 0.99]
