"""Simulated people in a study that asks in rounds: they enroll, and answer when it is their turn, or stay away."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.cli.crowd_people import rejection_reason
from hybriddp.cli.terminal import print_table, say, trials_bar, waiting
from hybriddp.client.client import AsyncClient
from hybriddp.client.drivers import conduct_async, http_settings, import_httpx
from hybriddp.client.exchange import HttpRequest, RetryPolicy, ask
from hybriddp.client.problems import parse_object
from hybriddp.client.rounds import turn_of
from hybriddp.errors import HybridDPError, ParameterError
from hybriddp.kmeans.protocol.turns import Turns
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.tables import trusted_points

if TYPE_CHECKING:
    import httpx

__all__ = ["CrowdInRounds", "CrowdRound", "RoundsTally", "points_of_file", "simulated_points"]

EVERY = 1.0
"""Seconds until people look again if a round has been published."""
_SPREAD = 0.04  # of simulated clusters, in widths of the bounds
_WAITING = "enrolled; waiting for a round"


@dataclass
class CrowdRound:
    """What became of a round: whom of the simulated people it asked, and what they did."""

    number: int
    asked: int
    stayed_away: int
    answered: int = 0
    rejected: Counter[str] = field(default_factory=Counter)


@dataclass
class RoundsTally:
    """What became of the people so far."""

    users: int
    trusted: int = 0
    enrolled: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    rounds: list[CrowdRound] = field(default_factory=list)
    ended: bool = False
    seconds: float = 0.0

    @property
    def taken(self) -> int:
        """How many the curator has."""
        return self.trusted + self.enrolled

    def to_dict(self) -> dict[str, Any]:
        """Return the tally as plain data."""
        return {
            "simulated": True,
            "users": self.users,
            "trusted": self.trusted,
            "enrolled": self.enrolled,
            "rejected": dict(self.rejected),
            "rounds": [vars(one) | {"rejected": dict(one.rejected)} for one in self.rounds],
            "ended": self.ended,
            "seconds": self.seconds,
        }

    def show(self) -> None:
        """Print the tally."""
        rows = [("trusted", f"{self.trusted:,}"), ("enrolled", f"{self.enrolled:,}")]
        rows += [(f"rejected: {reason}", f"{count:,}") for reason, count in self.rejected.most_common()]
        print_table(("simulated people", ""), rows)
        if self.rounds:
            head = ("round", "asked", "answered", "stayed away", "rejected")
            numbers = [
                (one.number, one.asked, one.answered, one.stayed_away, one.rejected.total()) for one in self.rounds
            ]
            print_table(head, [tuple(f"{number:,}" for number in row) for row in numbers])
        if not self.taken:
            say("Nobody was taken.")
            return
        if not self.ended:
            say("The time was up before the study's rounds had ended: give it more --seconds.")
        say("These are simulated people: the study's answer is about nobody once they are in it.")


def points_of_file(file: str, columns: list[str], study: KMeansStudy, seed: int) -> FloatArray:
    """Read the points of a file, one row for each person, in a random order."""
    points = trusted_points(file, study, columns=columns).points()
    shuffled: FloatArray = np.random.default_rng(seed).permutation(points)
    return shuffled


def simulated_points(values: str, users: int, study: KMeansStudy, seed: int) -> FloatArray:
    """Points of people who do not exist: anywhere, or around as many places as the study has clusters.

    Examples
    --------
    >>> study = KMeansStudy("visits", n_clusters=2, bounds=[(0, 24), (0, 60)], epsilon=1)
    >>> simulated_points("clusters", 3, study, seed=0).shape
    (3, 2)
    """
    if values not in ("uniform", "clusters"):
        raise ParameterError("values", "uniform or clusters, or --points with a file", values)
    rng, (low, high) = np.random.default_rng(seed), np.array(study.box.bounds).T
    if values == "uniform":
        return rng.uniform(low, high, (users, len(low)))
    places = rng.uniform(0.15, 0.85, (study.n_clusters, len(low)))
    around = places[rng.integers(len(places), size=users)] + rng.normal(0, _SPREAD, (users, len(low)))
    clipped: FloatArray = low + np.clip(around, 0, 1) * (high - low)
    return clipped


@dataclass(frozen=True)
class _Member:
    """Somebody who does not exist: their name at the curator, their device and their point."""

    name: str
    client: AsyncClient
    point: list[float]
    stays_away: bool

    def round_in(self, turns: Turns) -> int | None:
        """Return the number of the round that asks this person, or None.

        The device knows the number. None means that no round asks this person so far.
        """
        return turn_of(self.client._participant, turns)  # noqa: SLF001  (of this package)


@dataclass(frozen=True)
class CrowdInRounds:
    """Simulated people with points, and how they reach the curator."""

    study: str
    points: FloatArray
    n_trusted: int
    dropout: float
    prefix: str
    seed: int
    token_of: Callable[[str], str] = field(repr=False)
    limit: float
    retries: RetryPolicy
    timeout: float
    quiet: bool

    async def run(
        self, address: str, concurrency: int, transport: "httpx.AsyncBaseTransport | None" = None
    ) -> RoundsTally:
        """Enroll everybody, then answer each round that is published, until the last or until the time is up."""
        library, tally = import_httpx(), RoundsTally(len(self.points))
        shared = transport or library.AsyncHTTPTransport(limits=library.Limits(max_connections=concurrency))
        start = time.monotonic()
        async with library.AsyncClient(**http_settings(address, self.timeout), transport=shared) as http:
            people = [self._member(i, address, shared) for i in range(len(self.points))]
            local = people[self.n_trusted :]
            with trials_bar("enrolling", len(people), quiet=self.quiet) as update:
                await _all(
                    (self._join(one, tally, trusts=i < self.n_trusted) for i, one in enumerate(people)),
                    concurrency,
                    update,
                )
            while tally.taken and not tally.ended:
                last = tally.rounds[-1].number if tally.rounds else 0
                with waiting(_WAITING):
                    number = await self._next_round(last, http, start + self.limit)
                if number is None:
                    break
                tally.ended = number == 0
                if number:
                    await self._answer(local, tally, http, concurrency)
        tally.seconds = time.monotonic() - start
        return tally

    async def _next_round(self, last: int, http: "httpx.AsyncClient", until: float) -> int | None:
        """Wait for the round after the last one: its number, 0 if there is none, None if the time is up."""
        while time.monotonic() < until:
            document = await self._get("", http)
            number = (document.get("round") or {}).get("number", 0)
            if number > last:
                return int(number)
            if _has_ended(document):
                return 0
            await _pause(EVERY)
        return None

    def _member(self, i: int, address: str, transport: "httpx.AsyncBaseTransport") -> _Member:
        name = f"{self.prefix}-{i}"
        settings: dict[str, Any] = {"retries": self.retries, "timeout": self.timeout, "allow_http": True}
        client = AsyncClient(address, self.token_of(name), study=self.study, transport=transport, **settings)
        away = bool(np.random.default_rng([self.seed, 1, i]).random() < self.dropout)
        return _Member(name, client, self.points[i].tolist(), away)

    async def _join(self, one: _Member, tally: RoundsTally, *, trusts: bool) -> None:
        try:
            if trusts:
                await one.client.trust(one.point)
                tally.trusted += 1
            else:
                await one.client.enroll()
                tally.enrolled += 1
        except HybridDPError as error:
            tally.rejected[rejection_reason(error)] += 1

    async def _answer(
        self, people: list[_Member], tally: RoundsTally, http: "httpx.AsyncClient", concurrency: int
    ) -> None:
        """Let those answer whose turn it is, but for those who stay away."""
        told = await self._get("/round", http)
        turns, number = Turns.from_json(str(told.get("turns"))), int(told["number"])
        mine = [one for one in people if one.round_in(turns) == number]
        there = [one for one in mine if not one.stays_away]
        found = CrowdRound(number, len(mine), len(mine) - len(there))
        tally.rounds.append(found)

        async def answer(one: _Member) -> None:
            try:
                await one.client.answer(one.point)
                found.answered += 1
            except HybridDPError as error:
                found.rejected[rejection_reason(error)] += 1

        with trials_bar(f"answering round {number}", len(there), quiet=self.quiet) as update:
            await _all((answer(one) for one in there), concurrency, update)

    async def _get(self, path: str, http: "httpx.AsyncClient") -> dict[str, Any]:
        request = HttpRequest("GET", f"/studies/{self.study}{path}")
        return parse_object((await conduct_async(ask(request, self.retries), http)).body)


def _has_ended(document: dict[str, Any]) -> bool:
    """Whether a study asks nothing any more."""
    steps = document.get("steps") or [{}]
    return document.get("state") in ("released", "withdrawn") or steps[0].get("state") == "released"


async def _all(work: Iterable[Awaitable[None]], concurrency: int, update: Callable[[int], None]) -> None:
    """Do all of it, so much at a time."""
    jobs, done = iter(work), 0

    async def worker() -> None:
        nonlocal done
        for job in jobs:  # shared: every worker takes what is next
            await job
            done += 1
            update(done)

    await asyncio.gather(*(worker() for _ in range(concurrency)))


async def _pause(seconds: float) -> None:
    """Wait; tests do something else in the meantime."""
    await asyncio.sleep(seconds)
