"""`MockCurator`: a curator in memory, for the tests of apps that take part in studies."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybriddp import _check
from hybriddp.client.claims import check_study_id, one_spelling, read_claims
from hybriddp.client.client import AsyncClient, Client
from hybriddp.client.contribution import Contribution
from hybriddp.client.drivers import import_httpx
from hybriddp.client.exchange import RetryPolicy
from hybriddp.client.mock_bodies import MockEnrollment, content_of, read_contribution, read_enrollment, study_of
from hybriddp.client.mock_problems import MockTrouble
from hybriddp.client.mock_rounds import MockAnswer, MockRounds
from hybriddp.client.mock_signer import MockSigner, base64url
from hybriddp.client.questions import ItemQuestion, OfferedStudy, StudyQuestion, question
from hybriddp.client.receipt import KEYS_PATH
from hybriddp.errors import HybridDPError, ParameterError, ProtocolError
from hybriddp.items import HeavyHitterStudy
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.shares import FrequencyStudy
from hybriddp.study.users import StudyParts

if TYPE_CHECKING:
    import httpx

__all__ = ["MockCurator"]

_URL = "https://curator.example.org"
_STORED = {
    "local": ["This is a test: the code is kept in memory."],
    "trusted": ["This is a test: the value is kept in memory."],
}

_Taken = Contribution | MockEnrollment


class MockCurator:
    """A curator in memory: it takes contributions, knows repeated ones, and signs receipts with a throw-away key.

    It speaks the protocol of the real one, over ``transport``, without a network. Tokens are read and not verified.
    What it received is there to be looked at, so give it no real person's value.

    Parameters
    ----------
    study : MeanStudy, DistributionStudy, FrequencyStudy, HeavyHitterStudy or KMeansStudy
        The study.
    id : str
        Its id.
    tokens : bool
        Whether participants need tokens; False is a pilot.
    parts : StudyParts, optional
        Parts of the users, if each has an answer of its own: tokens say who is in which one.

    Attributes
    ----------
    contributions : dict
        Per participant, what was accepted and not withdrawn.
    part_of : dict
        Per participant, the part that their contribution was taken in, if the study has parts.
    requests : list of (method, path, body)
        Everything that arrived, in order.
    state : str
        ``"open"``; set it to ``"closed"`` to close the study. `release_list` and `next_round` set it to ``"asking"``.

    Examples
    --------
    >>> from hybriddp import MeanStudy
    >>> curator = MockCurator(MeanStudy("session minutes", bounds=(0, 240), epsilon=1))
    >>> curator.fail(2)  # the next two requests are answered with 503
    >>> receipt = curator.client("alice").trust(30)
    >>> curator.contributions["alice"].group, len(curator.requests)
    ('trusted', 5)
    """

    def __init__(
        self,
        study: OfferedStudy,
        *,
        id: str = "mock-study",  # noqa: A002
        tokens: bool = True,
        parts: StudyParts | None = None,
    ) -> None:
        if isinstance(study, KMeansStudy) and not tokens:
            raise ParameterError("tokens", "True for K-means: a token says which round asks whom", tokens)
        self.study = study
        self._asked: StudyQuestion = question(study)
        self.id = check_study_id(id)
        self.tokens, self.parts = tokens, parts
        self.state = "open"
        self.part_of: dict[str, str] = {}
        self.contributions: dict[str, _Taken] = {}
        self.requests: list[tuple[str, str, bytes]] = []
        self._withdrawn: set[str] = set()
        self._troubles: list[MockTrouble | str] = []
        self._signer = MockSigner()
        self._rounds = MockRounds(study) if isinstance(study, KMeansStudy) else None

    # For a test's own use

    @property
    def transport(self) -> "httpx.MockTransport":
        """What to hand to `Client` or `AsyncClient` as ``transport``."""
        transport: httpx.MockTransport = import_httpx().MockTransport(self.answer)
        return transport

    def token(self, participant: str, part: str | None = None) -> str:
        """Create a token for this participant, in this part of the users."""
        head = base64url(b'{"alg":"HS256","typ":"JWT"}')
        claims = {"sub": participant, "aud": self.id, "exp": 4102444800}  # the year 2100
        claims |= {} if part is None else {"part": part}
        text = f"{head}.{base64url(json.dumps(claims).encode())}"
        return f"{text}.{base64url(hmac.digest(b'a secret of nobody', text.encode(), 'sha256'))}"

    def client(self, participant: str, *, journal: Path | str | None = None, part: str | None = None) -> Client:
        """Create a client of this participant, which does not wait between retries."""
        return Client(_URL, self.token(participant, part), journal=journal, retries=_NO_WAITS, transport=self.transport)

    def async_client(
        self, participant: str, *, journal: Path | str | None = None, part: str | None = None
    ) -> AsyncClient:
        """Create an asynchronous client of this participant, for asyncio and trio.

        It does not wait between retries.
        """
        token = self.token(participant, part)
        return AsyncClient(_URL, token, journal=journal, retries=_NO_WAITS, transport=self.transport)

    def fail(self, times: int, *, status: int = 503, reason: str = "", retry_after: int | None = None) -> None:
        """Answer the next requests with this status: 503, 429, or 409 with a reason."""
        if not 400 <= status < 600:
            raise ParameterError("status", "an HTTP status of failure, from 400 to 599", status)
        count = _check.integer("times", times, at_least=1)
        self._troubles += [MockTrouble(status, reason or ("duplicate" if status == 409 else ""), retry_after)] * count

    def disconnect(self, times: int) -> None:
        """Let the next requests fail before they arrive."""
        self._troubles += ["disconnect"] * _check.integer("times", times, at_least=1)

    def lose_answers(self, times: int) -> None:
        """Take the next contributions, and lose the answers: what a retry is for. Other requests are answered."""
        self._troubles += ["lose"] * _check.integer("times", times, at_least=1)

    def release_list(self, items: Sequence[str]) -> FrequencyStudy:
        """In a study of heavy hitters: release these items as the list, and ask the local group; the question."""
        if not isinstance(self.study, HeavyHitterStudy):
            raise ProtocolError("This study has no list: it is not one of heavy hitters.")
        asked = self.study.question_about(items)
        self.study.check_question(asked)  # as clients do
        self._asked, self.state = question(self.study, asked), "asking"
        return asked

    def next_round(self) -> Round | None:
        """In a study of K-means: end enrollment, or the round, and publish the next one; None after the last.

        Examples
        --------
        >>> from hybriddp.kmeans import KMeansStudy
        >>> curator = MockCurator(KMeansStudy("visits", n_clusters=2, bounds=[(0, 24)], epsilon=4))
        >>> client = curator.client("alice")
        >>> _ = client.enroll()
        >>> while curator.next_round() is not None:
        ...     if curator.is_turn_of(client):
        ...         receipt = client.answer([8.5])
        >>> sorted(curator.answers), curator.state
        (['alice'], 'closed')
        """
        points = [made.value for made in self.contributions.values() if isinstance(made.value, tuple)]
        n_local = sum(made.enrolls for made in self.contributions.values())
        asked = self._its_rounds.advance(points, n_local)
        self.state = "closed" if asked is None else "asking"
        return asked

    def is_turn_of(self, client: Client | AsyncClient) -> bool:
        """In a study of K-means: whether the round that is asked now asks this client, which alone knows its place."""
        return self._its_rounds.is_turn_of(client._participant)  # noqa: SLF001  (of this package)

    @property
    def answers(self) -> dict[str, MockAnswer]:
        """In a study of K-means: per participant, what they answered, and in which round."""
        return self._its_rounds.answers

    @property
    def _its_rounds(self) -> MockRounds:
        if self._rounds is None:
            raise ProtocolError("This study has no rounds: it is not one of K-means.")
        return self._rounds

    # The server's side

    def answer(self, request: "httpx.Request") -> "httpx.Response":
        """Answer a request."""
        library = import_httpx()
        now = self._troubles[0] if self._troubles else None
        if now == "lose" and request.method != "POST":
            now = None
        if now is not None:
            self._troubles.pop(0)
        if now == "disconnect":
            raise library.ConnectError("The mock curator was told to fail.", request=request)
        self.requests.append((request.method, request.url.path, request.content))
        try:
            if isinstance(now, MockTrouble):
                raise now
            status, document = self._route(request)
        except MockTrouble as trouble:
            return trouble.response()
        if now == "lose":
            raise library.ReadError("The mock curator was told to lose the answer.", request=request)
        response: httpx.Response = library.Response(status, json=document)
        return response

    def _route(self, request: "httpx.Request") -> tuple[int, dict[str, Any]]:
        path = request.url.path
        if (request.method, path) == ("GET", KEYS_PATH):
            return 200, self.jwks()
        base, _, rest = path.partition(f"/studies/{self.id}")
        match (request.method, rest.strip("/")) if not base and path.startswith("/studies/") else ("", ""):
            case "GET", "":
                return 200, self.document()
            case "GET", "receipt":
                who = self._participant(request, request.url.params.get("commitment", ""))
                if who not in self.contributions:
                    raise MockTrouble(404)
                return 200, self._receipt(self.contributions[who], part=self.part_of.get(who))
            case "GET", "round" if self._rounds is not None:
                return 200, self._rounds.document(self.id)
            case "POST", route if route:
                return self._posted(route, request)
        raise MockTrouble(404)

    def _posted(self, route: str, request: "httpx.Request") -> tuple[int, dict[str, Any]]:
        content = content_of(request)
        match route.split("/"):
            case ["batches"]:
                return 200, self._batch(content)
            case ["answers"] if self._rounds is not None:
                who = self._participant(request, "")
                return self._answer(self._rounds, who, _claims(request)["sub"], content)
            case [("reports" | "values" | "enrollments") as what]:
                enrolls = what == "enrollments"
                made: _Taken = (
                    read_enrollment(self._asked, content) if enrolls else read_contribution(self._asked, what, content)
                )
                who = self._participant(request, made.commitment)
                status = self._take(who, made, _claims(request).get("part") if self.tokens else None)
                return status, self._receipt(made, part=self.part_of.get(who))
            case [("reports" | "values" | "enrollments") as what, "withdraw"]:
                opened = read_contribution(self._asked, what, content)
                return 200, self._withdraw(self._participant(request, opened.commitment), opened)
        raise MockTrouble(404)

    def _participant(self, request: "httpx.Request", commitment: str) -> str:
        """Return the participant who sent the request.

        In a pilot without tokens, a contribution stands for its participant.
        """
        if not self.tokens:
            return commitment
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        try:
            read_claims(token, self.id)
        except HybridDPError:
            raise MockTrouble(401) from None
        return one_spelling(_claims(request)["sub"])

    def _answer(
        self, rounds: MockRounds, who: str, subject: str, content: Mapping[str, Any]
    ) -> tuple[int, dict[str, Any]]:
        """Take an answer of somebody who has enrolled; turns are by the subject as the token has it."""
        enrolled = self.contributions.get(who)
        if enrolled is None or not enrolled.enrolls:
            raise MockTrouble(403)
        status, made = rounds.take(who, subject, enrolled.commitment, content)
        receipt = self._told("local", made.commitment) | {"round": made.round}
        return status, self.sign(receipt | {"digest": self.study.digest})

    def _study_of(self, group: str) -> OfferedStudy:
        return study_of(self._asked, group)

    def _takes(self, group: str) -> bool:
        """Whether the study takes contributions of a group now."""
        return self.state == ("asking" if self._study_of(group) is not self.study else "open")

    def _take(self, who: str, made: _Taken, part: object, missing: int = 401) -> int:
        """Accept a contribution (201) or know it again (200)."""
        place = None if self.parts is None else self.parts.position(part)
        if self.parts is not None and place is None:
            raise MockTrouble(missing)
        known = self.contributions.get(who)
        if known is not None and known.commitment == made.commitment:
            return 200
        if not self._takes(made.group):
            raise MockTrouble(409, "closed")
        if known is not None or who in self._withdrawn:
            raise MockTrouble(409, "duplicate")
        self.contributions[who] = made
        if self.parts is not None and place is not None:
            self.part_of[who] = self.parts.names[place]
        return 201

    def _withdraw(self, who: str, made: Contribution) -> dict[str, Any]:
        """Subtract what somebody gave. Who gave nothing, or has withdrawn, has withdrawn afterwards all the same."""
        if not self._takes(made.group) and who not in self._withdrawn:
            raise MockTrouble(409, "closed")
        known = self.contributions.get(who)
        if known is not None and known.commitment != made.commitment:
            raise MockTrouble(409, "duplicate")
        if known is None and who not in self._withdrawn and not self.tokens:
            raise MockTrouble(404)  # without tokens there is nobody to remember
        self.contributions.pop(who, None)
        self.part_of.pop(who, None)
        self._withdrawn.add(who)
        return self._receipt(made, withdrawn=True, opened=known is not None)

    def _batch(self, content: Mapping[str, Any]) -> dict[str, Any]:
        taken, rejected, commitments = {200: 0, 201: 0}, [], []
        for index, item in enumerate(content["reports"]):
            try:
                body = {"digest": content["digest"], "code": item["code"], "nonce": item["nonce"]}
                made = read_contribution(self._asked, "reports", body)
                taken[self._take(one_spelling(str(item["participant"])), made, item.get("part"), 400)] += 1
                commitments.append(bytes.fromhex(made.commitment))
            except MockTrouble as trouble:
                rejected.append({"index": index, "reason": trouble.reason})
        counts = {"accepted": taken[201], "repeated": taken[200]}
        hashed = hashlib.sha256(b"".join(commitments)).hexdigest()
        digest = self._study_of("local").digest
        said = {"version": 1, "study": self.id, "digest": digest, "group": "local", "asserted_by": "relay"}
        receipt = said | {"relay": "mock", **counts, "commitments_sha256": hashed, "day": _today()}
        return {**counts, "rejected": rejected, "receipt": self.sign(receipt)}

    # Documents

    def document(self) -> dict[str, Any]:
        """Return the public document of the study."""
        asked = self._asked.about_list if isinstance(self._asked, ItemQuestion) else None
        steps = [] if self._rounds is None else [self._rounds.step()]
        least = 2 if isinstance(self.study, KMeansStudy) else self.study.min_group_size
        return {
            "id": self.id,
            "kind": self._asked.kind,
            "digest": self.study.digest,
            "text": self._asked.text,
            "epsilon": self.study.privacy.epsilon,
            "delta": self.study.privacy.delta,
            "promise": f"ε = {self.study.privacy.epsilon}",
            "consent": {"organization": "Example", "purpose": "a test", "contact": "test@example.org"},
            "stored": _STORED,
            "tokens": self.tokens,
            "warning": None if self.tokens else "Nobody vouches for who takes part, or how often.",
            "state": self.state,
            "steps": [*steps, {"name": "release", "state": "pending"}],
            "closes_at": "2099-12-31T00:00:00Z",
            "min_trusted": least,
            "min_local": least,
            "single_group": False,
            "parts": self.parts and self.parts.to_dict(),
            "counts": None,
            "receipts_key": KEYS_PATH,
            "round": None if self._rounds is None else self._rounds.described(),
            "question": asked and {"digest": asked.digest, "text": asked.to_json()},
        }

    def _receipt(
        self, made: _Taken, *, withdrawn: bool = False, opened: bool = True, part: str | None = None
    ) -> dict[str, Any]:
        receipt = self._told(made.group, made.commitment if opened else "") | {"digest": made.digest}
        if self.parts is not None and part is not None:
            receipt |= {"part": part, "part_by": self.parts.by}
        if withdrawn:
            receipt |= {"stored": ["That somebody has withdrawn."], "withdrawn": True, "opened": opened}
        return self.sign(receipt)

    def _told(self, group: str, commitment: str) -> dict[str, Any]:
        """Return the content of a receipt without the digest."""
        promised = self._study_of(group).privacy
        return {
            "version": 1,
            "study": self.id,
            "group": group,
            "epsilon": promised.epsilon,
            "delta": promised.delta,
            "commitment": commitment,
            "asserted_by": "participant" if self.tokens else "nobody",
            "stored": _STORED[group],
            "day": _today(),
        }

    def sign(self, receipt: Mapping[str, Any]) -> dict[str, Any]:
        """Sign a receipt and return it with its signature."""
        return self._signer.sign(receipt)

    def jwks(self) -> dict[str, Any]:
        """Return the public key as a JSON Web Key Set."""
        return self._signer.jwks()


_NO_WAITS = RetryPolicy(first_wait=0.0)


def _claims(request: "httpx.Request") -> dict[str, Any]:
    """Return the claims of a request's token, which has been checked before."""
    payload = request.headers["Authorization"].split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return claims


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
