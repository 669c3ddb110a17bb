"""The shared vectors of frequency studies, as Python sees them; js/test/frequency.test.js runs the same file."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybriddp.channels import channel_from_json
from hybriddp.errors import ProtocolError
from hybriddp.items.discovery import DiscoveryQuestion
from hybriddp.shares import FrequencyStudy
from hybriddp.shares.categories import Item
from tests.known_bytes import KnownBytes, check_codes, stream
from tests.refusals import not_refused

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "frequency.json").read_text(encoding="utf-8"))


def _use_known_bytes(monkeypatch: pytest.MonkeyPatch, case: dict[str, Any]) -> KnownBytes:
    source = KnownBytes(case)
    monkeypatch.setattr("hybriddp.channels.channel.byte_source", lambda _state: source)
    return source


def _items(study: FrequencyStudy, case: dict[str, Any]) -> list[Item]:
    words = stream(f"{case['seed']} inputs", 4 * case["count"]).view("<u4").tolist()
    numbers = [word % len(study.names) for word in words]
    others = [f"none of them, {word}" if study.domain.are_texts else word + 2**40 for word in words]
    listed = [*study.categories, None]  # the last one only where other items count
    return [other if listed[n] is None else study.categories[n] for n, other in zip(numbers, others, strict=True)]


@pytest.mark.repeated
@pytest.mark.parametrize("case", VECTORS["studies"], ids=lambda c: c["seed"])
def test_known_bytes_give_the_same_reports_as_everywhere(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    study = FrequencyStudy.from_json(case["text"])
    assert study.digest == case["digest"]
    assert study.channel.bytes_per_report == case["bytes_per_report"]
    source = _use_known_bytes(monkeypatch, case)
    reports = study.randomize(_items(study, case))
    assert reports.study == case["digest"]
    assert source.raw.size == 0
    check_codes(reports.codes, case)


@pytest.mark.parametrize("case", VECTORS["channels"], ids=lambda c: c["seed"])
def test_known_bytes_give_the_same_codes_of_sets_and_keys(
    case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = channel_from_json(case["text"], epsilon=case["epsilon"])
    assert channel.digest == case["digest"]
    _use_known_bytes(monkeypatch, case)
    check_codes(channel.sample(np.resize(np.array(case["inputs"], np.uint64), case["count"])), case)


@pytest.mark.repeated
@pytest.mark.parametrize("case", VECTORS["discovery"], ids=lambda c: c["seed"])
def test_known_bytes_give_the_same_reports_of_strings(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    question = DiscoveryQuestion.from_json(case["text"])
    assert question.digest == case["digest"]
    source = KnownBytes(case)
    monkeypatch.setattr("hybriddp.items.discovery.byte_source", lambda _state: source)
    inputs = case["inputs"]
    # One at a time, as devices do: each takes its own bytes.
    codes = [question.randomize([inputs[i % len(inputs)]]).codes for i in range(case["count"])]
    assert source.raw.size == 0
    check_codes(np.concatenate(codes), case)


def test_the_vectors_cover_every_channel() -> None:
    cases = VECTORS["studies"]
    assert sum(case["count"] for case in cases) >= 500_000
    for kind in ("response", "choice", "unary", "hashing"):
        assert len({case["epsilon"] for case in cases if case["kind"] == kind}) >= 3
    assert len(VECTORS["refused"]) >= 300
    assert len(VECTORS["refused_channels"]) >= 100
    assert len(VECTORS["refused_discovery"]) >= 100


@pytest.mark.parametrize("case", VECTORS["accepted"], ids=lambda c: c["digest"][:8])
def test_odd_texts_that_are_fine_are_accepted(case: dict[str, str]) -> None:
    assert FrequencyStudy.from_json(case["text"]).digest == case["digest"]


def _texts(kind: str) -> list[tuple[str, str]]:
    return [(case["why"], case["text"]) for case in VECTORS[kind]]


def test_tampered_studies_are_refused() -> None:
    assert not_refused(_texts("refused"), FrequencyStudy.from_json, ProtocolError, "^The ") == []


def test_tampered_channels_are_refused() -> None:
    parse = partial(channel_from_json, epsilon="1")
    assert not_refused(_texts("refused_channels"), parse, ProtocolError, "^The channel is refused: ") == []


def test_tampered_questions_are_refused() -> None:
    assert not_refused(_texts("refused_discovery"), DiscoveryQuestion.from_json, ProtocolError, "^The ") == []
