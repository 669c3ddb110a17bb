import json
import stat
from datetime import timedelta
from pathlib import Path

import jwt
import pytest
from typer.testing import CliRunner, Result

from hybriddp import cli, service
from hybriddp.cli.tokens import lifetime
from hybriddp.errors import DataError, MissingExtraError, ParameterError
from hybriddp.service.keys import MasterKey
from hybriddp.service.tokens import LONGEST_LIFETIME, TokenKeys, read_public_key
from hybriddp.study.users import StudyParts

RUN = CliRunner()


def _run(*arguments: object, stdin: str | None = None) -> Result:
    return RUN.invoke(cli.app, ["tokens", *map(str, arguments)], input=stdin)


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MasterKey:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HYBRIDDP_KEY_FILE", raising=False)
    return MasterKey.create(tmp_path / "hybriddp.key")


def test_minted_tokens_are_accepted_by_the_server(key: MasterKey) -> None:
    result = _run("mint", "--study", "minutes", "--subject", "u1", "--subject", "u2")
    assert result.exit_code == 0, result.output
    keys = TokenKeys(key.token_secret)
    assert [keys.subject(token, "minutes") for token in result.stdout.splitlines()] == ["u1", "u2"]
    claims = [jwt.decode(token, options={"verify_signature": False}) for token in result.stdout.splitlines()]
    assert claims[0]["exp"] - claims[1]["exp"] in (0, -1)


def test_all_subjects_are_in_the_part_that_is_given(key: MasterKey) -> None:
    result = _run("mint", "--study", "minutes", "--subject", "u1", "--subject", "u2", "--part", "DE")
    keys, parts = TokenKeys(key.token_secret), StudyParts("country", ["FR", "DE"])
    found = [keys.verified(token, "minutes").part_in(parts) for token in result.stdout.splitlines()]
    assert found == [1, 1]
    refused = _run("mint", "--study", "minutes", "--subject", "u1", "--part", " DE")
    assert isinstance(refused.exception, ParameterError)
    assert "part must be a readable text" in str(refused.exception)


def test_subjects_from_a_file_and_from_standard_input(key: MasterKey, tmp_path: Path) -> None:
    (tmp_path / "who.txt").write_text("\ufeffu1\n\ngröße\n", "utf-8")
    result = _run("mint", "--study", "m", "--subjects-file", tmp_path / "who.txt", "--subject", "u0", "--json")
    pairs = json.loads(result.stdout)
    assert [pair["subject"] for pair in pairs] == ["u0", "u1", "größe"]
    assert [TokenKeys(key.token_secret).subject(pair["token"], "m") for pair in pairs] == ["u0", "u1", "größe"]
    result = _run("mint", "--study", "m", "--subjects-file", "-", stdin="u7\n")
    assert TokenKeys(key.token_secret).subject(result.stdout.strip(), "m") == "u7"


def test_the_secret_is_the_one_that_backends_mint_with(key: MasterKey, tmp_path: Path) -> None:
    printed = _run("secret").stdout
    assert printed == f"{key.token_secret.decode()}\n"
    claims = {"sub": "u1", "aud": "m", "exp": 4_000_000_000}
    token = jwt.encode(claims, printed.strip(), algorithm="HS256")  # as a backend does: the text as it stands
    assert TokenKeys(key.token_secret).subject(token, "m") == "u1"
    (tmp_path / "secret").write_text(printed)
    minted = _run("mint", "--study", "m", "--subject", "u1", "--secret-file", tmp_path / "secret").stdout
    assert TokenKeys(key.token_secret).subject(minted.strip(), "m") == "u1"
    minted = _run("mint", "--study", "m", "--subject", "u1", "--secret-file", "-", stdin=printed).stdout
    assert TokenKeys(key.token_secret).subject(minted.strip(), "m") == "u1"


