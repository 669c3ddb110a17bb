"""What every kind of study has in common: its text, its digest, parts of its users, its reports."""

import copy
import hashlib
import json
import pickle
from typing import Any

import numpy as np
import pytest

from hybriddp.channels import MaskedResponse, WindowChannel
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.mean import MeanStudy
from hybriddp.release.event import Part
from hybriddp.shares import FrequencyStudy
from hybriddp.study.reports import Reports
from tests.study.kinds import ONE_OF_EACH, STUDIES, AnyStudy, changed, values_for

MORE: dict[str, AnyStudy] = {
    "spread": MeanStudy("minutes", bounds=(-1, 240), epsilon="0.25", delta=1e-6, sd_at_most=50, min_group_size=50),
    "names": FrequencyStudy("Grüße 你好", categories=["ä", "日本", "🙂", '"', "\\"], other=False, epsilon=2),
    "bytes": FrequencyStudy("x", categories=[3, -1, 2**53 - 1, *range(30, 57)], epsilon=1, max_bytes=2, other=True),
    "edges": DistributionStudy("x", bounds=(0, 10), epsilon="4", scale=10 * np.linspace(0, 1, 255) ** 2),
    "label bits": DistributionStudy("x", bounds=(0, 1), epsilon=1, channel=MaskedResponse(epsilon=1, label_bits=4)),
    "part": DistributionStudy(
        "Zeit, größer", bounds=(0, 1), epsilon=2, scale="log", kappa=50, users=Part("country", "DE")
    ),
}
EVERY = STUDIES | MORE
every_study = pytest.mark.parametrize("study", EVERY.values(), ids=EVERY)
everybody = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
every_kind = pytest.mark.parametrize("study", [STUDIES[kind] for kind in ONE_OF_EACH], ids=ONE_OF_EACH)


# Text


@every_study
def test_text_and_study_are_inverses(study: AnyStudy) -> None:
    again = type(study).from_json(study.to_json())
    assert again == study
    assert (again.digest, hash(again), again.whole_digest) == (study.digest, hash(study), study.whole_digest)
    assert copy.deepcopy(study) == pickle.loads(pickle.dumps(study)) == study  # noqa: S301
    values = values_for(study, 20)
    assert again.randomize(values, random_state=1) == study.randomize(values, random_state=1)


@every_study
def test_the_digest_is_that_of_the_text_that_devices_get(study: AnyStudy) -> None:
    assert study.digest == hashlib.sha256(study.device_json().encode()).hexdigest()


def test_every_study_has_a_digest_of_its_own() -> None:
    texts = [*EVERY.values(), *(type(study).from_json(changed(study, name="another")) for study in EVERY.values())]
    assert len({study.digest for study in texts}) == len(texts)


@every_study
def test_texts_that_are_no_studies_are_refused(study: AnyStudy) -> None:
    text = study.to_json()
    texts = [
        "",
        "[]",
        "{}",
        "null",
        "x",
        '{"name":"x"}',
        "[" * 200_000,
        text + " ",
        text.replace('"name"', '"na\\u006de"'),
    ]
    texts.append(text.replace('"min_group_size":', '"min_group_size":2,"min_group_size":'))
    texts += [other.to_json() for other in STUDIES.values() if type(other) is not type(study)]
    for wrong in texts:
        with pytest.raises(ProtocolError, match=f"^The {study._what} is refused: "):
            type(study).from_json(wrong)
    channel = json.loads(study.channel.to_json())
    changes: list[dict[str, Any]] = [
        {"type": "kmeans"},
        {"version": 3},
        {"version": None},
        {"name": ""},
        {"name": 5},
        {"epsilon": "3"},
        {"epsilon": float(study.privacy.epsilon)},
        {"min_group_size": 0},
        {"min_group_size": True},
        {"min_group_size": float(study.min_group_size)},
        {"channel": None},
        {"channel": {}},
        {"channel": {**channel, "epsilon": "3"}},
        {"channel": {**channel, "bits": 31}},
        {"users": {"by": "country"}},
        {"users": {"by": "country", "key": ""}},
        {"more": 1},
    ]
    for change in changes:
        with pytest.raises(ProtocolError):
            type(study).from_json(changed(study, **change))


@every_study
def test_a_study_keeps_to_the_channel_of_its_kind(study: AnyStudy) -> None:
    for other in STUDIES.values():
        if type(other) is not type(study):
            with pytest.raises(ProtocolError):
                type(study).from_json(changed(study, channel=json.loads(other.channel.to_json())))


@every_kind
def test_bad_parameters_are_named(study: AnyStudy) -> None:
    good: dict[str, Any] = {"name": "x", "epsilon": 0.5}
    good |= {"categories": ["a", "b"]} if isinstance(study, FrequencyStudy) else {"bounds": (0, 1)}
    wrong: dict[str, list[object]] = {
        "name": ["", 5, "\ud800", "minutes\x00", "minutes\x1b[2J", "minutes\n", "\u202eminutes"],
        "epsilon": [0, None],
        "min_group_size": [0, 2.0],
        "channel": ["wide", 5, study.channel, WindowChannel(epsilon=3)],
        "users": ["DE"],
    }
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ParameterError) as caught:
                type(study)(**{**good, name: value})
            assert caught.value.name == name


@every_study
def test_a_study_cannot_be_changed(study: AnyStudy) -> None:
    with pytest.raises(AttributeError):
        study.name = "x"


@every_study
def test_a_study_is_shown_shortly(study: AnyStudy) -> None:
    long = type(study).from_json(changed(study, name="m" * 500))
    assert len(repr(long)) < 200
    assert repr(long).startswith(f"{type(study).__name__}('{'m' * 59}…', ")
    assert study.short_title == study.title


# Parts of the users


@everybody
def test_a_part_is_another_study_that_everybody_pays_for_once(study: AnyStudy) -> None:
    part = study.part("country", "DE")
    assert (part.title, part.digest != study.digest) == (f"{study.title} [country = DE]", True)
    assert part.whole_digest == study.whole_digest
    assert part.with_users(None) == study
    assert type(study).from_json(part.to_json()) == part
    with pytest.raises(ParameterError, match="the study of everybody"):
        part.part("age", 30)


@everybody
def test_a_part_takes_the_reports_of_everybody(study: AnyStudy) -> None:
    part, values = study.part("country", "DE"), values_for(study, 1)
    assert part.summarize_local(study.randomize(values)).tied
    assert part.summarize_local(study.randomize(values)).study == part.digest
    with pytest.raises(ProtocolError, match="The reports belong to"):
        study.summarize_local(part.randomize(values))


# Reports


@everybody
def test_reports_know_their_study_and_their_seed(study: AnyStudy) -> None:
    values = values_for(study, 3)
    reports = study.randomize(values)
    assert (len(reports), reports.study, reports.seeded) == (3, study.digest, False)
    assert study.randomize(values, random_state=1).seeded
    assert (len(study.randomize(values[0])), len(study.randomize([]))) == (1, 0)
    wrong: Any
    for wrong in ([values[0], None], [float("nan")], [[values[0]]], [b"a"]):
        with pytest.raises(DataError, match="^(values|items) must"):
            study.randomize(wrong)


@everybody
def test_reports_of_another_study_are_refused(study: AnyStudy) -> None:
    with pytest.raises(ProtocolError, match="belong to study 0000"):
        study.receive(Reports(np.zeros(3, np.int64), "0" * 64))
