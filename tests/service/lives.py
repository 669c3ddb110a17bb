"""Studies of every kind on a curator: who takes part, what is stored of them, and the answer computed in memory."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import httpx
import numpy as np
import polars as pl

from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy, summarize
from hybriddp.grid import UNITS
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.service.kinds import StudyKind
from hybriddp.service.store import contributions as stored
from hybriddp.service.store.engine import reading
from hybriddp.study.reports import Reports
from tests.service.kmeans_people import spent
from tests.service.running import CLOSES, CONSENT, Running

Tally = dict[int, int]


@dataclass(frozen=True)
class Contribution:
    """What somebody sends: always the same, however often they send it."""

    who: str
    route: str
    sent: dict[str, object]
    part: str | None = None
    nonce: str = "0" * 32


@dataclass(frozen=True)
class Life:
    """A study of one kind. Most kinds take values and reports while they are open, and release once."""

    server: Running
    id: str
    title: str = ""

    kind: ClassVar[str]
    steps: ClassVar[tuple[str, ...]] = ("release",)
    fields: ClassVar[dict[str, object]] = {}
    values: ClassVar[Sequence[Any]]
    """What trusted people hand over."""
    others: ClassVar[Sequence[Any]]
    """What local people keep to themselves."""
    on_page: ClassVar[str]
    """Stands on the page of the result."""
    for_curator: ClassVar[tuple[str, ...]]
    """Stand in the curator's report, and nowhere else."""
    for_operator: ClassVar[str]
    """Stands on the operator's page once there is a result: a regular expression."""
    told: ClassVar[dict[str, str]]
    """What people of each group are told about what is stored of them."""
    committed: ClassVar[str]
    """What trusted people commit to."""
    asked: ClassVar[str] = ""
    """What the real client says that it is asked for."""

    def named(self, name: str) -> Any:
        """The study with this name."""
        raise NotImplementedError

    @cached_property
    def study(self) -> Any:
        return self.named(self.title or self.id)

    @cached_property
    def codes(self) -> list[int]:
        """What the devices of local people draw; they have not drawn something else when they come back."""
        codes: list[int] = self.study.randomize(self.others, random_state=3).codes.tolist()
        return codes

    @cached_property
    def trusted(self) -> list[Contribution]:
        return [Contribution(f"t{i}", "values", {"value": value}) for i, value in enumerate(self.values)]

    @cached_property
    def local(self) -> list[Contribution]:
        """What local people send before the study closes."""
        return [Contribution(f"l{i}", "reports", {"code": code}) for i, code in enumerate(self.codes)]

    def create(self, **fields: object) -> httpx.Response:
        body: dict[str, object] = {"study": json.loads(self.study.to_json()), "id": self.id, "consent": CONSENT}
        body |= {"closes_at": CLOSES} | self.fields | fields
        return self.server.http.post("/studies", headers=self.server.admin, json=body)

    def send(self, one: Contribution, then: str = "") -> httpx.Response:
        body = {"digest": self.study.digest, "nonce": one.nonce} | one.sent
        token = self.server.token(one.who, self.id, part=one.part)
        return self.server.http.post(f"/studies/{self.id}/{one.route}{then}", headers=token, json=body)

    def relay(self, reports: Sequence[Contribution], digest: str = "") -> dict[str, Any]:
        """What became of reports that a relay hands over."""
        named = [{"participant": one.who, "nonce": one.nonce} | one.sent for one in reports]
        items = [
            item | ({} if one.part is None else {"part": one.part}) for item, one in zip(named, reports, strict=True)
        ]
        body = {"digest": digest or self.study.digest, "reports": items}
        headers = self.server.relay(f"relay of {self.id}")
        told: dict[str, Any] = self.server.http.post(f"/studies/{self.id}/batches", headers=headers, json=body).json()
        return told

    def shown(self, page: str = "", *, admin: bool = False) -> httpx.Response:
        return self.server.http.get(f"/studies/{self.id}{page}", headers=self.server.admin if admin else {})

    def move(self, action: str) -> httpx.Response:
        return self.server.move(action, self.id)

    def gather(self) -> None:
        """Everybody takes part who can while the study is open; a relay sends most reports, and one that is none."""
        direct, relayed = self.local[:10], self.local[10:]
        for one in [*self.trusted, *direct]:
            assert self.send(one).status_code == 201
        told = self.relay([*relayed, replace(relayed[0], who="x", sent={"code": 1 << 40})])
        assert (told["accepted"], told["repeated"]) == (len(relayed), 0)
        assert told["rejected"] == [{"index": len(relayed), "reason": "out-of-range"}]

    def go_on(self) -> Any:
        """What comes between the contributions and the release: here, the end. What `expected` needs of it."""
        assert self.move("close").status_code == 200

    def sums(self) -> tuple[Tally, Any]:
        """What whoever has database and key reads of both groups."""
        curator = self.server.prepared.app.state.curator
        known = curator._read(self.id)
        with reading(curator.engine) as connection:
            total = stored.total(connection, known.stored.number, self.study.digest, curator.seal, known.kind.sums)
            tally = stored.tally(connection, known.stored.number)
        return {entry: n for entry, n in tally.items() if n}, self.opened(known.kind, total)

    def opened(self, kind: Any, total: int) -> Any:
        """A total in words that `sums_of` has, too."""
        return kind.sums.counts(total)

    def sums_of(self, n: int) -> tuple[Tally, Any]:
        """The sums of the first people of each group."""
        return dict(Counter(self.codes[:n])), self.total_of(self.values[:n])

    def total_of(self, values: Sequence[Any]) -> Any:
        raise NotImplementedError

    def integer_of(self, value: Any) -> int:
        """A trusted contribution, as people commit to it."""
        raise NotImplementedError

    def expected(self, between: Any) -> dict[str, Any]:  # noqa: ARG002
        """What is published of the same contributions, in memory."""
        found = self.study.estimate(
            trusted=list(self.values),
            local=Reports(np.array(self.codes), self.study.digest),
            ledger=Ledger(self.study.privacy),
        )
        published: dict[str, Any] = found.to_dict()
        return published

    def charged(self, between: Any) -> list[str]:  # noqa: ARG002
        """ε of each release about the trusted group."""
        return [self.study.privacy.epsilon]

    def counted(self, estimate: dict[str, Any]) -> bool:
        """Whether a released estimate is in a ledger."""
        found: bool = estimate["privacy"]["counted"]
        return found

    @property
    def spent(self) -> list[str]:
        return spent(self.server, self.id)


