"""Rounds of K-means at a mock curator: real rounds, turns and answers, with the releases of a simulation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hybriddp.client.contribution import Contribution, answer_commitment
from hybriddp.client.mock_problems import MockTrouble
from hybriddp.client.participant import Participant
from hybriddp.client.rounds import turn_of
from hybriddp.errors import HybridDPError, ProtocolError
from hybriddp.kmeans.protocol.answers import AnswerEntries, Message, received_reports
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.protocol.turns import Turns
from hybriddp.kmeans.study import KMeansStudy

__all__ = ["MockAnswer", "MockRounds"]

_FIELDS = ("round", "ask", "variant", "code")
_SEED = 0  # a mock's releases are no private ones


@dataclass(frozen=True, slots=True, repr=False)
class MockAnswer:
    """What somebody answered, in which round, and the commitment to it."""

    message: Message
    round: int
    commitment: str


class MockRounds:
    """The rounds of one study, kept in memory.

    Attributes
    ----------
    answers : dict
        Per participant, what they answered.
    server : HybridKMeansServer or None
        What asks; its `cluster_centers` are there after the last round. None before the first.
    """

    def __init__(self, study: KMeansStudy) -> None:
        self._study = study
        self.answers: dict[str, MockAnswer] = {}
        self.server: HybridKMeansServer | None = None
        self._turns: Turns | None = None

    @property
    def asked(self) -> Round | None:
        """The round that is asked now."""
        return None if self.server is None else self.server.round

    def is_turn_of(self, participant: Participant) -> bool:
        """Whether the round that is asked now asks somebody, as their device knows it."""
        asked = self.asked
        return asked is not None and self._turns is not None and turn_of(participant, self._turns) == asked.number

    def advance(self, points: Sequence[Sequence[float]], n_local: int) -> Round | None:
        """Count the answers, and publish the next round; None if there is none.

        A test may have one person only. K-means needs as many as there are clusters: the others never answer.
        """
        if self.server is None:
            enough, trusted = max(n_local, self._study.n_clusters), list(points) or None
            self.server = HybridKMeansServer(self._study, n_local=enough, trusted=trusted, random_state=_SEED)
            self.server.start()
        elif self.server.round is None:
            raise ProtocolError("The study's rounds have ended.")
        else:
            asked = self.server.round
            said = [made.message for made in self.answers.values() if made.round == asked.number]
            self.server.absorb(asked.count(received_reports(asked, said).reports))
        asked_now = self.server.round
        if asked_now is not None:
            before = () if self._turns is None else self._turns.fractions
            self._turns = Turns(self._study.digest, (*before, asked_now.user_fraction))
        return asked_now

    def described(self) -> dict[str, Any] | None:
        """Return the current round as the study's document describes it."""
        asked = self.asked
        if asked is None:
            return None
        told = {"number": asked.number, "digest": asked.digest, "purpose": asked.purpose}
        return {**told, "user_fraction": str(asked.user_fraction)}

    def step(self) -> dict[str, str]:
        """Return the step of the study's lifecycle that contains its rounds."""
        ended = self.server is not None and self.server.round is None
        return {"name": "rounds", "state": "released" if ended else "pending"}

    def document(self, study_id: str) -> dict[str, Any]:
        """Return the document of the round, as devices get it."""
        asked, turns = self.asked, self._turns
        if asked is None or turns is None:
            raise MockTrouble(404)
        told = {"study": study_id, "number": asked.number, "digest": asked.digest, "text": asked.to_json()}
        return {**told, "turns": turns.to_json(), "closes_at": "2099-12-31T00:00:00Z"}

    def take(self, participant: str, subject: str, enrolled: str, content: Mapping[str, Any]) -> tuple[int, MockAnswer]:
        """Accept somebody's answer (201) or know it again (200); ``enrolled`` is their commitment."""
        if set(content) != {*_FIELDS, "nonce", "enrollment_nonce"}:
            raise MockTrouble(400)
        message = {name: content[name] for name in _FIELDS}
        try:
            commitment = answer_commitment(message, content["nonce"])
            opened = Contribution(self._study.digest, "local", 0, content["enrollment_nonce"], enrolls=True)
        except (HybridDPError, TypeError, ValueError):
            raise MockTrouble(400) from None
        if opened.commitment != enrolled:
            raise MockTrouble(403)
        known = self.answers.get(participant)
        if known is not None:
            if known.commitment != commitment:
                raise MockTrouble(409, "duplicate")
            return 200, known
        asked = self._require_turn(subject, opened.nonce)
        if message["round"] != asked.digest:
            raise MockTrouble(409, "wrong-digest")
        if AnswerEntries(asked).integer(message) is None:
            raise MockTrouble(422)
        made = self.answers[participant] = MockAnswer(message, asked.number, commitment)
        return 201, made

    def _require_turn(self, subject: str, nonce: str) -> Round:
        asked, turns = self.asked, self._turns
        if asked is None or turns is None:
            raise MockTrouble(409, "early" if self.server is None else "late")
        turn = turns.round_of(subject, nonce)
        if turn is None:
            raise MockTrouble(409, "early")
        if turn != asked.number:
            raise MockTrouble(409, "late")
        return asked
