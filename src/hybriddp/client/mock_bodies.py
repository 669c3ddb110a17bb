"""Bodies that arrive at a mock curator: read, and refused as the real one refuses them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hybriddp.client.contribution import Contribution
from hybriddp.client.mock_problems import MockTrouble
from hybriddp.client.point_question import PointQuestion
from hybriddp.client.problems import RejectedError, parse_object
from hybriddp.client.study_question import OfferedStudy, StudyQuestion
from hybriddp.errors import DataError, HybridDPError

if TYPE_CHECKING:
    import httpx

__all__ = ["MockEnrollment", "content_of", "read_contribution", "read_enrollment", "study_of"]

_HASH = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class MockEnrollment:
    """Somebody who has enrolled, with the commitment to a nonce that their device keeps until it answers."""

    digest: str
    commitment: str
    group: ClassVar[str] = "local"
    integer: ClassVar[int] = 0
    nonce: ClassVar[str] = ""  # which the device keeps
    enrolls: ClassVar[bool] = True
    value: ClassVar[None] = None


def content_of(request: "httpx.Request") -> dict[str, Any]:
    """Parse the object in a request's body."""
    try:
        return parse_object(request.content)
    except HybridDPError:
        raise MockTrouble(400) from None


def study_of(asked: StudyQuestion, group: str) -> OfferedStudy:
    """Return the study that a group's contributions are for.

    The question about a list has a digest of its own.
    """
    own: OfferedStudy = asked.study
    try:
        return own if group == "trusted" else asked.reported
    except RejectedError:
        raise MockTrouble(409, "closed") from None


def read_enrollment(asked: StudyQuestion, content: Mapping[str, Any]) -> MockEnrollment:
    """Read the commitment of an enrollment."""
    commitment = content.get("commitment")
    right = isinstance(asked, PointQuestion) and set(content) == {"digest", "commitment"}
    if not right or not isinstance(commitment, str) or not _HASH.fullmatch(commitment):
        raise MockTrouble(400)
    if content["digest"] != study_of(asked, "local").digest:
        raise MockTrouble(409, "wrong-digest")
    return MockEnrollment(content["digest"], commitment)


def read_contribution(asked: StudyQuestion, route: str, content: Mapping[str, Any]) -> Contribution:
    """Read the contribution sent to a route of a study.

    It is a report, a value, or the nonce of an earlier enrollment.
    """
    in_rounds = isinstance(asked, PointQuestion)
    if route == ("reports" if in_rounds else "enrollments"):
        raise MockTrouble(400)
    name = {"reports": "code", "values": "value"}.get(route)
    if set(content) != {"digest", "nonce"} | ({name} if name else set()):
        raise MockTrouble(400)
    group = "trusted" if name == "value" else "local"
    if content["digest"] != study_of(asked, group).digest:
        raise MockTrouble(409, "wrong-digest")
    number, value = 0, None
    if name == "code":
        number = _code(content["code"])
    elif name == "value":
        value = _plain(content["value"], asked)
        number = _received(value, asked)
    try:
        made = Contribution(content["digest"], group, number, content["nonce"], value, enrolls=name is None)
    except HybridDPError:
        raise MockTrouble(400) from None
    low, high = asked.codes if group == "local" else (number, number)
    if not low <= number <= high:
        raise MockTrouble(422)
    return made


def _code(sent: object) -> int:
    if isinstance(sent, bool) or not isinstance(sent, int):
        raise MockTrouble(400)
    return sent


def _plain(sent: object, asked: StudyQuestion) -> float | str | tuple[float, ...]:
    """Return the trusted value, which is a number, a text or a point.

    It is a point if the study asks for one.
    """
    if isinstance(asked, PointQuestion):
        if not isinstance(sent, list) or len(sent) != asked.study.box.n_dimensions:
            raise MockTrouble(400)
        return tuple(_number(x) for x in sent)
    return sent if isinstance(sent, str) else _number(sent)


def _number(sent: object) -> float:
    if isinstance(sent, bool) or not isinstance(sent, int | float):
        raise MockTrouble(400)
    try:
        return float(sent)
    except OverflowError:
        raise MockTrouble(400) from None


def _received(value: float | str | tuple[float, ...], asked: StudyQuestion) -> int:
    try:
        if isinstance(asked, PointQuestion):
            return asked.received(value)
        return asked.received(value if isinstance(value, str | float) else 0.0)  # only points are tuples
    except DataError:
        raise MockTrouble(422) from None
    except (HybridDPError, IndexError):
        raise MockTrouble(400) from None