def test_a_key_pair(tmp_path: Path) -> None:
    result = _run("keypair", "--out", tmp_path / "tokens")
    assert result.exit_code == 0, result.output
    private, public = tmp_path / "tokens-private.pem", tmp_path / "tokens-public.pem"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    minted = _run("mint", "--study", "m", "--subject", "u1", "--private-key", private).stdout
    assert TokenKeys(public_key=read_public_key(public)).subject(minted.strip(), "m") == "u1"
    assert isinstance(_run("keypair", "--out", tmp_path / "tokens").exception, DataError)
    public.unlink()
    assert isinstance(_run("keypair", "--out", tmp_path / "tokens").exception, DataError)
    assert not public.exists()


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ((), ParameterError, "subject must be given, or --subjects-file"),
        (("--subject", ""), ParameterError, "subject must be 1 to 256 characters"),
        (("--subject", "u", "--study", "Bad Id"), ParameterError, "study must be 1 to 64 lower-case letters"),
        (("--subject", "u", "--key-file", "missing"), DataError, "Name the server's key with --key-file, or run this"),
        (("--subject", "u", "--key-file", "short"), DataError, "is not a key file"),
        (("--subject", "u", "--secret-file", "hybriddp.key"), DataError, "is the server's master key"),
        (("--subject", "u", "--private-key", "hybriddp.key"), DataError, "not an Ed25519 private key"),
        (("--subject", "u", "--private-key", "missing"), DataError, "Correct --private-key."),
        (("--subject", "u", "--secret-file", "short"), DataError, "at least 32 bytes"),
        (("--subjects-file", "missing"), DataError, "cannot be read"),
        (("--subjects-file", "binary"), DataError, "not text in UTF-8"),
        (("--subjects-file", "-", "--secret-file", "-"), ParameterError, "subjects_file must be"),
    ],
)
@pytest.mark.usefixtures("key")
def test_what_cannot_be_minted(tmp_path: Path, arguments: tuple[str, ...], kind: type, words: str) -> None:
    (tmp_path / "short").write_text("hunter2")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\xfd")
    error = _run("mint", "--study", "m", *arguments).exception
    assert isinstance(error, kind)
    assert words in str(error)
    assert "hunter2" not in str(error)


def test_lifetimes() -> None:
    assert lifetime("7d") == timedelta(days=7)
    assert (lifetime("12h"), lifetime("30m"), lifetime("90s")) == (
        timedelta(hours=12),
        timedelta(minutes=30),
        timedelta(seconds=90),
    )
    for wrong in ("7", "d", "-1d", "1.5h", "7 weeks", "0s", "4000d", "999999999d"):
        assert _run("mint", "--study", "m", "--subject", "u", "--lifetime", wrong).exit_code == 2
    told = _run("mint", "--study", "m", "--subject", "u", "--lifetime", "4000d").output
    assert "must be from 1s to 3650d, got 4000d." in " ".join(told.replace("│", " ").split())
    assert lifetime("3650d") == LONGEST_LIFETIME


@pytest.mark.usefixtures("key")
def test_two_keys_are_wrong_usage() -> None:
    result = _run("mint", "--study", "m", "--subject", "u", "--key-file", "a", "--private-key", "b")
    assert result.exit_code == 2
    assert "--key-file and --private-key are both keys" in " ".join(result.output.replace("│", " ").split())


def test_the_key_that_the_server_would_take(key: MasterKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = MasterKey.create(tmp_path / "other.key")
    monkeypatch.setenv("HYBRIDDP_KEY_FILE", "other.key")
    assert _run("secret").stdout.strip().encode() == other.token_secret
    minted = _run("mint", "--study", "m", "--subject", "u1").stdout.strip()
    assert TokenKeys(other.token_secret).subject(minted, "m") == "u1"
    assert _run("secret", "--key-file", "hybriddp.key").stdout.strip().encode() == key.token_secret
    _run("keypair", "--out", "pair")  # the variable is no second key beside an option
    assert _run("mint", "--study", "m", "--subject", "u1", "--private-key", "pair-private.pem").exit_code == 0
    monkeypatch.setenv("HYBRIDDP_KEY_FILE", "")
    assert _run("secret").stdout.strip().encode() == key.token_secret


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "find_spec", lambda _: None)
    error = _run("mint", "--study", "m", "--subject", "u").exception
    assert isinstance(error, MissingExtraError)
    assert str(error) == 'Minting tokens needs PyJWT, which is not installed. Run: pip install "hybriddp[service]"'
