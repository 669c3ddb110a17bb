"""Studies that release in steps: heavy hitters by way of a list, and K-means in rounds."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import httpx

from hybriddp import FrequencyStudy, HeavyHitterStudy
from hybriddp.client.contribution import commitment
from hybriddp.grid import UNITS
from hybriddp.kmeans import KMeansStudy
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.study.reports import Reports
from tests.service.attacking import refused
from tests.service.kmeans_people import DEADLINE, Asked, People, in_memory, nonce_of
from tests.service.lives import Contribution, Life, Tally


class HeavyLife(Life):
    """Heavy hitters: the trusted group's list comes first, then reports about it."""

    kind = "heavy-hitters"
    committed = "item"
    steps = ("list", "release")
    values = ("my own name", *["weather"] * 14, *["news"] * 10, *["ünïcode ☂"] * 10)
    others = ("weather", "news", "something else") * 20
    on_page = "ünïcode ☂"
    for_curator = ("weight on trusted",)
    for_operator = r"Result: .*weather: .*\[95 % intervals"
    told: ClassVar = {"trusted": "each item, encrypted, until the list", "local": "each code, or each bit of one"}
    local = ()  # type: ignore[assignment]  # nobody can report yet

    def named(self, name: str) -> HeavyHitterStudy:
        return HeavyHitterStudy(name, epsilon=4, delta="0.000001")

    def gather(self) -> None:
        for one in self.trusted:
            assert self.send(one).status_code == 201

    def go_on(self) -> Reports:
        early = Contribution("l0", "reports", {"code": 0})
        assert refused(self.send(early)) == "closed"
        listed = self.move("list").json()
        assert (listed["state"], listed["counts"]) == ("asking", {"trusted": len(self.values), "local": 0})
        text = self.shown().json()["question"]["text"]
        question = FrequencyStudy.from_json(text)
        reports = self.answers(question)
        sent = [Contribution(f"l{i}", "reports", {"code": code}) for i, code in enumerate(reports.codes.tolist())]
        told = self.relay(sent, question.digest)
        assert (told["accepted"], told["rejected"]) == (len(self.others), [])
        super().go_on()
        return reports

    def answers(self, question: FrequencyStudy) -> Reports:
        """What the devices of local people draw."""
        return question.randomize(self.others)

    def sums_of(self, n: int) -> tuple[Tally, Any]:
        return {}, dict(Counter(self.values[:n]))

    def integer_of(self, value: str) -> int:
        return int.from_bytes(b"\1" + value.encode())

    def expected(self, reports: Reports) -> dict[str, Any]:
        items = self.study.release(self.study.summarize_trusted(self.values), ledger=Ledger(self.study.privacy))
        published: dict[str, Any] = self.study.estimate(trusted=items, local=reports).to_dict()
        return published


class KMeansLife(Life):
    """K-means: local people enroll, and answer in rounds after the study has closed."""

    kind = "kmeans"
    committed = "point"
    steps = ("rounds", "release")
    fields: ClassVar = {"dimensions": ["width <&>", "height"]}
    on_page = "width &lt;&amp;&gt;"
    for_curator = ("trusted ε",)
    for_operator = "Result: 2 centers"
    told: ClassVar = {"trusted": "until the study ends", "local": "one more person has enrolled"}
    n_trusted, n_local = 12, 24

    @cached_property
    def people(self) -> People:
        return People.of(self.study, self.id, n_trusted=self.n_trusted, n_local=self.n_local)

    @property
    def values(self) -> Sequence[Any]:  # type: ignore[override]
        return list(self.people.trusted.values())

    @property
    def others(self) -> Sequence[Any]:  # type: ignore[override]
        return list(self.people.local.values())

    def named(self, name: str) -> KMeansStudy:
        return KMeansStudy(name, n_clusters=2, bounds=[(0, 10)] * 2, epsilon=4)

    @cached_property
    def trusted(self) -> list[Contribution]:
        return [Contribution(who, "values", {"value": point}) for who, point in self.people.trusted.items()]

    @cached_property
    def local(self) -> list[Contribution]:
        return [Contribution(who, "enrollments", {}, nonce=nonce_of(who)) for who in self.people.local]

    def gather(self) -> None:
        for one in [*self.trusted, *self.local]:
            assert self.send(one).status_code == 201

    def next_round(self) -> httpx.Response:
        return self.server.http.post(f"/studies/{self.id}/round", headers=self.server.admin, json=DEADLINE)

    def go_on(self) -> list[list[dict[str, Any]]]:
        """Rounds until the end."""
        assert refused(self.next_round()) == "refused"  # it is open
        super().go_on()
        assert refused(self.move("release")) == "refused"  # no round has been asked
        said = []
        document = self.next_round().json()
        while document["round"] is not None:
            asked = self.people.asked(self.server)
            messages = self.answers(asked)
            for who, message in messages.items():
                assert self.send(Contribution(who, "answers", message)).status_code == 201
            said.append(list(messages.values()))
            assert self.move("close").json()["state"] == "closed"
            document = self.next_round().json()
        return said

    def answers(self, asked: Asked) -> dict[str, dict[str, Any]]:
        """What the devices of all draw who are asked, but for the last one, who never answers."""
        return asked.messages(asked.names[:-1])

    def send(self, one: Contribution, then: str = "") -> httpx.Response:
        """Who enrolls sends the commitment to their nonce, and opens it with an answer, or to withdraw."""
        if one.route == "values" or then:
            return super().send(one, then)
        committed = commitment(self.study.digest, "local", 0, one.nonce)
        body: dict[str, object] = {"digest": self.study.digest, "commitment": committed}
        if one.route == "answers":
            body = one.sent | {"nonce": one.nonce, "enrollment_nonce": nonce_of(one.who)}
        headers = self.server.token(one.who, self.id)
        return self.server.http.post(f"/studies/{self.id}/{one.route}", headers=headers, json=body)

    def opened(self, kind: Any, total: int) -> Any:
        return sorted(kind.sums.units(total))

    def sums_of(self, n: int) -> tuple[Tally, Any]:
        n_local = min(n, self.n_local)
        points = sorted(tuple(round(x / 10 * UNITS) for x in point) for point in self.values[:n])
        return {0: n_local} if n_local else {}, points

    def integer_of(self, value: list[float]) -> int:
        return int.from_bytes(b"\1" + b"".join(round(x / 10 * UNITS).to_bytes(4) for x in value))

    def counted(self, estimate: dict[str, Any]) -> bool:
        found: bool = estimate["privacy"]["counted"]
        return found

    def expected(self, said: Any) -> dict[str, Any]:
        result = replace(in_memory(self.people, said).result, columns=tuple(self.fields["dimensions"]))
        published: dict[str, Any] = result.to_dict()
        return published | {"rejected": 0}

    def charged(self, said: Any) -> list[str]:
        steps = in_memory(self.people, said).spending
        return [step.trusted_epsilon for step in steps if step.trusted_epsilon != "0"]
