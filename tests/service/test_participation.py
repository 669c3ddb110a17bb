"""Taking part, without HTTP: who a person is, receipts, batches and withdrawals."""

import asyncio
from collections.abc import Coroutine, Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from hybriddp import MeanStudy
from hybriddp.service import life, participation, receipts
from hybriddp.service.curator import Curator, KnownStudy
from hybriddp.service.keys import MasterKey
from hybriddp.service.kinds import MeanKind
from hybriddp.service.participation import Sent
from hybriddp.service.problems import Refusal
from hybriddp.service.routes.wire import BatchedReport
from hybriddp.service.store import contributions as stored
from hybriddp.service.store.engine import open_engine, reading
from hybriddp.service.tokens import TokenError, TokenKeys, mint

_numbers = count(1)
NONCE = "0" * 32


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    folder: Path = tmp_path_factory.mktemp("curator")
    master = MasterKey.create(folder / "key")
    engine = open_engine(f"sqlite:///{folder / 'curator.sqlite'}")
    found = Curator(engine, master, TokenKeys(master.token_secret), replica="a")
    yield found
    found.close()


def made(curator: Curator, *, tokens: bool = True) -> KnownStudy:
    """A new open study."""
    name = f"minutes-{next(_numbers)}"
    fields = {
        "id": name,
        "consent": {},
        "dimensions": [],
        "origins": [],
        "tokens": tokens,
        "single_group": False,
        "min_trusted": 2,
        "min_local": 2,
        "budget": None,
        "closes_at": curator.clock() + 1000,
    }
    kind = MeanKind(MeanStudy(name, bounds=(0, 240), epsilon=1.0))
    run(life.create(curator, kind, fields, opened=True))
    return asyncio.run(curator.known(name))


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def token(curator: Curator, known: KnownStudy, who: str) -> str:
    assert curator.tokens.secret is not None
    return mint(curator.tokens.secret, subject=who, study=known.stored.id, lifetime=timedelta(hours=1))


def report(known: KnownStudy, code: int, nonce: str = NONCE) -> Sent:
    return Sent(False, code, known.stored.digest, nonce)


def reason(work: Coroutine[Any, Any, Any]) -> str:
    with pytest.raises(Refusal) as refused:
        run(work)
    return refused.value.reason


def counts(curator: Curator, known: KnownStudy) -> tuple[int, int]:
    with reading(curator.engine) as connection:
        sizes = stored.sizes(connection, known.stored.number)
    return sizes.trusted, sizes.local


def test_a_receipt_says_what_was_promised_and_stored(curator: Curator) -> None:
    known = made(curator)
    done = run(participation.contribute(curator, known, report(known, 7), token(curator, known, "a")))
    told = done.receipt["receipt"]
    assert done.new
    assert told["commitment"] == receipts.commitment(known.stored.digest, "local", 7, NONCE).hex()
    assert (told["study"], told["digest"], told["group"]) == (known.stored.id, known.stored.digest, "local")
    assert (told["epsilon"], told["delta"], told["asserted_by"]) == ("1", "0", "participant")
    assert told["stored"] == receipts.stored("local")
    assert "7" not in {str(value) for value in told.values()}


def test_the_same_again_gets_the_same_receipt(curator: Curator) -> None:
    known = made(curator)
    who = token(curator, known, "a")
    first = run(participation.contribute(curator, known, report(known, 7), who))
    again = run(participation.contribute(curator, known, report(known, 7), token(curator, known, "a")))
    assert not again.new
    assert again.receipt == first.receipt == run(participation.receipt(curator, known, who, None))
    assert counts(curator, known) == (0, 1)


@pytest.mark.parametrize(
    "again",
    [(False, 8, NONCE), (False, 7, "1" * 32), (True, 7, NONCE)],
    ids=["another code", "another nonce", "the other group"],
)
def test_nobody_counts_twice(curator: Curator, again: tuple[bool, int, str]) -> None:
    known = made(curator)
    who = token(curator, known, "a")
    run(participation.contribute(curator, known, report(known, 7), who))
    trusted, integer, nonce = again
    other = Sent(trusted, integer, known.stored.digest, nonce)
    assert reason(participation.contribute(curator, known, other, who)) == "duplicate"
    assert reason(participation.withdraw(curator, known, other, who)) == "duplicate"
    assert counts(curator, known) == (0, 1)


