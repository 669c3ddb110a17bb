import json

import numpy as np
import pytest

from hybriddp.channels import MaskedResponse
from hybriddp.distribution import BinCounts, DistributionStudy, PatternCounts
from hybriddp.errors import DataError, ProtocolError

STUDY = DistributionStudy("x", bounds=(0, 1), epsilon=1)
OTHER = DistributionStudy("y", bounds=(0, 1), epsilon=1)
VALUES = np.random.default_rng(0).random(70_001)


def test_what_belongs_to_another_study_is_refused() -> None:
    """Another name, ε, number of label bits or edges: all of them are in the digest."""
    others = [
        OTHER,
        DistributionStudy("x", bounds=(0, 1), epsilon=2),
        DistributionStudy("x", bounds=(0, 1), epsilon=1, channel=MaskedResponse(epsilon=1, label_bits=3)),
        DistributionStudy("x", bounds=(0, 1), epsilon=1, scale="log"),
        DistributionStudy("x", bounds=(0, 1), epsilon=1, scale=(np.arange(255) / 254) ** 3),
        DistributionStudy("x", bounds=(0, 2), epsilon=1),
        STUDY.part("country", "DE"),
    ]
    for other in others:
        with pytest.raises(ProtocolError, match="different studies"):
            STUDY.summarize_trusted([0.5]) + other.summarize_trusted([0.5])
        with pytest.raises(ProtocolError, match="different studies"):
            STUDY.summarize_local([1]) + other.summarize_local([1])
        with pytest.raises(ProtocolError, match="The reports belong to study"):
            STUDY.summarize_local(other.randomize([0.5]))
        with pytest.raises(ProtocolError, match="The summary belongs to study"):
            STUDY.estimate(trusted=other.summarize_trusted([0.5, 0.6]), local=[1, 2])
        with pytest.raises(ProtocolError, match="The summary belongs to study"):
            STUDY.estimate(trusted=[0.5, 0.6], local=other.summarize_local([1, 2]))
    with pytest.raises(ProtocolError, match="different channels"):
        PatternCounts("d", (1, 2)) + PatternCounts("d", (1, 2, 3))
    with pytest.raises(ProtocolError, match="has 5 codes, the study 1996"):
        STUDY.estimate(trusted=[0.5, 0.6], local=PatternCounts(STUDY.digest, (1,) * 5))


def test_only_the_same_kind_adds_up() -> None:
    with pytest.raises(TypeError):
        STUDY.summarize_trusted([0.5]) + STUDY.summarize_local([1])
    with pytest.raises(TypeError):
        STUDY.summarize_local([1]) + 5
    with pytest.raises(TypeError):
        5 + STUDY.summarize_local([1])


def test_text_and_summary_are_inverses() -> None:
    for summary in (STUDY.summarize_trusted(VALUES[:9]), STUDY.summarize_local([3, 4])):
        assert type(summary).from_json(summary.to_json()) == summary


@pytest.mark.parametrize(
    "change",
    [
        {"counts": [1] * 255},
        {"counts": [-1, *[0] * 255]},
        {"counts": [0.5, *[0] * 255]},
        {"counts": 5},
        {"study": 5},
        {"rejected": -1},
        {"clamped": 100},
        {"more": 1},
    ],
)
def test_tampered_bin_counts_are_refused(change: dict[str, object]) -> None:
    stored = json.loads(STUDY.summarize_trusted([0.1, 0.2]).to_json())
    with pytest.raises(DataError, match="not a BinCounts"):
        BinCounts.from_json(json.dumps({**stored, **change}))


@pytest.mark.parametrize("change", [{"counts": [True]}, {"tied": 1}, {"seeded": None}, {"study": None}])
def test_tampered_pattern_counts_are_refused(change: dict[str, object]) -> None:
    stored = json.loads(STUDY.summarize_local([3]).to_json())
    with pytest.raises(DataError, match="not a PatternCounts"):
        PatternCounts.from_json(json.dumps({**stored, **change}))


def test_exact_counts_are_not_shown() -> None:
    summary = STUDY.summarize_trusted([0.0] * 31337)
    assert "31,337 values" in repr(summary)
    assert "not private" in repr(summary)
    assert str(summary.counts) not in repr(summary)
