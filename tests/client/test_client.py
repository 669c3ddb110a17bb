import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

import hybriddp.client
from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy
from hybriddp.client import AsyncClient, Client, MockCurator, RetryPolicy
from hybriddp.client.questions import OfferedStudy
from hybriddp.errors import MissingExtraError, ParameterError
from tests.client.sockets import served

STUDY = MeanStudy("session minutes", bounds=(0, 240), epsilon=1)
LOCAL_PATH = """
import sys, tempfile
from hybriddp.client import Client, RetryPolicy
with Client({url!r}, {token!r}, journal=tempfile.mkdtemp() + "/j.json", retries=RetryPolicy(first_wait=0)) as client:
    client.promise()
    client.report({value!r})
heavy = ("scipy", "opendp", "narwhals", "polars", "duckdb", "pyarrow", "pandas", "matplotlib")
print([name for name in heavy if name in sys.modules])
"""


def test_the_public_names_are_these() -> None:
    assert sorted(hybriddp.client.__all__, key=str.casefold) == [
        "AsyncClient",
        "Client",
        "commitment",
        "Contribution",
        "MockCurator",
        "Receipt",
        "RejectedError",
        "RetryPolicy",
        "StudyOffer",
        "UnavailableError",
        "verify",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "value"),
    [
        (STUDY, 30),
        (FrequencyStudy("color", categories=[f"c{i}" for i in range(20)], other=False, epsilon=1), "c3"),
        (FrequencyStudy("page", categories=list(range(100)), other=False, epsilon=1), 3),
        (DistributionStudy("load", bounds=(0, 10_000), epsilon=1, scale="log"), 480),
    ],
    ids=["a mean", "bits", "hashing", "a distribution"],
)
def test_the_local_path_loads_nothing_heavy(study: OfferedStudy, value: float | str) -> None:
    curator = MockCurator(study)
    with served(curator) as url:
        script = LOCAL_PATH.format(url=url, token=curator.token("alice"), value=value)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert curator.contributions["alice"].group == "local"


def test_over_a_real_socket(tmp_path: Path) -> None:
    curator = MockCurator(STUDY)
    with (
        served(curator) as url,
        Client(url, curator.token("alice"), journal=tmp_path / "j.json", retries=RetryPolicy(first_wait=0)) as client,
    ):
        assert client.study.study == STUDY
        curator.disconnect(1)
        curator.lose_answers(1)
        receipt = client.trust(30)
        assert client.receipt().document == receipt.document
        assert client.withdraw().withdrawn
    assert curator.contributions == {}


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    curator, proxy = MockCurator(STUDY), MockCurator(STUDY)
    once: dict[str, Any] = {"retries": RetryPolicy(attempts=1)}
    with served(curator) as url, served(proxy) as there:
        for name in ("HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, there)
            monkeypatch.setenv(name.lower(), there)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        with Client(url, curator.token("alice"), **once) as client:
            client.trust(30)

        async def run() -> None:
            async with AsyncClient(url, curator.token("bob"), **once) as client:
                await client.trust(30)

        anyio.run(run)
    assert proxy.requests == []
    assert set(curator.contributions) == {"alice", "bob"}


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_missing_library_has_its_remedy(kind: type[Client | AsyncClient], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r'pip install "hybriddp\[client\]"'):
        kind("https://c.org", study="x")


def test_nothing_secret_is_shown() -> None:
    curator = MockCurator(STUDY)
    client = Client("https://c.org/curator/", curator.token("alice"))
    assert repr(client) == "Client('https://c.org/curator', study='mock-study')"
    assert repr(AsyncClient("https://c.org", study="x")) == "AsyncClient('https://c.org', study='x')"


@pytest.mark.parametrize("wrong", [{"timeout": 0}, {"digest": "x"}, {"study": "A b"}])
def test_parameters_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Client("https://c.org", **{"study": "x", **wrong})
