import json
import re
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import jwt
import pytest
from typer.testing import CliRunner

from hybriddp import FrequencyStudy, HeavyHitterStudy, MeanStudy, cli
from hybriddp.cli import crowd
from hybriddp.client import MockCurator, RetryPolicy
from hybriddp.errors import DataError, ParameterError
from hybriddp.service.keys import MasterKey
from hybriddp.service.tokens import TokenKeys, read_public_key
from hybriddp.study.users import StudyParts
from tests.client.sockets import served

RUN = CliRunner()
STUDY = MeanStudy("session minutes", bounds=(0, 240), epsilon=1)
SECRET = "0123456789abcdef" * 4


@pytest.fixture
def curator(monkeypatch: pytest.MonkeyPatch) -> MockCurator:
    made = MockCurator(STUDY)
    monkeypatch.setattr(crowd, "_transport", lambda: made.transport)
    return made


@pytest.fixture
def keys(tmp_path: Path) -> list[str]:
    (tmp_path / "secret").write_text(SECRET + "\n")
    (tmp_path / "relay").write_text("hdpr_key\n")
    MasterKey.create(tmp_path / "hybriddp.key")
    return [str(tmp_path / "secret"), str(tmp_path / "relay"), str(tmp_path / "hybriddp.key")]


def _run(*arguments: str, url: str = "https://c.org") -> dict[str, Any]:
    result = RUN.invoke(cli.app, ["run-crowd", url, "--study", "mock-study", "--users", "250", *arguments, "--json"])
    assert result.exit_code == 0, result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def test_everybody_is_sent_once_with_a_token_of_their_own(curator: MockCurator, keys: list[str]) -> None:
    told = _run("--trusted", "20%", "--secret-file", keys[0], "--values", "normal(60,1)")
    assert (told["accepted"], told["repeated"], told["rejected"], told["not_sent"]) == (250, 0, {}, 0)
    assert told["simulated"] is True
    assert told["per_second"] > 0
    assert 0 < told["p50_ms"] <= told["p99_ms"]
    groups = [made.group for made in curator.contributions.values()]
    assert (groups.count("trusted"), groups.count("local")) == (50, 200)
    trusted = [made.value or 0 for made in curator.contributions.values() if made.group == "trusted"]
    assert 55 < sum(trusted) / 50 < 65


