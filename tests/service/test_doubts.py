"""Implausible reports of a closed study, before it is released."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import httpx
import numpy as np
import pytest

from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy
from hybriddp.kmeans import KMeansStudy
from hybriddp.service.store.seal import TotalSeal
from tests.service.kmeans_people import DEADLINE, People
from tests.service.running import Running

MADE_UP = {"mean": 60, "shares": 700, "quantiles": 60}
STUDIES: dict[str, tuple[Any, Any]] = {
    "mean": (MeanStudy("doubted minutes", bounds=(0, 240), epsilon=1), np.linspace(0, 240, 240)),
    "shares": (
        FrequencyStudy("doubted fruit", categories=["a", "b", "c"], other=False, epsilon=1),
        np.tile(["a", "b", "c"], 80),
    ),
    "quantiles": (DistributionStudy("doubted load", bounds=(0, 10), epsilon=1), np.linspace(0, 10, 240)),
}


@pytest.fixture(scope="module")
def operator(kept_server: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=kept_server.url, trust_env=False, follow_redirects=True) as found:
        found.post("/operator/login", data={"key": kept_server.admin_key})
        yield found


def _close(server: Running, kind: str, study_id: str, forged: int) -> None:
    study, values = STUDIES[kind]
    study = type(study).from_json(study.to_json().replace("doubted", study_id))
    assert server.create(study, study_id).is_success
    for i in range(2):
        assert server.trust(study, f"t{i}", values[i].item(), study_id=study_id).status_code == 201
    codes = [*study.randomize(values, random_state=3).codes.tolist(), *[1] * forged]
    reports = [{"participant": f"l{i}", "code": code, "nonce": f"{i:032x}"} for i, code in enumerate(codes)]
    body = {"digest": study.digest, "reports": reports}
    sent = server.http.post(f"/studies/{study_id}/batches", headers=server.relay(study_id), json=body)
    assert sent.json()["accepted"] == len(codes)
    server.move("close", study_id)


@pytest.mark.parametrize("kind", STUDIES)
def test_what_the_release_would_warn_of_is_shown_before_it(
    kept_server: Running, operator: httpx.Client, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study_id = f"doubted-{kind}"
    _close(kept_server, kind, study_id, MADE_UP[kind])

    def refuse(*_: object) -> int:
        raise AssertionError("The trusted group's total was opened.")

    with monkeypatch.context() as patched:
        patched.setattr(TotalSeal, "open", refuse)
        page = unescape(operator.get(f"/operator/studies/{study_id}").text)
    told = re.search(r"WARNING: at least ([0-9]+) of the [0-9]+ local reports cannot come", page)
    assert told is not None
    assert "You can still withdraw the study instead of releasing it." in page
    assert "WARNING" not in kept_server.http.get(f"/studies/{study_id}").text  # it is the operator's
    estimate = kept_server.move("release", study_id).json()["estimate"]
    assert estimate["implausible_reports"] == int(told[1]) > 0
    assert "instead of releasing it" not in operator.get(f"/operator/studies/{study_id}").text


@pytest.mark.slow
@pytest.mark.parametrize("forged", [False, True])
def test_forged_answers_to_rounds_are_warned_of(kept_server: Running, operator: httpx.Client, forged: bool) -> None:
    study_id = f"doubted-points-{int(forged)}"
    study = KMeansStudy(study_id, n_clusters=2, bounds=[(0, 10)] * 2, epsilon=1)
    people = People.of(study, study_id, n_trusted=0, n_local=300)
    assert people.create(kept_server, single_group=True, min_trusted=2).is_success
    people.enroll(kept_server)
    kept_server.move("close", study_id)
    planted = 0

    def ask() -> bool:
        path = f"/studies/{study_id}/round"
        document = kept_server.http.post(path, headers=kept_server.admin, json=DEADLINE).json()
        return document["round"] is not None

    while ask():
        asked = people.asked(kept_server)
        messages, channels = asked.messages(asked.names), [ask.channel for ask in asked.round.asks]
        if forged:
            ones = [np.packbits(np.ones(channel.n_symbols, bool), bitorder="little").tobytes() for channel in channels]
            codes = [row.hex() if channel.sends_bits else 0 for channel, row in zip(channels, ones, strict=True)]
            messages = {name: {**message, "code": codes[message["ask"]]} for name, message in messages.items()}
            planted += len(messages)
        assert set(asked.send(kept_server, messages)) <= {"accepted"}
        kept_server.move("close", study_id)
    page = unescape(operator.get(f"/operator/studies/{study_id}").text)
    estimate = kept_server.move("release", study_id).json()["estimate"]
    assert (estimate["implausible_reports"] > 0) is forged
    assert estimate["implausible_reports"] <= planted
    words = f"WARNING: at least {estimate['implausible_reports']} of the {estimate['n_answered']} local reports cannot"
    assert (words in page) is forged
    assert any(warning.startswith(words) for warning in estimate["warnings"]) is forged
    shown = unescape(kept_server.http.get(f"/studies/{study_id}/result.html").text)
    assert (words in shown) is forged


@pytest.mark.parametrize("kind", STUDIES)
def test_real_reports_raise_no_doubt(kept_server: Running, operator: httpx.Client, kind: str) -> None:
    study_id = f"believed-{kind}"
    _close(kept_server, kind, study_id, 0)
    page = operator.get(f"/operator/studies/{study_id}").text
    assert ">closed<" in page
    assert "WARNING" not in page
