"""Which kind of study a text describes."""

import pytest

from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy
from hybriddp.errors import ProtocolError
from hybriddp.kmeans import KMeansStudy
from hybriddp.service.kinds import DistributionKind, FrequencyKind, KMeansKind, MeanKind, study_kind


def test_each_text_is_of_its_kind() -> None:
    mean = MeanStudy("session minutes", bounds=(0, 240), epsilon=1.0)
    shares = FrequencyStudy("opened the app", categories=["yes", "no"], epsilon=1.0)
    assert study_kind(mean.to_json()) == MeanKind(mean)
    load = DistributionStudy("page load ms", bounds=(0, 10_000), epsilon=1.0, scale="log")
    assert study_kind(shares.to_json()) == FrequencyKind(shares)
    assert study_kind(load.to_json()) == DistributionKind(load)
    visits = KMeansStudy("visits", n_clusters=2, bounds=[(0, 24)], epsilon=1)
    assert study_kind(visits.to_json()) == KMeansKind(visits)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '"mean"',
        '{"type": null}',
        "[" * 5000,
        '{"type": "mean"}',
        '{"type": "frequency"}',
        '{"type": "distribution"}',
        '{"type": ["mean"]}',
    ],
)
def test_a_text_that_is_no_study(text: str) -> None:
    with pytest.raises(ProtocolError):
        study_kind(text)


def test_a_kind_that_the_server_does_not_know() -> None:
    with pytest.raises(ProtocolError, match="type must be one of distribution, frequency, heavy-hitters, kmeans, mean"):
        study_kind('{"type": "median"}')