def test_tokens_are_signed_with_the_secret(keys: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    curator, seen = MockCurator(STUDY), set()

    def check(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            token = request.headers["Authorization"].removeprefix("Bearer ")
            seen.add(jwt.decode(token, SECRET, algorithms=["HS256"], audience="mock-study")["sub"])
        return curator.answer(request)

    monkeypatch.setattr(crowd, "_transport", lambda: httpx.MockTransport(check))
    _run("--secret-file", keys[0], "--prefix", "test")
    assert seen == {f"test-{i}" for i in range(250)}


def test_tokens_are_signed_with_a_private_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RUN.invoke(cli.app, ["tokens", "keypair", "--out", str(tmp_path / "tokens")])
    public = read_public_key(tmp_path / "tokens-public.pem")
    curator, seen = MockCurator(STUDY), set()

    def check(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            token = request.headers["Authorization"].removeprefix("Bearer ")
            seen.add(TokenKeys(public_key=public).subject(token, "mock-study"))
        return curator.answer(request)

    monkeypatch.setattr(crowd, "_transport", lambda: httpx.MockTransport(check))
    _run("--private-key", str(tmp_path / "tokens-private.pem"), "--prefix", "test")
    assert seen == {f"test-{i}" for i in range(250)}


def test_where_all_are_refused_there_is_a_question_and_no_rate(
    curator: MockCurator, keys: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = {"reason": "bad-token", "detail": "The token's signature is not valid."}

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(401, json=problem) if request.method == "POST" else curator.answer(request)

    monkeypatch.setattr(crowd, "_transport", lambda: httpx.MockTransport(answer))
    arguments = ["run-crowd", "https://c.org", "--study", "mock-study", "--users", "20", "--secret-file", keys[0]]
    result = RUN.invoke(cli.app, arguments)
    words = " ".join(result.output.split())
    assert result.exit_code == 4
    assert "rejected: bad-token 20" in words
    assert "Nobody was taken. bad-token: is this the secret, or the relay's key, of this server?" in words
    assert "per second" not in words
    problem["reason"] = "closed"
    words = " ".join(RUN.invoke(cli.app, arguments).output.split())
    assert words.endswith("Nobody was taken.")


def test_a_curator_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    monkeypatch.setattr(crowd, "_transport", lambda: httpx.MockTransport(answer))
    monkeypatch.setattr(crowd, "_RETRIES", RetryPolicy(attempts=1))
    error = RUN.invoke(cli.app, ["run-crowd", "https://c.org", "--study", "m", "--users", "9"]).exception
    assert isinstance(error, DataError)
    assert "cannot be reached" in str(error)
    assert error.exit_code == 4


def test_a_relay_sends_batches_of_a_hundred(curator: MockCurator, keys: list[str]) -> None:
    told = _run("--relay-key-file", keys[1])
    assert (told["accepted"], told["requests"]) == (250, 3)
    paths = [path for method, path, _ in curator.requests if method == "POST"]
    assert paths == ["/studies/mock-study/batches"] * 3
    told = _run("--relay-key-file", keys[1], "--secret-file", keys[0], "--trusted", "50 users")
    assert (told["accepted"], told["requests"]) == (250, 52)


def test_a_pilot_needs_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    pilot = MockCurator(STUDY, tokens=False)
    monkeypatch.setattr(crowd, "_transport", lambda: pilot.transport)
    assert _run("--trusted", "10%")["accepted"] == 250
    assert len(pilot.contributions) == 250


def test_values_can_be_repeated_and_reports_cannot(curator: MockCurator, keys: list[str]) -> None:
    for prefix in ("a", "b"):
        _run("--secret-file", keys[0], "--prefix", prefix, "--trusted", "50%", "--seed", "7")
    made = curator.contributions
    assert all(made[f"a-{i}"].value == made[f"b-{i}"].value for i in range(125))
    assert any(made[f"a-{i}"].integer != made[f"b-{i}"].integer for i in range(125, 250))


def test_rejections_are_told_by_reason(curator: MockCurator, keys: list[str]) -> None:
    common = ["--secret-file", keys[0], "--prefix", "same"]
    _run(*common)
    arguments = ["run-crowd", "https://c.org", "--study", "mock-study", "--users", "260", *common]
    result = RUN.invoke(cli.app, arguments)
    words = " ".join(result.output.split())
    assert re.search(r"accepted 10 .*rejected: duplicate 250", words)
    assert "260 people in" in words
    assert "These are simulated people" in words
    assert RUN.invoke(cli.app, arguments).exit_code == 4  # nobody was accepted
    assert len(curator.contributions) == 260


def test_rejected_items_of_a_batch_are_counted(curator: MockCurator, keys: list[str]) -> None:
    _run("--relay-key-file", keys[1], "--prefix", "same")
    options = ["--users", "300", "--relay-key-file", keys[1], "--prefix", "same", "--json"]
    result = RUN.invoke(cli.app, ["run-crowd", "https://c.org", "--study", "mock-study", *options])
    assert json.loads(result.stdout)["rejected"] == {"duplicate": 250}
    assert len(curator.contributions) == 300


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"accepted":1,"repeated":0,"rejected":[]}'])
def test_a_curator_that_talks_nonsense(
    body: bytes, curator: MockCurator, keys: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=body) if request.method == "POST" else curator.answer(request)

    monkeypatch.setattr(crowd, "_transport", lambda: httpx.MockTransport(answer))
    for flag, key in (("--secret-file", keys[0]), ("--relay-key-file", keys[1])):
        arguments = ["run-crowd", "https://c.org", "--study", "mock-study", "--users", "20", flag, key, "--json"]
        result = RUN.invoke(cli.app, arguments)
        assert result.exit_code == 4
        assert json.loads(result.stdout)["rejected"] == {"the answer cannot be read": 20}


def test_it_stops_when_the_time_is_up(curator: MockCurator, keys: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10**9))
    monkeypatch.setattr(crowd, "time", SimpleNamespace(monotonic=lambda: float(next(clock)), time=time.time))
    told = _run("--secret-file", keys[0], "--seconds", "30", "--concurrency", "2")
    assert 0 < told["accepted"] < 100
    assert told["not_sent"] == 250 - told["accepted"] == 250 - len(curator.contributions)
    options = ["--secret-file", keys[0], "--seconds", "30"]
    result = RUN.invoke(cli.app, ["run-crowd", "https://c.org", "--study", "mock-study", "--users", "250", *options])
    assert "not sent: the time was up" in result.output


def test_over_a_real_socket(keys: list[str]) -> None:
    curator = MockCurator(STUDY)
    with served(curator) as url:
        told = _run("--secret-file", keys[0], "--relay-key-file", keys[1], "--trusted", "5 users", url=url)
    assert told["accepted"] == len(curator.contributions) == 250


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "--secret-file must be given, or --private-key: this study needs tokens"),
        (["--secret-file", "SECRET", "--private-key", "x"], 2, "--private-key must be left out where --secret-file is"),
        (["--private-key", "nothing"], 4, "The key nothing cannot be read (No such file or directory). Correct"),
        (["--secret-file", "MASTER"], 4, "is the server's master key"),
        (["--relay-key-file", "RELAY", "--trusted", "5%"], 2, "--secret-file must be given"),
        (["--secret-file", "nothing"], 4, "nothing cannot be read: No such file or directory."),
        (["--secret-file", "RELAY"], 4, "must hold one line of at least 32 characters"),
        (["--users", "20,000,000"], 2, "--users must be from 1 to 10,000,000"),
        (["--trusted", "101"], 2, "--trusted must be at most the number of users, 100"),
        (["--concurrency", "0"], 2, "--concurrency must be an integer from 1 to 256"),
        (["--seconds", "0"], 2, "--seconds must be a number of seconds from 1 to 86,400"),
        (["--prefix", "a b"], 2, "--prefix must be 1 to 64 letters"),
        (["--study", "A/B"], 2, "--study must be 1 to 64 lower-case letters"),
        (["--study", "other", "--secret-file", "SECRET"], 4, "The curator says: There is nothing at this address."),
        (["--values", "cauchy(1)", "--secret-file", "SECRET"], 2, "--values must be one of normal(mean, sd)"),
    ],
)
def test_bad_input_ends_with_one_line(
    arguments: list[str],
    code: int,
    message: str,
    curator: MockCurator,
    keys: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = [{"SECRET": keys[0], "RELAY": keys[1], "MASTER": keys[2]}.get(word, word) for word in arguments]
    common = ["--study", "mock-study", "--users", "100"]
    monkeypatch.setattr(sys, "argv", ["hybriddp", "run-crowd", "https://c.org", *common, *given])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == code
    said = capsys.readouterr().err
    assert message in " ".join(said.replace("│", " ").split())
    assert SECRET not in said
    assert curator.contributions == {}


def test_a_missing_library_has_its_remedy(
    curator: MockCurator, keys: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jwt", None)
    options = ["--study", "mock-study", "--users", "9", "--secret-file", keys[0]]
    result = RUN.invoke(cli.app, ["run-crowd", "https://c.org", *options])
    assert 'pip install "hybriddp[service]"' in str(result.exception)
    assert curator.contributions == {}


def test_a_file_that_is_no_text_is_no_secret(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"\xff" * 64)
    options = ["--study", "mock-study", "--users", "9", "--secret-file", str(tmp_path / "secret")]
    result = RUN.invoke(cli.app, ["run-crowd", "https://c.org", *options])
    assert "must hold one line" in str(result.exception)


def test_a_closed_study_takes_nobody(curator: MockCurator, keys: list[str]) -> None:
    curator.state = "closed"
    result = RUN.invoke(
        cli.app, ["run-crowd", "https://c.org", "--study", "mock-study", "--users", "9", "--secret-file", keys[0]]
    )
    assert "not open" in str(result.exception)


def test_help_says_that_they_are_simulated() -> None:
    output = RUN.invoke(cli.app, ["run-crowd", "--help"]).output
    assert max(map(len, output.splitlines())) <= 80
    words = " ".join(output.split())
    assert "simulated people" in words
    assert "use a study of its own" in words


def test_people_with_categories(keys: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    study = FrequencyStudy("color", categories=[f"c{i}" for i in range(20)], other=False, epsilon=1)
    curator = MockCurator(study)
    monkeypatch.setattr(crowd, "_transport", lambda: curator.transport)
    told = _run("--secret-file", keys[0], "--relay-key-file", keys[1], "--trusted", "20%", "--values", "zipf(1)")
    assert (told["accepted"], told["rejected"], told["requests"]) == (250, {}, 52)
    items = [made.value for made in curator.contributions.values() if made.group == "trusted"]
    assert len(items) == 50
    assert set(items) <= set(study.categories)
    assert items.count("c0") > items.count("c19")


def test_heavy_hitters_one_group_after_the_other(keys: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    curator = MockCurator(HeavyHitterStudy("word", epsilon=2, delta="0.000001"))
    monkeypatch.setattr(crowd, "_transport", lambda: curator.transport)
    arguments = ["run-crowd", "https://c.org", "--study", "mock-study", "--users", "50", "--secret-file", keys[0]]
    arguments += ["--values", "zipf(1)", "--json"]
    early = RUN.invoke(cli.app, arguments)
    assert isinstance(early.exception, ParameterError)
    assert "list has not been released" in str(early.exception)
    assert RUN.invoke(cli.app, [*arguments, "--trusted", "100%"]).exit_code == 0
    assert {made.group for made in curator.contributions.values()} == {"trusted"}
    curator.release_list(["item 1", "item 2"])
    assert "from then on it takes reports only" in str(RUN.invoke(cli.app, [*arguments, "--trusted", "5%"]).exception)
    assert RUN.invoke(cli.app, arguments).exit_code == 0
    assert len(curator.contributions) == 100


def test_everybody_is_in_the_part_that_is_given(keys: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    curator = MockCurator(STUDY, parts=StudyParts("country", ["DE", "FR"]))
    monkeypatch.setattr(crowd, "_transport", lambda: curator.transport)
    told = _run("--part", "FR", "--trusted", "20%", "--secret-file", keys[0], "--relay-key-file", keys[1])
    assert told["accepted"] == 250
    assert set(curator.part_of.values()) == {"FR"}
    arguments = ["run-crowd", "https://c.org", "--study", "mock-study", "--users", "2", "--secret-file", keys[0]]
    for part in ([], ["--part", "fr"]):
        refused = RUN.invoke(cli.app, [*arguments, *part])
        assert isinstance(refused.exception, ParameterError)
        assert "part must be the country that these people are in: DE, FR" in str(refused.exception)
    curator.parts = None
    refused = RUN.invoke(cli.app, [*arguments, "--part", "DE"])
    assert "part must be left out: this study is one of everybody" in str(refused.exception)
