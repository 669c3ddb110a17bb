"""``hybriddp run-crowd``: simulated people take part in a study over HTTP, for trying it out and for load."""

import asyncio
import json
import re
import secrets
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from hybriddp import _check
from hybriddp.cli import options
from hybriddp.cli.crowd_people import SimulatedPerson, check_values, rejection_reason, simulated_people
from hybriddp.cli.crowd_rounds import CrowdInRounds, RoundsTally, points_of_file, simulated_points
from hybriddp.cli.crowd_tokens import import_jwt, read_key, read_signer
from hybriddp.cli.options import UserShare, option
from hybriddp.cli.terminal import print_table, say, trials_bar
from hybriddp.client.claims import check_study_id
from hybriddp.client.drivers import check_url, conduct_async, http_settings, import_httpx
from hybriddp.client.exchange import HttpAnswer, HttpRequest, RetryPolicy, ask
from hybriddp.client.offer import StudyOffer
from hybriddp.client.problems import UnavailableError, parse_object
from hybriddp.errors import (
    DataError,
    HybridDPError,
    ParameterError,
    ProtocolError,
    raise_unchained,
)
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.reporting.wording import significant

if TYPE_CHECKING:
    import httpx
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MOST_PEOPLE = 10_000_000
BATCH = 100
"""Reports that a relay sends at a time."""

_SECONDS = _check.Range("a number of seconds from 1 to 86,400", 1.0, 86_400.0)
_RETRIES = RetryPolicy(attempts=3, first_wait=0.2, longest_wait=5.0)
_TIMEOUT = 30.0
_WHY_REFUSED = (
    "bad-token: is this the secret, or the relay's key, of this server? One that was started with --token-public-key "
    "takes EdDSA only: use --private-key."
)