class MeanLife(Life):
    """The mean, of values of which one is beyond the bounds, and of columns of a table."""

    kind = "mean"
    committed = "value"
    values = (3.75, 500.0, 15.0, 240.0, 0.0, 60.0, 30.0, 120.0)
    others = np.linspace(0, 240, 60).tolist()
    on_page = "<svg"
    for_curator = ("of the weight",)
    for_operator = r"Result: -?[\d.]+"
    told: ClassVar = {"trusted": "total of all trusted values, encrypted", "local": "How often each code was reported"}
    asked = "asks for one number: {}, from 0 to 240."

    def named(self, name: str) -> MeanStudy:
        return MeanStudy(name, bounds=(0, 240), epsilon=1.0)

    def opened(self, _: StudyKind, total: int) -> int:
        return total

    def total_of(self, values: Sequence[float]) -> int:
        return sum(self.integer_of(value) for value in values)

    def integer_of(self, value: float) -> int:
        return int(min(value, 240) / 240 * UNITS)

    def expected(self, between: Any) -> dict[str, Any]:
        missing = [None] * len(self.codes), [None] * len(self.values)
        table = pl.DataFrame({"minutes": [*self.values, *missing[0]], "code": [*missing[1], *self.codes]})
        trusted, local = summarize(table, self.study, value="minutes", report="code")
        of_table = self.study.estimate(trusted=trusted, local=local).to_dict()
        expected = super().expected(between)
        for key in ("rows", "n_trusted", "n_local", "digest"):
            assert of_table[key] == expected[key]
        return expected


