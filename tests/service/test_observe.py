import io
import json
import logging
import threading
import warnings
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hybriddp.errors import ParameterError
from hybriddp.service import observe
from hybriddp.service.observe import (
    Metrics,
    log_event,
    log_failure,
    log_request,
    new_request_id,
    set_up_logging,
)
from hybriddp.service.problems import REASONS

PLANTED = "31337.125"


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers, root.level, logging.raiseExceptions, threading.excepthook
    yield
    logging.captureWarnings(False)
    root.handlers, root.level, logging.raiseExceptions, threading.excepthook = before
    logging.getLogger("uvicorn.access").disabled = False


@pytest.fixture
def log() -> io.StringIO:
    stream = io.StringIO()
    set_up_logging("json", stream)
    return stream


def lines(log: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


def sample(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


# Metrics


def test_counters_add_up() -> None:
    metrics = Metrics()
    for reason in REASONS:
        metrics.reject(reason, "/studies/{id}/reports")
    metrics.reject("closed", "/studies/{id}/reports", count=4)
    metrics.contribute("local", "accepted", count=100)
    metrics.contribute("local", "accepted")
    metrics.contribute("trusted", "repeated")
    metrics.release()
    metrics.batch(100)
    metrics.commit(64)
    metrics.request("/health", "GET", 200, 0.002)
    rejected = "hybriddp_rejected_total"
    assert sample(metrics, rejected, reason="closed", route="/studies/{id}/reports") == 5
    assert sample(metrics, rejected, reason="duplicate", route="/studies/{id}/reports") == 1
    assert sample(metrics, "hybriddp_contributions_total", group="local", outcome="accepted") == 101
    assert sample(metrics, "hybriddp_contributions_total", group="trusted", outcome="repeated") == 1
    assert sample(metrics, "hybriddp_releases_total") == 1
    assert sample(metrics, "hybriddp_batch_size_sum") == 100
    assert sample(metrics, "hybriddp_commit_size_sum") == 64
    assert sample(metrics, "hybriddp_request_seconds_count", route="/health", method="GET", status="200") == 1


def test_what_is_rendered_can_be_read_and_has_no_label_for_people() -> None:
    metrics = Metrics()
    metrics.reject("bad-token", "/studies/{id}", study="minutes")
    metrics.contribute("trusted", "withdrawn")
    metrics.request("/x", "BREW\n", 405, 0.1)
    families = list(text_string_to_metric_families(metrics.render().decode()))
    assert {"hybriddp_rejected", "hybriddp_contributions", "hybriddp_releases"} <= {one.name for one in families}
    labels = {name for family in families for found in family.samples for name in found.labels}
    assert labels <= {"reason", "route", "group", "outcome", "method", "status", "le"}
    assert b"BREW" not in metrics.render()
    assert "text/plain" in Metrics.content_type


def test_two_apps_in_one_process_do_not_share_their_counters() -> None:
    first, second = Metrics(), Metrics()
    first.release()
    assert sample(second, "hybriddp_releases_total") == 0


def test_rejections_of_a_study(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = Metrics()
    metrics.reject("closed", "/r", study="a", count=2)
    metrics.reject("duplicate", "/r", study="a")
    metrics.reject("closed", "/r", study="b")
    metrics.reject("closed", "/r")
    assert metrics.rejections("a") == {"closed": 2, "duplicate": 1}
    assert metrics.rejections("b") == {"closed": 1}
    assert metrics.rejections("c") == {}
    monkeypatch.setattr(observe, "_MOST_STUDIES", 2)
    metrics.reject("closed", "/r", study="c")
    metrics.reject("closed", "/r", study="b")
    assert (metrics.rejections("b"), metrics.rejections("c")) == ({"closed": 2}, {})


def test_labels_come_from_lists() -> None:
    metrics = Metrics()
    with pytest.raises(ParameterError, match="reason must be"):
        metrics.reject("u1 was here", "/r")
    with pytest.raises(ParameterError, match="group must be"):
        metrics.contribute("u1", "accepted")
    with pytest.raises(ParameterError, match="outcome must be"):
        metrics.contribute("local", "u1")


# The log


def test_a_request_is_one_line_of_json(log: io.StringIO) -> None:
    name = new_request_id()
    log_request(route="/studies/{id}", method="GET", status=200, ms=1.23456, request=name, study="minutes")
    (line,) = lines(log)
    assert line.pop("time", "").endswith("Z")  # type: ignore[attr-defined]
    assert line == {
        "level": "info",
        "event": "request",
        "route": "/studies/{id}",
        "method": "GET",
        "status": 200,
        "ms": 1.23,
        "study": "minutes",
        "request": name,
    }
    assert new_request_id() != name


def test_or_of_text() -> None:
    stream = io.StringIO()
    set_up_logging("text", stream)
    log_request(route="/a b", method="POST", status=503, ms=2, request="r1", reason="unavailable")
    (line,) = stream.getvalue().splitlines()
    assert line.partition(" ")[2] == (
        'error   request route="/a b" method=POST status=503 reason=unavailable ms=2 request=r1'
    )
    with pytest.raises(ParameterError, match="form must be"):
        set_up_logging("xml")


def test_a_quiet_log_has_no_requests_that_went_well() -> None:
    stream = io.StringIO()
    set_up_logging("json", stream, quiet=True)
    for status in (200, 404, 500):
        log_request(route="/r", method="GET", status=status, ms=1, request="r")
    assert [line["status"] for line in lines(stream)] == [500]


def test_strange_methods_and_studies_are_not_written(log: io.StringIO) -> None:
    log_request(route="/", method=f"X{PLANTED}", status=405, ms=1, request="r", study=f"x'; {PLANTED}\n")
    assert PLANTED not in log.getvalue()
    assert (lines(log)[0]["method"], lines(log)[0]["study"]) == ("other", "?")


def test_only_known_fields(log: io.StringIO) -> None:
    with pytest.raises(ParameterError, match="told must be"):
        log_event("released", value=7)
    log_event("released", study="minutes")
    log_event("quiet", level=logging.DEBUG)
    assert [line["event"] for line in lines(log)] == ["released"]


def test_of_exceptions_class_and_place_are_told_and_no_message(log: io.StringIO) -> None:
    try:
        float(f"a {PLANTED}")
    except ValueError as error:
        log_failure(error, route="/r", request="r1")
    log_failure(KeyError(PLANTED))
    assert PLANTED not in log.getvalue()
    first, second = lines(log)
    assert first["exception"] == "builtins.ValueError"
    assert str(first["place"]).startswith(
        "test_of_exceptions_class_and_place_are_told_and_no_message, test_observe.py:"
    )
    assert "place" not in second


@pytest.mark.parametrize("name", ["uvicorn.error", "sqlalchemy.engine.Engine", "litestar", "asyncio", "anything"])
def test_other_libraries_messages_are_dropped(log: io.StringIO, name: str) -> None:
    logger = logging.getLogger(name)
    logger.error("parameters: %s", PLANTED)
    logger.warning(f"f-string {PLANTED}")
    logger.info(PLANTED)
    try:
        raise RuntimeError(PLANTED)
    except RuntimeError:
        logger.exception(f"Exception in ASGI application {PLANTED}", extra={"told": {"value": PLANTED}})
    assert PLANTED not in log.getvalue()
    assert [line["logger"] for line in lines(log)] == [name] * 3
    assert lines(log)[-1]["exception"] == "builtins.RuntimeError"


def test_fixed_sentences_stay(log: io.StringIO) -> None:
    logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    logging.getLogger("uvicorn.access").warning(PLANTED)
    assert [line.get("message") for line in lines(log)] == ["Invalid HTTP request received."]


def test_warnings_and_threads_do_not_speak_past_the_log(log: io.StringIO, capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise ValueError(PLANTED)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn(PLANTED, stacklevel=1)
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    logging.getLogger("hybriddp.service").info("%d", PLANTED)  # cannot be formatted, and is not
    shown = capfd.readouterr()
    assert PLANTED not in log.getvalue() + shown.out + shown.err
    assert [line.get("exception") for line in lines(log)] == [None, "builtins.ValueError", None]