@dataclass
class CrowdTally:
    """What became of the people so far."""

    users: int
    accepted: int = 0
    repeated: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    latencies: "array[float]" = field(default_factory=lambda: array("d"))  # of requests, in seconds

    @property
    def people(self) -> int:
        """How many have had an answer."""
        return self.taken + self.rejected.total()

    @property
    def taken(self) -> int:
        """How many the curator has."""
        return self.accepted + self.repeated

    def latency(self, percentile: float) -> float:
        """Return a percentile of the requests' latencies, in milliseconds."""
        return 1000 * float(np.percentile(self.latencies, percentile)) if self.latencies else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the tally as plain data."""
        return {
            "simulated": True,
            "users": self.users,
            "accepted": self.accepted,
            "repeated": self.repeated,
            "rejected": dict(self.rejected),
            "not_sent": self.users - self.people,
            "requests": len(self.latencies),
            "seconds": self.seconds,
            "per_second": self.people / self.seconds if self.seconds else 0.0,
            "p50_ms": self.latency(50),
            "p99_ms": self.latency(99),
        }


def run_crowd(
    url: Annotated[str, typer.Argument(help="Address of the curator, the only one that is talked to.")],
    study: Annotated[str, option("Id of the study.")],
    users: Annotated[
        int | None, option("How many people: 1,000. With --points: as many as the file has.", parser=options.users)
    ] = None,
    trusted: Annotated[
        UserShare | None,
        option(
            "How many of them trust the curator: 5%, 0.05 or 50 users.", metavar="<share>", parser=options.user_share
        ),
    ] = None,
    values: Annotated[
        str,
        option(
            "Distribution of their values: 'normal(40,20)', as in simulate. Of categories and items: 'zipf(1)', "
            "'shares(3,1)'. Of points: 'uniform' or 'clusters'."
        ),
    ] = "uniform",
    secret_file: Annotated[Path | None, option("File with the secret of participants' tokens (HS256).")] = None,
    private_key: Annotated[
        Path | None, option("Ed25519 private key (PEM) of participants' tokens, if the server takes EdDSA.")
    ] = None,
    relay_key_file: Annotated[
        Path | None, option(f"File with a relay's key: reports go in batches of {BATCH}.")
    ] = None,
    part: Annotated[str | None, option("In a study of parts of the users: the part that all of them are in.")] = None,
    points: Annotated[str | None, option("K-means: Parquet, .csv or .jsonl file with a point in each row.")] = None,
    column: Annotated[
        list[str] | None, option("With --points: the column of each coordinate, in the study's order.")
    ] = None,
    dropout: Annotated[
        UserShare | None,
        option("K-means: how many enroll and never answer: 20% or 0.2.", metavar="<share>", parser=options.user_share),
    ] = None,
    concurrency: Annotated[int, option("Requests at a time, 1 to 256.")] = 16,
    seconds: Annotated[float, option("Stop after this many seconds.")] = 600.0,
    prefix: Annotated[str | None, option("How their names begin; random if not given.")] = None,
    seed: Annotated[int, option("Seed of the values. Reports are drawn as on real devices.")] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Let simulated people take part in a study, over HTTP: for trying it out, and for load.

    They are counted like real ones: use a study of its own. A secret or a private key makes a token for each of them,
    a relay key sends the reports of those who do not trust in batches; a pilot without tokens needs none of these.

    In a study of K-means they enroll, wait for rounds, and answer when it is their turn.
    """
    address = check_url(url, allow_http=True)
    check_study_id(study)
    if users is None and points is None:
        raise ParameterError("users", "given, or --points with a file for K-means", None)
    if users is not None and not 1 <= users <= MOST_PEOPLE:
        raise ParameterError("users", f"from 1 to {MOST_PEOPLE:,}", users)
    if not 1 <= concurrency <= 256:
        raise ParameterError("concurrency", "an integer from 1 to 256", concurrency)
    crowd = _Crowd(
        study,
        users or 0,
        trusted=trusted or UserShare(fraction=0.0),
        values=values,
        prefix=f"simulated-{secrets.token_hex(4)}" if prefix is None else _prefix(prefix),
        seed=_check.integer("seed", seed, at_least=0),
        signer=read_signer(secret_file, private_key),
        relay_key=None if relay_key_file is None else read_key(relay_key_file, 1),
        limit=_check.number("seconds", seconds, _SECONDS),
        part=part,
    )
    offer = asyncio.run(crowd.offer(address))
    if isinstance(offer.study, KMeansStudy):
        if relay_key_file is not None:
            raise ParameterError(
                "relay_key_file", "left out: K-means asks everybody by themselves", str(relay_key_file)
            )
        tally: CrowdTally | RoundsTally = _run_rounds(
            crowd, offer.study, address, concurrency, points, column or [], dropout, quiet=as_json
        )
    else:
        if points is not None or column or dropout is not None:
            raise ParameterError("points", "left out, and so are --column and --dropout: they are for K-means", points)
        with trials_bar("sending", crowd.users, quiet=as_json) as update:
            tally = asyncio.run(crowd.run(address, offer, concurrency, update))
    if as_json:
        typer.echo(json.dumps(tally.to_dict(), indent=2))
    elif isinstance(tally, RoundsTally):
        tally.show()
    else:
        _print(tally, crowd.users)
    if not tally.taken:
        raise typer.Exit(DataError.exit_code)


def _run_rounds(
    crowd: "_Crowd",
    study: KMeansStudy,
    address: str,
    concurrency: int,
    file: str | None,
    columns: list[str],
    dropout: UserShare | None,
    *,
    quiet: bool,
) -> RoundsTally:
    """Let people take part in a study of K-means."""
    if file is None:
        found = simulated_points(crowd.values, crowd.users, study, crowd.seed)
    else:
        found = points_of_file(file, columns, study, crowd.seed)[: crowd.users or None]
    count = len(found)
    if not 1 <= count <= MOST_PEOPLE:
        raise DataError(f"There must be from 1 to {MOST_PEOPLE:,} points, but the file has {count:,}.")
    people = CrowdInRounds(
        crowd.study,
        found,
        n_trusted=round(crowd.trusted.of(count, "trusted") * count),
        dropout=0.0 if dropout is None else dropout.of(count, "dropout"),
        prefix=crowd.prefix,
        seed=crowd.seed,
        token_of=crowd.token,
        limit=crowd.limit,
        retries=_RETRIES,
        timeout=_TIMEOUT,
        quiet=quiet,
    )
    return asyncio.run(people.run(address, concurrency, _transport()))