def test_a_person_is_somebody_else_in_every_study(curator: Curator) -> None:
    one, two = made(curator), made(curator)
    hashes = {participation.person_of(curator, known, token(curator, known, "a"), None).who for known in (one, two)}
    assert len(hashes) == 2
    assert {len(hashed) for hashed in hashes} == {16}
    with pytest.raises(TokenError):
        participation.person_of(curator, two, token(curator, one, "a"), None)


def test_a_relay_and_a_token_mean_the_same_person(curator: Curator) -> None:
    known = made(curator)
    batch = [BatchedReport("a", 7, NONCE)]
    run(participation.contribute_batch(curator, known, known.stored.digest, batch, "backend"))
    told = run(participation.receipt(curator, known, token(curator, known, "a"), None))
    assert told["receipt"]["asserted_by"] == "relay"
    trusted = Sent(True, 5, known.stored.digest, NONCE)
    assert reason(participation.contribute(curator, known, trusted, token(curator, known, "a"))) == "duplicate"


def test_a_batch_with_everything_in_it(curator: Curator) -> None:
    known = made(curator)
    digest = known.stored.digest
    run(participation.contribute(curator, known, report(known, 3), token(curator, known, "old")))
    batch = [
        BatchedReport("a", 1, NONCE),
        BatchedReport("a", 1, NONCE),  # the same again
        BatchedReport("a", 2, NONCE),  # another one of the same person
        BatchedReport("b", 256, NONCE),
        BatchedReport("c", -1, NONCE),
        BatchedReport("old", 3, NONCE),  # has sent it themself
        BatchedReport("old", 4, NONCE),
        BatchedReport("\ud800", 4, NONCE),
        BatchedReport("d'; DROP TABLE participants; --\x00", 255, NONCE),
    ]
    told = run(participation.contribute_batch(curator, known, digest, batch, "backend"))
    reasons = {2: "duplicate", 3: "out-of-range", 4: "out-of-range", 6: "duplicate", 7: "bad-token"}
    assert (told["accepted"], told["repeated"]) == (2, 2)
    assert told["rejected"] == [{"index": i, "reason": why} for i, why in reasons.items()]
    taken = [receipts.commitment(digest, "local", code, NONCE) for code in (1, 1, 3, 255)]
    receipt = told["receipt"]["receipt"]
    assert receipt["commitments_sha256"] == receipts.commitments_sha256(taken)
    assert (receipt["relay"], receipt["accepted"], receipt["repeated"]) == ("backend", 2, 2)
    assert counts(curator, known) == (0, 3)


def test_a_batch_of_nothing_that_counts(curator: Curator) -> None:
    known = made(curator)
    batch = [BatchedReport("a", 300, NONCE)]
    told = run(participation.contribute_batch(curator, known, known.stored.digest, batch, "backend"))
    assert (told["accepted"], told["repeated"], len(told["rejected"])) == (0, 0, 1)


def test_the_wrong_digest(curator: Curator) -> None:
    known, other = made(curator), made(curator)
    who = token(curator, known, "a")
    wrong = Sent(False, 7, other.stored.digest, NONCE)
    assert reason(participation.contribute(curator, known, wrong, who)) == "wrong-digest"
    assert reason(participation.withdraw(curator, known, wrong, who)) == "wrong-digest"
    assert reason(participation.contribute_batch(curator, known, other.stored.digest, [], "b")) == "wrong-digest"


