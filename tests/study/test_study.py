"""What every kind of study has in common."""

import hashlib
from typing import Any

import numpy as np
import pytest

from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.study.reports import Reports
from hybriddp.study.study import EMPTY, Study, refused_parts

STUDIES: list[Study] = [
    MeanStudy("minutes", bounds=(0, 240), epsilon=1, sd_at_most=50),
    FrequencyStudy("opened", categories=["yes", "no", "later"], other=False, epsilon=1),
    DistributionStudy("minutes", bounds=(0, 240), epsilon=1),
]


@pytest.fixture(params=STUDIES, ids=["mean", "frequency", "distribution"])
def study(request: pytest.FixtureRequest) -> Study:
    given: Study = request.param
    return given


def test_the_digest_is_that_of_the_text_that_devices_get(study: Study) -> None:
    assert study.digest == hashlib.sha256(study.device_json().encode()).hexdigest()


def test_a_part_is_another_study_that_everybody_pays_for_once(study: Study) -> None:
    part = study.part("country", "DE")
    assert (part.title, part.digest != study.digest) == (f"{study.title} [country = DE]", True)
    assert part.whole_digest == study.whole_digest
    assert part.with_users(None).digest == study.digest


def test_a_part_takes_the_reports_of_everybody(study: Any) -> None:
    part, values = study.part("country", "DE"), ["yes"] if isinstance(study, FrequencyStudy) else [30.0]
    assert part.summarize_local(study.randomize(values)).tied
    assert part.summarize_local(study.randomize(values)).study == part.digest
    with pytest.raises(ProtocolError, match="The reports belong to"):
        study.summarize_local(part.randomize(values))


def test_a_part_of_a_part_is_refused(study: Study) -> None:
    with pytest.raises(ParameterError, match="the study of everybody"):
        study.part("country", "DE").part("age", 30)


def test_reports_of_another_study_are_refused(study: Study) -> None:
    with pytest.raises(ProtocolError, match="belong to study 0000"):
        study.receive(Reports(np.zeros(3, np.int64), "0" * 64))


def test_one_report_in_a_hundred_may_be_none(study: Study) -> None:
    least, most = study.reports_between
    codes = np.array([least, most] * 50)
    got = study.receive(np.append(codes[:99], most + 1))
    assert (len(got.codes), got.rejected, got.tied, got.seeded) == (99, 1, False, False)
    with pytest.raises(DataError, match=f"2 of 101 reports are outside {least} to {most}"):
        study.receive(np.append(codes[:99], [most + 1, least - 1]))


def test_a_long_title_is_cut_in_a_line() -> None:
    long = MeanStudy("m" * 80, bounds=(0, 1), epsilon=1)
    assert (long.short_title, STUDIES[0].short_title) == (f"{'m' * 59}…", "minutes")


def test_keys_that_nobody_has_are_said_to_be_left_out() -> None:
    study = DistributionStudy("minutes", bounds=(0, 240), epsilon=1)
    with pytest.raises(
        DataError, match=f"^1 of 1 parts cannot be estimated. XX: {EMPTY} Leave keys that nobody has out"
    ):
        study.estimate_parts("country", {"XX": (None, None)})
    assert str(refused_parts(["DE: The trusted group is empty."], 2)).endswith("DE: The trusted group is empty.")
