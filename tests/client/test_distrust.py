"""What a client does not believe, follow or tell."""

import logging
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from hybriddp.client import (
    AsyncClient,
    Client,
    MockCurator,
    Receipt,
    RejectedError,
    StudyOffer,
    UnavailableError,
)
from hybriddp.client.journal import FileJournal
from hybriddp.client.mock_signer import MockSigner
from hybriddp.errors import HybridDPError, ProtocolError
from tests.client.mocking import PLANTED, STUDY, Call, _forged


def test_a_pinned_digest_is_kept(curator: MockCurator, tmp_path: Path) -> None:
    made: dict[str, Any] = {"transport": curator.transport, "journal": tmp_path / "j.json"}
    assert Client("https://c.org", curator.token("a"), digest=STUDY.digest, **made).report(1).digest == STUDY.digest
    for journal in (None, tmp_path / "j.json"):
        pinned = Client("https://c.org", curator.token("a"), digest="0" * 64, **made | {"journal": journal})
        with pytest.raises(ProtocolError, match="made for 000000000000…|belongs to study"):
            pinned.report(1)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"group": "trusted"}, "not about this contribution"),
        ({"commitment": "0" * 64}, "not about this contribution"),
        ({"epsilon": "2"}, "not about this contribution"),
        ({"study": "other"}, "not about this contribution"),
        ({"digest": "0" * 64}, "not about this contribution"),
        ({"withdrawn": True}, "not about this contribution"),
        ({"version": 2}, "not in the form"),
    ],
)
def test_a_signed_receipt_about_something_else_is_refused(
    curator: MockCurator, tmp_path: Path, changed: dict[str, Any], words: str
) -> None:
    transport = _forged(curator, lambda document: curator.sign(document["receipt"] | changed))
    path = tmp_path / "j.json"
    with pytest.raises(ProtocolError, match=words):
        Client("https://c.org", curator.token("alice"), journal=path, transport=transport).report(30)
    entry = FileJournal(path).read()
    assert entry is not None
    assert entry.receipt is None
    assert curator.client("alice", journal=path).report(30).commitment == curator.contributions["alice"].commitment


def test_a_receipt_that_the_curator_did_not_sign_is_refused(curator: MockCurator) -> None:
    stranger = MockCurator(STUDY)
    stranger._signer.kid = curator._signer.kid
    transport = _forged(curator, lambda document: stranger.sign(document["receipt"]))
    with pytest.raises(ProtocolError, match="signature is not valid"):
        Client("https://c.org", curator.token("alice"), transport=transport).report(30)


def test_a_new_key_of_the_curator_is_fetched(curator: MockCurator) -> None:
    client = curator.client("alice")
    client.report(30)
    curator._signer = MockSigner()
    assert client.report(30).document["kid"] == curator._signer.kid


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>", "not a JSON object"),
        (b"{}", "of K-means only"),
        (b" " * 4_000_001, "more than 4,000,000 bytes"),
    ],
)
def test_a_server_that_is_no_curator(body: bytes, words: str) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=body))
    with pytest.raises(ProtocolError, match=words):
        Client("https://c.org", study="x", transport=transport).report(30)

    async def run() -> None:
        async with AsyncClient("https://c.org", study="x", transport=transport) as client:
            await client.study

    with pytest.raises(ProtocolError, match=words):
        anyio.run(run)


def test_another_study_than_the_one_asked_for(curator: MockCurator) -> None:
    document = curator.document() | {"id": "other"}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=document))
    with pytest.raises(ProtocolError, match="answered with study 'other' instead of 'mock-study'"):
        assert Client("https://c.org", study="mock-study", transport=transport).study


def test_redirects_are_not_followed() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(302, headers={"Location": "https://evil.org"}))
    with pytest.raises(RejectedError, match="HTTP status 302"):
        Client("https://c.org", study="x", transport=transport).report(30)


@pytest.mark.parametrize("failure", [{"status": 400}, {"status": 409}, {"status": 401}, {"status": 500}])
def test_no_value_and_no_token_in_errors_logs_or_reprs(
    curator: MockCurator, caplog: pytest.LogCaptureFixture, failure: dict[str, int]
) -> None:
    caplog.set_level(logging.DEBUG)
    token = curator.token("alice")
    client = curator.client("alice")
    assert isinstance(client.study, StudyOffer)
    client._participant._keys = curator.jwks()
    curator.fail(5, **failure)
    with pytest.raises(HybridDPError) as caught:
        client.trust(PLANTED)
    curator._troubles.clear()
    receipt = client.trust(PLANTED)
    said = "".join(traceback.format_exception(caught.value)) + caplog.text
    for text in (said, repr(client), repr(receipt), str(receipt), repr(client.study), repr(vars(caught.value))):
        assert "123.4" not in text
        assert token not in text
    assert caught.value.__context__ is None
    assert "sent again, and the value given is not used" in caplog.text


def test_an_unreachable_curator_hangs_nothing_on_the_error(curator: MockCurator) -> None:
    client = curator.client("alice")
    assert client.study.study == STUDY
    client._participant._keys = curator.jwks()
    curator.disconnect(5)
    with pytest.raises(UnavailableError, match="ConnectError") as caught:
        client.trust(PLANTED)
    assert caught.value.__context__ is None  # httpx's error would hold the request, with its body


def test_receipts_are_compared_as_they_are(call: Call) -> None:
    first = call("report", 30)
    assert isinstance(first, Receipt)
    assert replace(call("report", 30), resent=False) == first
