import json
from typing import Any

import numpy as np
import pytest

from hybriddp.channels import MaskedResponse, RandomizedResponse
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.release import Part

STUDY = DistributionStudy("page load ms", bounds=(0, 10_000), epsilon=1.0, scale="log")
VALUES = np.random.default_rng(0).lognormal(6.0, 0.8, 40_000)
EDGES = np.concatenate([np.linspace(0, 1000, 200), np.linspace(1100, 10_000, 55)])
STUDIES = [
    STUDY,
    DistributionStudy("x", bounds=(-1, 1), epsilon=0.5, min_group_size=50),
    DistributionStudy("Zeit in ms, größer", bounds=(0, 10_000), epsilon="4", scale=EDGES),
    DistributionStudy("x", bounds=(0, 1), epsilon=2, scale="log", kappa=50, users=Part("country", "DE")),
    DistributionStudy("x", bounds=(0, 1), epsilon=1, channel=MaskedResponse(epsilon=1, label_bits=4)),
]


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
    assert len({study.digest for study in STUDIES}) == len(STUDIES)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 1},
        {"type": "mean"},
        {"name": ""},
        {"name": 5},
        {"bounds": [0.0]},
        {"bounds": [0, 10000.0]},
        {"epsilon": "2"},
        {"epsilon": 1},
        {"min_group_size": 0},
        {"min_group_size": True},
        {"scale": "linear"},
        {"scale": {"log": 999.0}},
        {"scale": {"log": 1000}},
        {"scale": {"log": 1000.0, "edges": []}},
        {"scale": {}},
        {"scale": None},
        {"cuts": [1, 2, 3]},
        {"channel": None},
        {"channel": json.loads(RandomizedResponse(epsilon=1, n_categories=4).to_json())},
        {"users": {"by": "x"}},
        {"mean_study": {}},
        {"more": 1},
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
        ({"name": "\n"}, "^name must be"),
        ({"bounds": (1, 0)}, "^bounds must be"),
        ({"bounds": 5}, "^bounds must be"),
        ({"epsilon": 0}, "^epsilon must be"),
        ({"min_group_size": 0}, "^min_group_size must be"),
        ({"users": "DE"}, "^users must be"),
        ({"channel": "masked"}, "^channel must be None or a MaskedResponse for epsilon 1"),
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
    assert not STUDY.randomize(values).seeded
    assert len(STUDY.randomize(5.0)) == 1
    assert len(STUDY.randomize([])) == 0


def test_large_inputs_are_randomized_in_chunks_alike() -> None:
    many = np.resize(VALUES, 100_001)
    bins = STUDY.bins.of_units(STUDY.grid.units(many))
    assert np.array_equal(STUDY.randomize(many, random_state=1).codes, STUDY.channel.sample(bins, random_state=1))


@pytest.mark.parametrize("values", [[float("nan")], [1.0, None], ["a"], [[1.0]], [float("inf")]])
def test_there_is_no_report_for_what_is_not_a_number(values: object) -> None:
    with pytest.raises(DataError, match="^values must be"):
        STUDY.randomize(values)


def test_a_study_is_shown_shortly() -> None:
    assert repr(STUDY) == ("DistributionStudy('page load ms', bounds=(0.0, 10000.0), epsilon='1', scale='log')")
    assert len(repr(DistributionStudy("x" * 500, bounds=(0, 1), epsilon=1))) < 200
