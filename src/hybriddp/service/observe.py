"""What operators see: counters and times for Prometheus, and a log.

Neither ever holds a value, a code, a participant, a token or an address. Labels and fields come from short lists: the
route's template, the reason of a refusal, the group. Of an exception the log has the class and the place; its message
may quote what somebody sent. Other libraries' log messages are dropped, but for a few fixed sentences.
"""

import json
import logging
import re
import secrets
import sys
import threading
import traceback
from collections import Counter as Tallies
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, TextIO, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from hybriddp.errors import ParameterError
from hybriddp.service.problems import REASONS
from hybriddp.service.receipts import GROUPS

__all__ = ["Metrics", "log_event", "log_failure", "log_request", "new_request_id", "set_up_logging"]

_Metric = TypeVar("_Metric", Counter, Histogram)
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
_MOST_STUDIES = 10_000
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Metrics:
    """Counters and histograms of one server process, on a registry of their own."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._rejected = Counter(
            "hybriddp_rejected", "Requests and items of batches refused.", ["reason", "route"], registry=registry
        )
        self._contributions = Counter(
            "hybriddp_contributions", "Contributions by what became of them.", ["group", "outcome"], registry=registry
        )
        self._releases = Counter("hybriddp_releases", "Releases drawn and committed.", registry=registry)
        self._rounds = Counter(
            "hybriddp_rounds", "Steps of studies whose rounds follow in time.", ["outcome"], registry=registry
        )
        self._seconds = Histogram(
            "hybriddp_request_seconds",
            "Time to answer a request.",
            ["route", "method", "status"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._batch = Histogram("hybriddp_batch_size", "Reports in a batch.", buckets=_SIZES, registry=registry)
        self._commit = Histogram(
            "hybriddp_commit_size", "Contributions in a transaction.", buckets=_SIZES, registry=registry
        )
        self._of_studies: dict[str, Tallies[str]] = {}
        self._of_rounds: dict[str, Tallies[tuple[int, str]]] = {}
        self._lock = threading.Lock()

    def reject(
        self, reason: str, route: str, *, study: str | None = None, count: int = 1, round_number: int | None = None
    ) -> None:
        """Count refusals; ``route`` is the route's template, ``study`` the id of a study that exists.

        ``round_number`` is that of the round which an answer was too late or too early for.
        """
        _known("reason", reason, tuple(REASONS))
        self._rejected.labels(reason, route).inc(count)
        if study is not None:
            with self._lock:
                if study in self._of_studies or len(self._of_studies) < _MOST_STUDIES:
                    self._of_studies.setdefault(study, Tallies())[reason] += count
                    if round_number is not None:
                        self._of_rounds.setdefault(study, Tallies())[round_number, reason] += count

    def rejections(self, study: str) -> dict[str, int]:
        """Count the requests for a study that this process refused, by reason."""
        with self._lock:
            return dict(self._of_studies.get(study, {}))

    def round_rejections(self, study: str) -> dict[tuple[int, str], int]:
        """Count the answers to a study's rounds that this process refused.

        The counts are by the number of the round and the reason.
        """
        with self._lock:
            return dict(self._of_rounds.get(study, {}))

    def contribute(self, group: str, outcome: str, *, count: int = 1) -> None:
        """Count contributions that were accepted, repeated or withdrawn."""
        _known("group", group, GROUPS)
        _known("outcome", outcome, ("accepted", "repeated", "withdrawn"))
        _child(self._contributions, group, outcome).inc(count)

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Note how long a request took."""
        _child(self._seconds, route, _method(method), str(status)).observe(seconds)

    def batch(self, size: int) -> None:
        """Note how many reports a batch had."""
        self._batch.observe(size)

    def commit(self, size: int) -> None:
        """Note how many contributions a transaction had."""
        self._commit.observe(size)

    def round(self, outcome: str) -> None:
        """Count a step of a study whose rounds follow in time."""
        _known("outcome", outcome, ("published", "ended", "released", "short", "failed"))
        self._rounds.labels(outcome).inc()

    def release(self) -> None:
        """Count a release."""
        self._releases.inc()

    def render(self) -> bytes:
        """Everything in Prometheus' text format; its media type is `content_type`."""
        return generate_latest(self.registry)


@lru_cache(maxsize=4096)
def _child(metric: _Metric, *labels: str) -> _Metric:
    """Return the counter or histogram for these labels, looked up once."""
    return metric.labels(*labels)


def _known(name: str, value: str, options: tuple[str, ...]) -> None:
    """Labels come from short lists, so that nothing of a person can get into one."""
    if value not in options:
        raise ParameterError(name, f"one of {', '.join(options)}", value)