def _print(tally: CrowdTally, users: int) -> None:
    rows = [("accepted", f"{tally.accepted:,}"), ("repeated", f"{tally.repeated:,}")]
    rows += [(f"rejected: {reason}", f"{count:,}") for reason, count in tally.rejected.most_common()]
    if users > tally.people:
        rows.append(("not sent: the time was up", f"{users - tally.people:,}"))
    print_table(("simulated people", ""), rows)
    if not tally.taken:
        say("Nobody was taken." + (f" {_WHY_REFUSED}" if tally.rejected["bad-token"] else ""))
        return
    rate = tally.people / tally.seconds if tally.seconds else 0.0
    say(
        f"{tally.people:,} people in {significant(tally.seconds)} s: {significant(rate)} per second, in "
        f"{len(tally.latencies):,} requests; half of these took up to {significant(tally.latency(50))} ms, 99 % up to "
        f"{significant(tally.latency(99))} ms. Making values, reports and tokens is included."
    )
    say("These are simulated people: the study's answer is about nobody once they are in it.")


@dataclass(frozen=True)
class _Crowd:
    """Who is simulated, and how they reach the curator."""

    study: str
    users: int
    trusted: UserShare
    values: str
    prefix: str
    seed: int
    signer: "str | Ed25519PrivateKey | None" = field(repr=False)
    relay_key: str | None = field(repr=False)
    limit: float
    part: str | None = None

    @property
    def n_trusted(self) -> int:
        """How many of them trust."""
        return round(self.trusted.of(self.users, "trusted") * self.users)

    async def run(self, address: str, offer: StudyOffer, concurrency: int, update: Callable[[int], None]) -> CrowdTally:
        """Send everybody, so many requests at a time, until all are through or the time is up."""
        library = import_httpx()
        limits = library.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
        settings = http_settings(address, _TIMEOUT) | {"limits": limits, "trust_env": False}
        async with library.AsyncClient(**settings, transport=_transport()) as http:
            jobs, tally = self._jobs(offer), CrowdTally(self.users)
            start = time.monotonic()

            async def work() -> None:
                for people in jobs:  # shared: every worker takes what is next
                    await self._send(people, http, tally)
                    tally.seconds = time.monotonic() - start
                    update(tally.people)
                    if tally.seconds > self.limit:
                        return

            await asyncio.gather(*(work() for _ in range(concurrency)))
        return tally

    async def offer(self, address: str) -> StudyOffer:
        """Fetch the study and check it as a real device does.

        Raises if these people could not take part.
        """
        async with import_httpx().AsyncClient(**http_settings(address, _TIMEOUT), transport=_transport()) as http:
            try:
                answer = await conduct_async(ask(HttpRequest("GET", f"/studies/{self.study}"), _RETRIES), http)
            except UnavailableError as reason:  # for a program in a terminal this is the end: nobody calls again
                raise_unchained(DataError(str(reason)))
        offer = StudyOffer.from_document(parse_object(answer.body))
        in_rounds = isinstance(offer.study, KMeansStudy)
        if not in_rounds and not self.users:
            raise ParameterError("users", "given: only K-means takes --points", None)
        self._check_groups(offer)
        if offer.parts is not None and offer.parts.position(self.part) is None:
            raise ParameterError(
                "part", f"the {offer.parts.by} that these people are in: {offer.parts.listed()}", self.part
            )
        if offer.parts is None and self.part is not None:
            raise ParameterError("part", "left out: this study is one of everybody", self.part)
        alone = self.n_trusted if self.relay_key is not None else max(self.users, 1)
        if offer.tokens and self.signer is None and alone:
            raise ParameterError(
                "secret_file",
                "given, or --private-key: this study needs tokens, and a relay can send local reports only",
                None,
            )
        if self.signer is not None:
            import_jwt()
        if not in_rounds:
            check_values(offer, self.values)  # a wrong name is told before anybody is sent
        return offer

    def _check_groups(self, offer: StudyOffer) -> None:
        """Raise unless the study takes both groups; one of heavy hitters takes one after the other."""
        if offer.state not in ("open", "asking"):
            raise ProtocolError(f"The study is {offer.state[:20]!r}, not open.")
        if isinstance(offer.study, KMeansStudy):
            if offer.state != "open":
                raise ProtocolError("The study's enrollment has closed: nobody can join any more.")
            return
        if self.n_trusted < self.users and offer.refusal("local"):
            expected = "100%: the study's list has not been released, and before that it takes trusted items only"
            raise ParameterError("trusted", expected, f"{self.n_trusted:,} of {self.users:,}")
        if self.n_trusted and offer.refusal("trusted"):
            expected = "left out: the study's list has been released, and from then on it takes reports only"
            raise ParameterError("trusted", expected, f"{self.n_trusted:,} of {self.users:,}")

    def _jobs(self, offer: StudyOffer) -> Iterator[tuple[SimulatedPerson, ...]]:
        """Yield the people who are sent together, one by one or as a relay's batch."""
        for person in self._people(offer, "trusted", 0, self.n_trusted):
            yield (person,)
        local = self._people(offer, "local", self.n_trusted, self.users)
        while people := tuple(islice(local, 1 if self.relay_key is None else BATCH)):
            yield people

    def _people(self, offer: StudyOffer, group: str, first: int, last: int) -> Iterator[SimulatedPerson]:
        return simulated_people(offer, self.values, group, first, last, prefix=self.prefix, seed=self.seed)

    async def _send(self, people: tuple[SimulatedPerson, ...], http: "httpx.AsyncClient", tally: CrowdTally) -> None:
        batch = self.relay_key is not None and people[0].contribution.group == "local"
        request = self._batch(people) if batch else self._single(people[0])
        start = time.monotonic()
        try:
            answer = await conduct_async(ask(request, _RETRIES), http)
            tally.latencies.append(time.monotonic() - start)
            if batch:
                _count_batch(answer, len(people), tally)
            else:
                _count_single(answer, people[0], tally)
        except HybridDPError as error:
            tally.rejected[rejection_reason(error)] += len(people)

    def _single(self, person: SimulatedPerson) -> HttpRequest:
        made = person.contribution
        token = None if self.signer is None else self.token(person.name)
        return HttpRequest("POST", f"/studies/{self.study}/{made.route}", made.body(), token)

    def token(self, name: str) -> str:
        """Create a token for one of these people."""
        claims = {"sub": name, "aud": self.study, "exp": int(time.time() + self.limit) + 3600, **self._in_part}
        algorithm = "HS256" if isinstance(self.signer, str) else "EdDSA"
        token: str = import_jwt().encode(claims, self.signer, algorithm=algorithm)
        return token

    @property
    def _in_part(self) -> dict[str, Any]:
        """What a token, or a relay, says of these people's part."""
        return {} if self.part is None else {"part": self.part}

    def _batch(self, people: tuple[SimulatedPerson, ...]) -> HttpRequest:
        made = [(person.name, person.contribution) for person in people]
        reports = [
            {"participant": name, "code": one.integer, "nonce": one.nonce, **self._in_part} for name, one in made
        ]
        body = _check.compact({"digest": made[0][1].digest, "reports": reports}, escaped=True).encode()
        return HttpRequest("POST", f"/studies/{self.study}/batches", body, self.relay_key)


def _count_single(answer: HttpAnswer, person: SimulatedPerson, tally: CrowdTally) -> None:
    if person.contribution.commitment.encode() not in answer.body:
        raise ProtocolError("The receipt is not about this contribution.")
    if answer.status == 201:
        tally.accepted += 1
    else:
        tally.repeated += 1


def _count_batch(answer: HttpAnswer, people: int, tally: CrowdTally) -> None:
    content = parse_object(answer.body)
    try:
        accepted, repeated = int(content["accepted"]), int(content["repeated"])
        reasons = Counter(str(item["reason"]) for item in content["rejected"])
    except (KeyError, TypeError, ValueError):
        raise_unchained(ProtocolError("The answer to a batch is not in the form of the protocol."))
    if accepted + repeated + reasons.total() != people:
        raise ProtocolError("The answer to a batch does not account for everybody in it.")
    tally.accepted += accepted
    tally.repeated += repeated
    tally.rejected += reasons


def _prefix(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", text):
        raise ParameterError("prefix", "1 to 64 letters, digits, dots, hyphens and underscores", text)
    return text


def _transport() -> "httpx.AsyncBaseTransport | None":
    """Return the network transport, which tests replace."""
    return None