def test_withdrawing_leaves_a_receipt_and_no_way_back(curator: Curator) -> None:
    known = made(curator)
    who = token(curator, known, "a")
    sent = Sent(True, 2**24, known.stored.digest, NONCE)
    run(participation.contribute(curator, known, sent, who))
    told = run(participation.withdraw(curator, known, sent, who))["receipt"]
    assert told["withdrawn"]
    assert told["stored"] == receipts.stored("trusted", withdrawn=True)
    assert counts(curator, known) == (0, 0)
    again = run(participation.withdraw(curator, known, sent, who))["receipt"]  # its answer may have been lost
    assert (told["opened"], again["opened"], again["commitment"]) == (True, False, "")
    assert counts(curator, known) == (0, 0)
    assert reason(participation.receipt(curator, known, who, None)) == "not-found"
    assert reason(participation.contribute(curator, known, sent, who)) == "duplicate"


def test_a_pilot_without_tokens(curator: Curator) -> None:
    known = made(curator, tokens=False)
    first = run(participation.contribute(curator, known, report(known, 7), None))
    assert first.receipt["receipt"]["asserted_by"] == "nobody"
    assert not run(participation.contribute(curator, known, report(known, 7), None)).new
    assert run(participation.contribute(curator, known, report(known, 7, "1" * 32), "any token")).new
    assert counts(curator, known) == (0, 2)
    opened = bytes.fromhex(first.receipt["receipt"]["commitment"])
    assert run(participation.receipt(curator, known, None, opened)) == first.receipt
    assert reason(participation.receipt(curator, known, None, None)) == "malformed"
    assert reason(participation.receipt(curator, known, None, bytes(32))) == "not-found"
    batch = participation.contribute_batch(curator, known, known.stored.digest, [], "backend")
    assert reason(batch) == "not-allowed"
    assert run(participation.withdraw(curator, known, report(known, 7), None))["receipt"]["withdrawn"]
    assert counts(curator, known) == (0, 1)


def test_a_study_that_closes_in_between(curator: Curator) -> None:
    known = made(curator)
    who, sent = token(curator, known, "a"), report(known, 7)
    first = run(participation.contribute(curator, known, sent, who))
    run(life.move(curator, known.stored.id, "close"))
    assert run(participation.contribute(curator, known, sent, who)).receipt == first.receipt
    assert reason(participation.contribute(curator, known, sent, token(curator, known, "b"))) == "closed"
    assert reason(participation.withdraw(curator, known, sent, who)) == "closed"
    batch = [BatchedReport("b", 7, NONCE), BatchedReport("a", 7, NONCE)]
    told = run(participation.contribute_batch(curator, known, known.stored.digest, batch, "backend"))
    assert (told["accepted"], told["repeated"], told["rejected"]) == (0, 1, [{"index": 0, "reason": "closed"}])


def test_what_was_sent_is_not_shown() -> None:
    assert "4711" not in repr(Sent(True, 4711, "d", "n"))


def test_a_batch_of_which_nothing_is_taken_because_the_study_is_closed_is_refused(curator: Curator) -> None:
    known = made(curator)
    digest = known.stored.digest

    def batch(*reports: BatchedReport | None) -> dict[str, Any]:
        answer: dict[str, Any] = run(participation.contribute_batch(curator, known, digest, reports, "backend"))
        return answer

    first, second = (BatchedReport(name, 1, NONCE) for name in "ab")
    assert batch(first)["accepted"] == 1
    assert batch(None)["rejected"] == [{"index": 0, "reason": "malformed"}]  # it is open
    run(life.move(curator, known.stored.id, "close"))
    assert reason(participation.contribute_batch(curator, known, digest, [second], "backend")) == "closed"
    assert reason(participation.contribute_batch(curator, known, digest, [second, None], "backend")) == "closed"
    again = batch(first, second)  # whoever did not hear the answer hears it now
    assert (again["accepted"], again["repeated"]) == (0, 1)
    assert again["rejected"] == [{"index": 1, "reason": "closed"}]
    unreadable = [None, BatchedReport("c", 10**6, NONCE)]
    assert reason(participation.contribute_batch(curator, known, digest, unreadable, "backend")) == "closed"
    assert counts(curator, known) == (0, 1)
