"""Implausible reports of a closed study, before it is released."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import httpx
import numpy as np
import pytest

from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy
from hybriddp.service.store.seal import TotalSeal
from tests.service.running import Running

MADE_UP = {"mean": 60, "shares": 700, "quantiles": 60}
STUDIES: dict[str, tuple[Any, Any]] = {
    "mean": (MeanStudy("doubted minutes", bounds=(0, 240), epsilon=1), np.linspace(0, 240, 240)),
    "shares": (FrequencyStudy("doubted fruit", categories=["a", "b", "c"], epsilon=1), np.tile(["a", "b", "c"], 80)),
    "quantiles": (DistributionStudy("doubted load", bounds=(0, 10), epsilon=1), np.linspace(0, 10, 240)),
}


@pytest.fixture(scope="module")
def browser(kept_server: Running) -> Iterator[httpx.Client]:
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
    kept_server: Running, browser: httpx.Client, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study_id = f"doubted-{kind}"
    _close(kept_server, kind, study_id, MADE_UP[kind])

    def refuse(*_: object) -> int:
        raise AssertionError("The trusted group's total was opened.")

    with monkeypatch.context() as patched:
        patched.setattr(TotalSeal, "open", refuse)
        page = unescape(browser.get(f"/operator/studies/{study_id}").text)
    told = re.search(r"WARNING: at least ([0-9]+) of the [0-9]+ local reports cannot come", page)
    assert told is not None
    assert "You can still withdraw the study instead of releasing it." in page
    assert "WARNING" not in kept_server.http.get(f"/studies/{study_id}").text  # it is the operator's
    estimate = kept_server.move("release", study_id).json()["estimate"]
    assert estimate["implausible_reports"] == int(told[1]) > 0
    assert "instead of releasing it" not in browser.get(f"/operator/studies/{study_id}").text


@pytest.mark.parametrize("kind", STUDIES)
def test_real_reports_raise_no_doubt(kept_server: Running, browser: httpx.Client, kind: str) -> None:
    study_id = f"believed-{kind}"
    _close(kept_server, kind, study_id, 0)
    page = browser.get(f"/operator/studies/{study_id}").text
    assert ">closed<" in page
    assert "WARNING" not in page
