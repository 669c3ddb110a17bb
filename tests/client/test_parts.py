"""A study of parts of the users, at the participant: what the token must say, and what the receipt may."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from hybriddp import MeanStudy
from hybriddp.client import MockCurator
from hybriddp.client.offer import StudyOffer
from hybriddp.errors import ProtocolError
from hybriddp.study.users import StudyParts

STUDY = MeanStudy("session minutes", bounds=(0, 240), epsilon=1)
PARTS = StudyParts("country", ["DE", "FR"])


class Liar(MockCurator):
    """A curator that counts everybody in a part of its own choice."""

    said: Mapping[str, str] = MappingProxyType({})

    def _receipt(self, made: Any, **about: Any) -> dict[str, Any]:
        document = super()._receipt(made, **about)
        return self.sign({name: text for name, text in {**document["receipt"], **self.said}.items() if text != "-"})


def test_the_part_is_in_the_promise_and_in_the_receipt() -> None:
    curator = MockCurator(STUDY, parts=PARTS)
    client = curator.client("alice", part="FR")
    assert "You are counted in your country: FR. Who is in which part is not hidden" in client.promise()
    receipt = client.report(37.5)
    assert (receipt.part, receipt.part_by, curator.part_of) == ("FR", "country", {"alice": "FR"})
    assert "You are counted in country: FR." in str(receipt)
    assert client.receipt().part == "FR"
    assert client.withdraw().part == ""
    assert curator.part_of == {}


def test_an_offer_knows_its_parts_without_a_token() -> None:
    offer = StudyOffer.from_document(MockCurator(STUDY, parts=PARTS).document())
    assert offer.parts == PARTS
    assert "as your token says it (DE, FR)" in offer.promise()
    plain = StudyOffer.from_document(MockCurator(STUDY).document())
    assert plain.parts is None
    assert "part" not in plain.promise().replace("part of", "")


@pytest.mark.parametrize("part", [None, "ES", "de"])
def test_without_a_part_of_the_study_nothing_is_drawn(part: str | None) -> None:
    curator = MockCurator(STUDY, parts=PARTS)
    with pytest.raises(ProtocolError, match="which country .* one of DE, FR. Nothing was drawn"):
        curator.client("alice", part=part).report(37.5)
    assert [method for method, *_ in curator.requests] == ["GET"]


@pytest.mark.parametrize(
    "said", [{"part": "DE"}, {"part": "ES"}, {"part": "-"}, {"part": "-", "part_by": "-"}, {"part_by": "city"}]
)
def test_a_receipt_of_another_part_is_refused(said: dict[str, str]) -> None:
    curator = Liar(STUDY, parts=PARTS)
    curator.said = said
    with pytest.raises(ProtocolError, match="in another part than your token says"):
        curator.client("alice", part="FR").report(37.5)


def test_a_part_in_a_study_of_everybody_is_refused() -> None:
    curator = Liar(STUDY)
    assert curator.client("bob", part="DE").report(1).part == ""  # a claim that nobody asked for is ignored
    curator.said = {"part": "DE", "part_by": "country"}
    with pytest.raises(ProtocolError, match="in another part"):
        curator.client("alice").report(37.5)


def test_a_newer_token_of_another_part_leaves_the_contribution_where_it_was(tmp_path: Path) -> None:
    curator = MockCurator(STUDY, parts=PARTS)
    journal = tmp_path / "journal"
    assert curator.client("alice", journal=journal, part="FR").report(37.5).part == "FR"
    again = curator.client("alice", journal=journal, part="DE")
    again.promise()  # so that it knows the offer
    receipt = again.report(99)
    assert (receipt.part, receipt.resent) == ("FR", True)


@pytest.mark.parametrize("parts", [{}, {"by": "x", "names": ["a"]}, "DE", {"by": "x", "names": ["a", "A"]}])
def test_a_document_whose_parts_are_none(parts: object) -> None:
    with pytest.raises(ProtocolError, match="parts of"):
        StudyOffer.from_document(MockCurator(STUDY).document() | {"parts": parts})


def test_a_relay_names_parts_to_the_mock() -> None:
    curator = MockCurator(STUDY, parts=PARTS)
    items = [
        {"participant": f"p{i}", "code": 1, "nonce": f"{i:032x}", "part": part} for i, part in enumerate(("DE", "x"))
    ]
    told = curator._batch({"digest": STUDY.digest, "reports": items})
    assert (told["accepted"], told["rejected"]) == (1, [{"index": 1, "reason": "malformed"}])
