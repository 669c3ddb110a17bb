import json
from typing import Any

import numpy as np
import pytest

from hybriddp.channels import MaskedResponse
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import DataError, ParameterError, ProtocolError

STUDY = DistributionStudy("page load ms", bounds=(0, 10_000), epsilon=1.0, scale="log")
VALUES = np.random.default_rng(0).lognormal(6.0, 0.8, 40_000)
EDGES = np.concatenate([np.linspace(0, 1000, 200), np.linspace(1100, 10_000, 55)])


def test_the_text_is_this() -> None:
    fields = json.loads(STUDY.to_json())
    cuts = fields.pop("cuts")
    assert fields == {
        "type": "distribution",
        "version": 2,
        "name": "page load ms",
        "bounds": [0.0, 10_000.0],
        "epsilon": "1",
        "min_group_size": 2,
        "scale": {"log": 1000.0},
        "channel": json.loads(MaskedResponse(epsilon=1).to_json()),
        "users": None,
    }
    assert cuts == STUDY.bins.cuts.tolist()


@pytest.mark.parametrize(
    "change",
    [
        {"bounds": [0.0]},
        {"bounds": [0, 10000.0]},
        {"scale": "linear"},
        {"scale": {"log": 999.0}},
        {"scale": {"log": 1000}},
        {"scale": {"log": 1000.0, "edges": []}},
        {"scale": {}},
        {"scale": None},
        {"cuts": [1, 2, 3]},
        {"mean_study": {}},
    ],
    ids=str,
)
def test_a_tampered_text_is_refused(change: dict[str, Any]) -> None:
    fields = json.loads(STUDY.to_json()) | change
    with pytest.raises(ProtocolError):
        DistributionStudy.from_json(json.dumps(fields, separators=(",", ":")))


def test_a_cut_that_was_moved_is_refused() -> None:
    text = STUDY.to_json()
    cut = str(STUDY.bins.cuts[100])
    assert text.count(f",{cut},") == 1
    with pytest.raises(ProtocolError, match="its text is not the one that to_json writes"):
        DistributionStudy.from_json(text.replace(f",{cut},", f",{int(cut) + 1},"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bounds": (1, 0)}, "^bounds must be"),
        ({"bounds": 5}, "^bounds must be"),
        ({"channel": MaskedResponse(epsilon=2)}, "^channel must be None or a MaskedResponse for epsilon 1"),
        ({"scale": [0, 1]}, "^scale must be"),
    ],
)
def test_parameters_are_checked(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        DistributionStudy(**{"name": "x", "bounds": (0, 1), "epsilon": 1, **given})


def test_reports_are_those_of_the_bins() -> None:
    values = [-5.0, 0.0, 10.0, 333.3, 9_999.9, 10_000.0, 1e9]
    reports = STUDY.randomize(values, random_state=4)
    bins = STUDY.bins.of_units(STUDY.grid.place(values).units)
    assert bins[[0, 1, -2, -1]].tolist() == [0, 0, 255, 255]
    assert np.array_equal(reports.codes, STUDY.channel.sample(bins, random_state=4))
    assert (reports.study, reports.seeded, reports.codes.dtype) == (STUDY.digest, True, np.dtype(np.uint16))


def test_large_inputs_are_randomized_in_chunks_alike() -> None:
    many = np.resize(VALUES, 100_001)
    bins = STUDY.bins.of_units(STUDY.grid.units(many))
    assert np.array_equal(STUDY.randomize(many, random_state=1).codes, STUDY.channel.sample(bins, random_state=1))


def test_there_is_no_report_for_what_is_not_a_number() -> None:
    values: Any
    for values in ([float("nan")], [1.0, None], ["a"], [[1.0]], [float("inf")]):
        with pytest.raises(DataError, match="^values must be"):
            STUDY.randomize(values)
    assert repr(STUDY) == "DistributionStudy('page load ms', bounds=(0.0, 10000.0), epsilon='1', scale='log')"
