"""The shared vectors of distribution studies, as Python sees them; js/test/distribution.test.js runs the same file."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybriddp.channels import MaskedResponse, channel_from_json
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import ProtocolError
from hybriddp.grid import UNITS
from tests.known_bytes import KnownBytes, check_codes, stream
from tests.refusals import not_refused

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "distribution.json").read_text(encoding="utf-8"))


def _text(case: dict[str, Any]) -> str:
    """The text of a case, with its long lists again."""
    text: str = case["text"]
    for name, full in VECTORS["short"].items():
        text = text.replace(name, full)
    return text


def _values(study: DistributionStudy, case: dict[str, Any]) -> list[float]:
    lower, upper = study.bounds
    cuts = study.bins.cuts.tolist()
    words = stream(f"{case['seed']} inputs", 4 * case["count"]).view("<u4").tolist()
    anywhere = [lower + (upper - lower) * (word / 2**32 * 1.5 - 0.25) for word in words]
    steps = [cuts[word % 255] + ((word >> 8) % 5 - 2) / 2 for word in words]
    near = [lower + step * ((upper - lower) / UNITS) for step in steps]
    return [near[i] if i % 2 else anywhere[i] for i in range(len(words))]


@pytest.mark.parametrize("case", VECTORS["studies"], ids=lambda c: c["seed"])
def test_known_bytes_give_the_same_reports_as_everywhere(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    study = DistributionStudy.from_json(_text(case))
    assert study.digest == case["digest"]
    assert isinstance(study.channel, MaskedResponse)
    assert study.channel.bytes_per_report == case["bytes_per_report"]
    source = KnownBytes(case)
    monkeypatch.setattr("hybriddp.study.numbers.byte_source", lambda _state: source)
    reports = study.randomize(_values(study, case))
    assert reports.study == case["digest"]
    assert source.raw.size == 0
    check_codes(reports.codes, case)


@pytest.mark.parametrize("case", VECTORS["channels"], ids=lambda c: c["seed"])
def test_known_bytes_give_the_same_codes_of_all_bins(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    channel = channel_from_json(_text(case), epsilon=case["epsilon"])
    assert channel.digest == case["digest"]
    monkeypatch.setattr("hybriddp.channels.channel.byte_source", lambda _state: KnownBytes(case))
    check_codes(channel.sample(np.arange(case["count"]) % 256), case)


@pytest.mark.parametrize("case", VECTORS["channels"], ids=lambda c: c["seed"])
def test_known_bytes_give_codes_by_the_definition(case: dict[str, Any]) -> None:
    """One report at a time, in Python's integers: the pattern from the second word, the code from the first."""
    channel = channel_from_json(_text(case), epsilon=case["epsilon"])
    assert isinstance(channel, MaskedResponse)
    size, window = case["bytes_per_report"] // 2, channel.response.window
    raw = KnownBytes(case).raw.tobytes()
    for i, expected in enumerate(case["first"]):
        first, second = (
            int.from_bytes(raw[start : start + size], "little") for start in (2 * i * size, 2 * i * size + size)
        )
        level, rest = divmod((second % 2**32) * (9 - channel.label_bits), 2**32)
        of_level = [k for k, one in enumerate(channel.patterns) if one.level == level + channel.label_bits]
        pattern = of_level[rest * len(of_level) >> 32]
        label = sum(((mask & i).bit_count() & 1) << bit for bit, mask in enumerate(channel.patterns[pattern].masks))
        u = first % 2**window.bits
        below = window.n_codes * window.low
        code = u // window.low if u < below else label + (u - below) // window.extra
        assert pattern * channel.n_labels + code == expected


def test_the_vectors_cover_every_kind_of_study() -> None:
    studies = [DistributionStudy.from_json(_text(case)) for case in VECTORS["studies"]]
    channels = [study.channel for study in studies]
    assert sum(case["count"] for case in VECTORS["studies"]) >= 500_000
    assert {channel.label_bits for channel in channels} == set(range(1, 9))
    assert {channel.response.bits for channel in channels} == {32, 48}
    assert {study.bins.scale for study in studies} == {"equal", "log", "edges"}
    assert any(study.bounds[0] < 0 for study in studies)
    assert len(VECTORS["accepted"]) >= 50
    assert len(VECTORS["refused"]) >= 250
    assert len(VECTORS["refused_channels"]) >= 80


def test_odd_texts_that_are_fine_are_accepted() -> None:
    digests = {case["digest"]: DistributionStudy.from_json(_text(case)).digest for case in VECTORS["accepted"]}
    assert len(digests) == len(VECTORS["accepted"])
    assert list(digests.values()) == list(digests)


def test_a_study_of_reports_for_a_mean_is_refused_in_words() -> None:
    (case,) = (case for case in VECTORS["refused"] if case["why"] == "reports for a mean")
    with pytest.raises(
        ProtocolError, match=r"must be a MaskedResponse\. Quantiles cannot be estimated from reports for"
    ):
        DistributionStudy.from_json(_text(case))


def test_tampered_studies_are_refused() -> None:
    cases = [(case["why"], _text(case)) for case in VECTORS["refused"]]
    assert not_refused(cases, DistributionStudy.from_json, ProtocolError, "^The ") == []


def test_tampered_channels_are_refused() -> None:
    cases = [(case["why"], _text(case)) for case in VECTORS["refused_channels"]]
    parse = partial(channel_from_json, epsilon="1")
    assert not_refused(cases, parse, ProtocolError, "^The channel is refused: ") == []
