"""The OpenAPI document is true: requests made from it get the answers that it has, and nothing fails."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy
from tests.examples import fewer_examples
from tests.service.attacking import NONCE, Target, new_frequency_target, new_target, operations
from tests.service.running import CLOSES, Running, ServedStudy

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
_people = count(1)
Headers = Callable[[], dict[str, str]]


@pytest.fixture(scope="module")
def schema(kept_server: Running) -> Any:
    return schemathesis.openapi.from_url(f"{kept_server.url}/schema/openapi.json")


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as found:
        found.trust_env = False
        yield found


def credentials(target: Target, tags: list[str], relay: dict[str, str]) -> dict[str, str]:
    """The key or token that a route asks for."""
    if "participant" in tags:
        return target.server.token(f"p{next(_people)}", target.id)
    return relay if "relay" in tags else target.server.admin


def check(operation: Any, target: Target, headers: Headers, session: requests.Session, *, known: bool) -> None:
    """Send requests that are made from the document, to any study or to one that is there."""

    @given(case=operation.as_strategy())
    @settings(fewer_examples(10), phases=[Phase.generate])
    def conforms(case: Any) -> None:
        if known and "study_id" in case.path_parameters:
            case.path_parameters["study_id"] = target.id
            if isinstance(case.body, dict) and "digest" in case.body:
                case.body["digest"] = target.study.digest
        case.call_and_validate(session=session, headers=headers(), checks=CHECKS)

    conforms()


@pytest.mark.hypothesis
@pytest.mark.slow
@pytest.mark.parametrize("known", ["", "mean", "frequency"], ids=["any study", "a mean", "frequencies"])
def test_the_document_is_true(kept_server: Running, schema: Any, session: requests.Session, known: str) -> None:
    relay, tried = kept_server.relay(f"openapi {known}".strip()), 0
    for found in schema.get_all_operations():
        operation = found.ok()
        target = frequencies(kept_server) if known == "frequency" else new_target(kept_server)
        tags = operation.tags or []
        check(operation, target, partial(credentials, target, tags, relay), session, known=bool(known))
        tried += 1
    assert tried == len(list(operations(kept_server)))


def frequencies(server: Running) -> Target:
    """A study in which any text is a category."""
    study = FrequencyStudy(f"word {next(_people)}", categories=["yes", "no"], epsilon=1.0, other=True)
    return new_frequency_target(server, study=study)


def a_life(target: Target) -> Iterator[tuple[str, httpx.Response]]:
    """A study from its creation to its result, with refusals of every kind: addresses and answers."""
    server, http, at = target.server, target.server.http, f"/studies/{target.id}"
    report, value, admin = target.report(), target.value(), target.server.admin
    yield "POST /studies", server.create(target.study, target.id)
    yield "POST /studies", server.create(target.study, "no-budget", budget="nothing")
    yield "POST /studies", http.post("/studies", headers=admin, json={})
    yield "POST /studies", http.post("/studies", json={})
    yield "GET /studies", http.get("/studies", headers=admin)
    yield "GET /studies/{study_id}", http.get(at)
    yield "GET /studies/{study_id}", http.get("/studies/nothing")
    yield "GET /studies/{study_id}", http.get("/studies/%00")
    yield "GET /metrics", http.get("/metrics")
    for to, body in (("reports", report), ("values", value)):
        for i in (0, 1, 0):
            yield f"POST /studies/{{study_id}}/{to}", target.send(body, who=f"{to}{i}", to=to)
        for wrong in (body | {"nonce": "f" * 32}, body | {"digest": "0" * 64}, {}, b"[", b" " * 1_000_001):
            yield f"POST /studies/{{study_id}}/{to}", target.send(wrong, who=f"{to}0", to=to)
        yield f"POST /studies/{{study_id}}/{to}", target.send(body, to=to, **{"content-type": "text/plain"})
        yield f"POST /studies/{{study_id}}/{to}", target.send(body, to=to, authorization="Bearer x")
        yield f"POST /studies/{{study_id}}/{to}", target.send(body, who="gone", to=to)
        for _ in range(2):
            yield f"POST /studies/{{study_id}}/{to}/withdraw", target.send(body, who="gone", to=f"{to}/withdraw")
    yield "POST /studies/{study_id}/reports", target.send(target.report(256), who="range")
    opened = {"digest": target.study.digest, "nonce": NONCE}
    enrolled = {"digest": target.study.digest, "commitment": "0" * 64}
    for to, sent in (("enrollments", enrolled), ("enrollments/withdraw", opened)):
        yield f"POST /studies/{{study_id}}/{to}", target.send(sent, to=to)
    answer = {"round": "0" * 64, "ask": 0, "variant": 0, "code": "a0", "nonce": NONCE, "enrollment_nonce": NONCE}
    for sent in (answer, answer | {"code": 1.5}):
        yield "POST /studies/{study_id}/answers", target.send(sent, to="answers")
    yield "GET /studies/{study_id}/round", http.get(f"{at}/round")
    for deadline in ({"closes_at": CLOSES}, {}):
        yield "POST /studies/{study_id}/round", http.post(f"{at}/round", headers=admin, json=deadline)
    for who in ("reports0", "nobody"):
        receipt = http.get(f"{at}/receipt", headers=server.token(who, target.id))
        yield "GET /studies/{study_id}/receipt", receipt
    yield "GET /studies/{study_id}/receipt", http.get(f"{at}/receipt")
    reports = [{"participant": f"b{i}", "code": 200 + 100 * i, "nonce": NONCE} for i in range(2)]
    batch = {"digest": target.study.digest, "reports": reports}
    for headers in (server.relay(f"of {target.id}"), admin):
        yield "POST /studies/{study_id}/batches", http.post(f"{at}/batches", headers=headers, json=batch)
    yield from an_operator_s_work(target)


def an_operator_s_work(target: Target) -> Iterator[tuple[str, httpx.Response]]:
    """The second half of it."""
    http, at, admin = target.server.http, f"/studies/{target.id}", target.server.admin
    for action in ("release", "open", "list", "close", "release", "release", "withdraw"):
        yield f"POST /studies/{{study_id}}/{action}", target.move(action)
    for page in ("result", "result.html", "result.csv", "result.svg", "report.html"):
        yield f"GET /studies/{{study_id}}/{page}", http.get(f"{at}/{page}", headers=admin)
        yield f"GET /studies/{{study_id}}/{page}", http.get(f"/studies/nothing/{page}", headers=admin)
    for _ in range(2):
        yield "POST /relays", http.post("/relays", headers=admin, json={"name": f"relay {target.id}"})
    for headers in (admin, {}):
        for path in ("/relays", "/budgets"):
            yield f"GET {path}", http.get(path, headers=headers)
    for _ in range(2):
        yield "DELETE /relays/{name}", http.delete(f"/relays/relay {target.id}", headers=admin)
    for _ in range(2):
        yield "POST /budgets", http.post("/budgets", headers=admin, json={"name": target.id, "epsilon": "1"})
    for name in (target.id, "nothing"):
        yield "GET /budgets/{name}", http.get(f"/budgets/{name}", headers=admin)
    for path in ("/health", "/ready", "/metrics", "/.well-known/hybriddp-receipts.json"):
        yield f"GET {path}", http.get(path, headers=admin)


@pytest.mark.parametrize("kind", ["mean", "frequency", "distribution"])
def test_a_study_s_whole_life_is_in_the_document(kept_server: Running, schema: Any, kind: str) -> None:
    study: ServedStudy = MeanStudy("a whole life", bounds=(0, 240), epsilon=1.0)
    if kind == "frequency":
        study = FrequencyStudy("a whole life", categories=list(range(250)), other=False, epsilon=1.0)
    if kind == "distribution":
        study = DistributionStudy("a whole life", bounds=(0, 240), epsilon=1.0)
    seen: set[tuple[str, int]] = set()
    for address, answer in a_life(Target(kept_server, study, f"a-whole-life-{kind}")):
        method, path = address.split()
        schema[path][method].validate_response(answer)
        described = {key.split(";")[0] for key in documented(schema, path, method, answer.status_code)}
        assert answer.headers.get("content-type", "").split(";")[0] in described | {""}, address
        seen.add((address, answer.status_code))
    assert {
        (f"POST /studies/{{study_id}}/{to}", status) for to in ("reports", "values") for status in (200, 201)
    } <= seen
    assert {address for address, _ in seen} == {f"{method} {path}" for method, path, _ in operations(kept_server)}


def test_every_route_says_what_it_does(kept_server: Running) -> None:
    described = [one for *_, one in operations(kept_server)]
    assert all(one["description"].endswith(".") for one in described)
    summaries = [one["summary"] for one in described]
    assert len(set(summaries)) == len(summaries)
    assert {"Open study", "Close study", "Withdraw study", "List budgets"} <= set(summaries)
    fields = kept_server.http.get("/schema/openapi.json").json()["components"]["schemas"]
    assert "a time with a time zone" in fields["NewStudy"]["properties"]["closes_at"]["description"]
    assert fields["NewBatch"]["properties"]["reports"]["items"]["$ref"].endswith("/BatchedReport")


def documented(schema: Any, path: str, method: str, status: int) -> dict[str, Any]:
    """The media types of an answer, which must be in the document."""
    responses = schema.raw_schema["paths"][path][method.lower()]["responses"]
    assert str(status) in responses, (method, path, status)
    found: dict[str, Any] = responses[str(status)].get("content", {})
    return found


@pytest.mark.hypothesis
@pytest.mark.slow
def test_no_body_that_breaks_the_document_is_taken(
    kept_server: Running,
    schema: Any,
    session: requests.Session,
) -> None:
    relay, tried = kept_server.relay("openapi broken"), 0
    for found in schema.get_all_operations():
        operation, target = found.ok(), new_target(kept_server)
        if not operation.body:
            continue
        check_refusal(operation, partial(credentials, target, operation.tags, relay), session)
        tried += 1
    assert tried == sum("requestBody" in described for *_, described in operations(kept_server))


def check_refusal(operation: Any, headers: Headers, session: requests.Session) -> None:
    """Send requests that the document does not allow."""

    @given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE))
    @settings(fewer_examples(3), phases=[Phase.generate])
    def is_refused(case: Any) -> None:
        case.call_and_validate(session=session, headers=headers(), checks=[*CHECKS, negative_data_rejection])

    is_refused()