def _method(method: str) -> str:
    return method if method in _METHODS else "other"


# The log

_LOGGER = logging.getLogger("hybriddp.service")
_FIELDS = (
    *("route", "method", "status", "reason", "ms", "study", "exception", "place", "request", "count", "replica"),
    "seconds",
)
_STUDY = re.compile(r"[a-z0-9-]{1,64}")
_SENTENCES = frozenset(
    {
        "Application startup failed. Exiting.",
        "Cancel %s running task(s), timeout graceful shutdown exceeded",
        "Exceeded concurrency limit.",
        "Invalid HTTP request received.",
    }
)
"""What other libraries may say: these sentences, as they stand, without what would be filled in."""


_PROCESS, _REQUESTS = secrets.token_hex(6), count(1)


def new_request_id() -> str:
    """Return a new name for a request in the log.

    Names are numbered in this process and contain nothing from the request.
    """
    return f"{_PROCESS}-{next(_REQUESTS):x}"


def log_request(
    *,
    route: str,
    method: str,
    status: int,
    ms: float,
    request: str,
    reason: str | None = None,
    study: str | None = None,
) -> None:
    """Log a request that was answered."""
    level = logging.ERROR if status >= 500 else logging.INFO
    told = {"route": route, "method": _method(method), "status": status, "reason": reason, "study": study}
    log_event("request", level=level, **told, ms=round(ms, 2), request=request)


def log_failure(
    error: BaseException, *, route: str | None = None, request: str | None = None, study: str | None = None
) -> None:
    """Log an exception that nobody expected: its class and where it was raised."""
    log_event("failure", level=logging.ERROR, route=route, request=request, study=study, **_whereabouts(error))


def log_event(event: str, *, level: int = logging.INFO, **told: object) -> None:
    """Log something that happened, such as ``log_event("released", study="minutes")``."""
    if not _LOGGER.isEnabledFor(level):
        return
    for name in told:
        _known("told", name, _FIELDS)
    if told.get("study") is not None and not _STUDY.fullmatch(str(told["study"])):
        told["study"] = "?"
    _LOGGER.log(level, event, extra={"told": {name: value for name, value in told.items() if value is not None}})


def _whereabouts(error: BaseException) -> dict[str, str]:
    kind = type(error)
    told = {"exception": f"{kind.__module__}.{kind.__qualname__}"}
    frames = traceback.extract_tb(error.__traceback__)
    if frames:
        told["place"] = f"{frames[-1].name}, {Path(frames[-1].filename).name}:{frames[-1].lineno}"
    return told


class LogLine(logging.Formatter):
    """One line per record: our own fields, and of all other loggers no more than is known to be harmless."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self._as_json = form == "json"

    def format(self, record: logging.LogRecord) -> str:
        """Format the record as a line."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields = {"time": when.replace("+00:00", "Z"), "level": record.levelname.lower(), **_content(record)}
        if self._as_json:
            return json.dumps(fields, ensure_ascii=True)
        head = f"{fields.pop('time')} {fields.pop('level'):7} {fields.pop('event')}"
        return " ".join([head, *(f"{name}={_plain(value)}" for name, value in fields.items())])


def _content(record: logging.LogRecord) -> Mapping[str, Any]:
    if record.name == _LOGGER.name:
        return {"event": str(record.msg), **getattr(record, "told", {})}
    content: dict[str, Any] = {"event": "library", "logger": record.name}
    if isinstance(record.msg, str) and record.msg in _SENTENCES:
        content["message"] = record.msg
    if record.exc_info and record.exc_info[1] is not None:
        content |= _whereabouts(record.exc_info[1])
    return content


def _plain(value: object) -> str:
    text = str(value)
    return text if re.fullmatch(r"[\w.,:/{}<>?-]+", text) else json.dumps(text)


def set_up_logging(form: str = "json", stream: TextIO | None = None, *, quiet: bool = False) -> None:
    """Send the whole process's log, one line per record, to standard error or to a stream; for a server's start.

    A ``quiet`` one has only warnings and errors.
    """
    _known("form", form, ("json", "text"))
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LogLine(form))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    _LOGGER.setLevel(logging.WARNING if quiet else logging.INFO)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "litestar", "sqlalchemy", "alembic", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
        logger.setLevel(logging.WARNING)
    logging.getLogger("uvicorn.access").disabled = True
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # a line that cannot be written must not be shown with its arguments instead
    threading.excepthook = _log_thread


def _log_thread(raised: threading.ExceptHookArgs) -> None:
    """Log what ended a thread, in place of a traceback with its message."""
    if raised.exc_value is not None:
        log_failure(raised.exc_value)