class PartsLife(MeanLife):
    """A mean in each part of the users; the part is in the token."""

    names: ClassVar = ["DE", "FR", "other"]
    fields: ClassVar = {"parts": {"by": "country", "names": names}}
    on_page = "DE"
    for_operator = "Result by country, with 95 % intervals: DE "
    told: ClassVar = dict.fromkeys(("trusted", "local"), "part that the participant is counted in (country)")

    def part(self, i: int) -> str:
        return self.names[i % 3]

    @cached_property
    def trusted(self) -> list[Contribution]:
        sent = enumerate(self.values)
        return [Contribution(f"t{i}", "values", {"value": value}, self.part(i)) for i, value in sent]

    @cached_property
    def local(self) -> list[Contribution]:
        return [Contribution(f"l{i}", "reports", {"code": code}, self.part(i)) for i, code in enumerate(self.codes)]

    def sums(self) -> tuple[Tally, Any]:
        """Trusted people are counted by part, too, in entries that `split` knows."""
        tally, (kind, total) = super().sums()
        parts = kind.sums.split(total, tally)
        codes = {part * 256 + code: n for part, one in enumerate(parts) for code, n in one.tally.items()}
        return codes, [(one.n_trusted, one.total) for one in parts]

    def opened(self, kind: Any, total: int) -> Any:
        return kind, total

    def sums_of(self, n: int) -> tuple[Tally, Any]:
        of_parts = [self.values[:n][part::3] for part in range(3)]
        codes = Counter(i % 3 * 256 + code for i, code in enumerate(self.codes[:n]))
        return dict(codes), [(len(values), self.total_of(values)) for values in of_parts]

    def expected(self, _: Any) -> dict[str, Any]:
        summaries = {}
        for at, name in enumerate(self.names):
            part = self.study.part("country", name)
            reports = Reports(np.array(self.codes[at::3]), part.digest)
            summaries[name] = part.summarize_trusted(self.values[at::3]), part.summarize_local(reports)
        found = self.study.estimate_parts("country", summaries, ledger=Ledger(self.study.privacy))
        users = [{"by": "country", "key": name} for name in self.names]
        parts = [one.to_dict() for one in found.values()]
        assert [one["users"] for one in parts] == users
        sizes = {"n_trusted": len(self.values), "n_local": len(self.others)}
        return {"by": "country", "parts": parts, "left_out": [], "digest": self.study.digest, "warnings": [], **sizes}

    def counted(self, estimate: dict[str, Any]) -> bool:
        return all(part["privacy"]["counted"] for part in estimate["parts"])

    def charged(self, _: Any) -> list[str]:
        return ["1"] * 3


class CategoryLife(Life):
    """Frequencies whose reports have so many bits that each is counted, and a category for all others."""

    kind = "frequency"
    committed = "category"
    values = tuple(f"<i>{i % 4}</i>" for i in range(12))
    others = tuple(f"<i>{i % 3}</i>" for i in range(80))
    on_page = "&lt;i&gt;3&lt;/i&gt;"
    for_curator = ("weight on trusted",)
    for_operator = r"Result: .*&lt;i&gt;\d+&lt;/i&gt;: .*; 16 more \[95 % .* 5 largest of 21.*shares and the weights"
    told: ClassVar = {"trusted": "each category, encrypted", "local": "each bit"}
    asked = "asks for one of 20 categories: {}. They are <i>0</i>; <i>1</i>"

    def named(self, name: str) -> FrequencyStudy:
        return FrequencyStudy(name, categories=[f"<i>{i}</i>" for i in range(20)], epsilon=2.0, other=True)

    def sums_of(self, n: int) -> tuple[Tally, Any]:
        codes = self.codes[:n]
        bits = Counter(-1 - i for code in codes for i in range(code.bit_length()) if code >> i & 1)
        return dict(bits) | ({0: len(codes)} if codes else {}), self.total_of(self.values[:n])

    def total_of(self, values: Sequence[Any]) -> tuple[int, ...]:
        counts = Counter(values)
        return tuple(counts[name] for name in self.study.names)

    def integer_of(self, value: Any) -> int:
        return int(self.study.names.index(value))


class CodeLife(CategoryLife):
    """Frequencies whose reports are one code each."""

    values = tuple(i % 4 for i in range(12))
    others = tuple(i % 3 for i in range(80))
    on_page = "<svg"
    for_operator = r"Result: \d+: .*; 55 more \[95 % .* 5 largest of 60.*shares and the weights"
    asked = "asks for one of 60 categories: {}. They are 0; 1"
    sums_of = Life.sums_of

    def named(self, name: str) -> FrequencyStudy:
        return FrequencyStudy(name, categories=list(range(60)), other=False, epsilon=2.0)


class DistributionLife(Life):
    """A distribution, of values of which some are beyond the bounds."""

    kind = "distribution"
    committed = "value's bin"
    values = (*np.random.default_rng(3).lognormal(6.0, 0.8, 10).tolist(), -3.0, 1e6)
    others = np.random.default_rng(4).lognormal(6.0, 0.8, 80).tolist()
    on_page = "<svg"
    for_curator = ("trusted alone",)
    for_operator = "Result: p50 .*the groups' own distributions"
    told: ClassVar = {"trusted": "each of 256 bins, encrypted", "local": "a pattern and a code"}
    asked = "asks for one number: {}, from 0 to 10,000."

    def named(self, name: str) -> DistributionStudy:
        return DistributionStudy(name, bounds=(0, 10_000), epsilon=1.0, scale="log")

    def total_of(self, values: Sequence[float]) -> tuple[int, ...]:
        counts = self.study.summarize_trusted(values).sums if values else [0] * 256
        return tuple(counts)

    def integer_of(self, value: float) -> int:
        return int(self.study.bins.of_value(value))
