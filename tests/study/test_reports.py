import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hybriddp.distribution import DistributionStudy
from hybriddp.errors import DataError, ProtocolError
from hybriddp.items import HeavyHitterStudy
from hybriddp.mean import LocalSummary, MeanStudy, Reports
from hybriddp.shares import FrequencyStudy
from hybriddp.study.reports import receive

STUDY = MeanStudy("minutes", bounds=(0, 240), epsilon=1)
OTHER = MeanStudy("minutes", bounds=(0, 240), epsilon=20)
VALUES = np.linspace(0, 240, 1000)
REPORTS = STUDY.randomize(VALUES, random_state=1)


def test_reports_of_another_study_are_refused() -> None:
    for local in (REPORTS, REPORTS[:10]):
        with pytest.raises(ProtocolError, match="The reports belong to study"):
            OTHER.summarize_local(local)
        with pytest.raises(ProtocolError, match="The reports belong to study"):
            OTHER.estimate(trusted=[1.0, 2.0], local=local)


def test_plain_integers_are_taken_but_not_tied() -> None:
    assert STUDY.summarize_local(REPORTS).tied
    tied, untied = STUDY.summarize_local(REPORTS), STUDY.summarize_local(REPORTS.tolist())
    assert not untied.tied
    assert isinstance(tied, LocalSummary)
    assert untied == replace(tied, tied=False, seeded=False)


def test_a_part_of_the_users_takes_what_was_made_for_everybody() -> None:
    part = STUDY.part("country", "DE")
    assert part.summarize_local(REPORTS).tied
    assert part.summarize_local(part.randomize(VALUES)).tied
    with pytest.raises(ProtocolError):
        STUDY.summarize_local(part.randomize(VALUES))
    with pytest.raises(ProtocolError):
        STUDY.part("country", "FR").summarize_local(part.randomize(VALUES))


def test_parts_of_reports_are_reports() -> None:
    odd = np.arange(1000) % 2 == 1
    for part, expected in (
        (REPORTS[10:20], REPORTS.codes[10:20]),
        (REPORTS[odd], REPORTS.codes[odd]),
        (REPORTS[[5, 3]], REPORTS.codes[[5, 3]]),
        (REPORTS[:500] + REPORTS[500:], REPORTS.codes),
        (sum([REPORTS[:500], REPORTS[500:]]), REPORTS.codes),
    ):
        assert isinstance(part, Reports)
        assert part.study == STUDY.digest
        assert part.seeded
        np.testing.assert_array_equal(part, expected)
    assert type(REPORTS[3]) is int
    assert REPORTS[np.int64(3)] == REPORTS[3] == list(REPORTS)[3]
    with pytest.raises(IndexError):
        REPORTS[1000]


def test_reports_of_different_studies_do_not_add_up() -> None:
    with pytest.raises(ProtocolError, match="different studies"):
        REPORTS + OTHER.randomize(VALUES)
    for wrong in (REPORTS.codes, 1):
        with pytest.raises(TypeError):
            REPORTS + wrong


def test_libraries_take_them_for_integers() -> None:
    assert np.asarray(REPORTS).dtype == REPORTS.dtype == np.uint8
    assert np.asarray(REPORTS, float).dtype == float
    assert pd.DataFrame({"code": REPORTS})["code"].tolist() == REPORTS.tolist()
    assert pl.DataFrame({"code": np.asarray(REPORTS)})["code"].to_list() == REPORTS.tolist()
    assert np.bincount(REPORTS).sum() == 1000
    assert REPORTS.shape == (1000,)
    assert REPORTS.ndim == 1
    assert REPORTS.astype(int).dtype == int


def test_equality_is_that_of_codes_and_study() -> None:
    same = STUDY.randomize(VALUES, random_state=1)
    assert same == REPORTS
    assert hash(same) == hash(REPORTS)
    assert REPORTS[:-1] != REPORTS
    assert Reports(REPORTS.codes, OTHER.digest) != REPORTS
    assert REPORTS != "reports"


def test_one_value_is_one_report() -> None:
    one = STUDY.randomize(37.5, random_state=1)
    assert len(one) == 1
    assert int(one) == one[0]
    with pytest.raises(TypeError, match="1,000"):
        int(REPORTS)


def test_they_cannot_be_changed_and_must_be_codes() -> None:
    with pytest.raises(ValueError, match="read-only"):
        REPORTS.codes[0] = 1
    for codes in ([0.5], [[1]], ["a"]):
        with pytest.raises(DataError, match="^codes must be"):
            Reports(np.array(codes), "d")
    with pytest.raises(DataError, match="digest"):
        Reports(np.array([1]), "")


def test_the_repr_is_short_and_says_that_a_seed_protects_nobody() -> None:
    assert repr(REPORTS) == f"Reports(1,000 of study {STUDY.digest[:12]}…, with a seed: not private)"
    assert "seed" not in repr(STUDY.randomize(VALUES))


# Summaries


def test_no_repr_and_no_error_shows_what_is_not_private() -> None:
    summary = STUDY.summarize_trusted([123.0] * 7 + [1e9, None])
    for text in (repr(summary), str(summary)):
        assert str(summary.sums[0]) not in text
        assert len(text) < 200
    assert "8 users" in repr(summary)
    with pytest.raises(DataError) as caught:
        type(summary).from_json(summary.to_json().replace('"clamped":1', '"clamped":9'))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert len(repr(STUDY.summarize_local(REPORTS))) < 200


def test_the_vector_of_studies_is_what_other_languages_check() -> None:
    stored = json.loads((Path(__file__).parents[2] / "vectors" / "study.json").read_text(encoding="utf-8"))
    study = MeanStudy("session minutes, ½ hours too", bounds=(0, 240), epsilon=1)
    told = MeanStudy("session minutes, ½ hours too", bounds=(0, 240), epsilon=1, sd_at_most=62.5)
    assert stored == {"text": study.to_json(), "digest": study.digest, "curator": told.to_json()}
    received = Reports(np.array([201, 7]), stored["digest"])  # the codes of reports that devices sent
    assert study.summarize_local(received).tied


def test_reports_are_no_values() -> None:
    """They are numbers, and would be taken for values that nobody has."""
    mean = MeanStudy("x", bounds=(0, 240), epsilon=1)
    quantiles = DistributionStudy("x", bounds=(0, 240), epsilon=1)
    shares = FrequencyStudy("x", categories=list(range(8)), other=False, epsilon=1)
    heavy = HeavyHitterStudy("x", epsilon=1, delta=1e-6)
    study: Any
    for study, values in ((mean, [7.0] * 9), (quantiles, [7.0] * 9), (shares, [7] * 9)):
        reports = study.randomize(values, random_state=1)
        for call in (
            lambda: study.estimate(trusted=reports, local=reports),  # noqa: B023
            lambda: study.summarize_trusted(reports),  # noqa: B023
            lambda: study.randomize(reports),  # noqa: B023
            lambda: heavy.summarize_trusted(reports),  # noqa: B023
        ):
            with pytest.raises(DataError, match="^These are reports, which local users sent"):
                call()


def test_raw_values_in_the_place_of_reports_are_named_as_such() -> None:
    for values in (np.arange(300) * 3, np.arange(300) * 3.5, np.arange(300) * 1.0):
        with pytest.raises(DataError, match=r"0 to 255.* local users randomize"):
            receive(values, between=(0, 255))
