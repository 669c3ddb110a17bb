"""How strictly bodies are read, and what is told to whoever sent one that cannot be.

A body is one JSON text in UTF-8. A key that stands twice in an object has two meanings, so it is refused, and so are
unknown fields, numbers that are no numbers and texts where numbers belong. The answer names the place and the rule that
was broken, and nothing that was sent: not even the name of an unknown field, which may be somebody's.
"""

import json
import re
from collections.abc import AsyncGenerator, Iterator
from http import HTTPStatus
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from litestar import Request
from litestar.datastructures import State
from litestar.exceptions import InternalServerException
from msgspec import Meta, Struct, ValidationError, convert
from msgspec.json import decode

from hybriddp.service.problems import Refusal
from hybriddp.service.routes.wire import BatchedReport, NewBatch

_DIGITS = 4000  # of a whole number; Python refuses to read much longer ones
_PLACE = re.compile(r" - at `(\$(?:\.[a-z_]+|\[[0-9]+\])*)`$")
_MISSING = re.compile(r"Object missing required field `([a-z_]+)`")
_MISFIT = re.compile(r"Expected `([a-z]+(?: \| [a-z]+)*)`, got `([a-z]+)`")


class StrictRequest(Request[Any, Any, State]):
    """A request whose body is read as strictly as it is documented.

    Litestar would take the text "3" for the number 3, any media type for JSON, and the last of two equal keys. Media
    types matter in a pilot without tokens: a page of any origin may send text or a form without asking first.
    """

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives; a client that goes away before its end is no failure of the server."""
        try:
            async for chunk in super().stream():
                yield chunk
        except InternalServerException:
            raise Refusal("malformed", "The body ended before it was complete.") from None

    async def json(self) -> Any:  # noqa: ANN401
        """The body as what its route takes."""
        if self.content_type[0] != "application/json":
            words = "The body must be JSON, with the header Content-Type: application/json."
            raise Refusal("malformed", words, status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        body, field = await self.body(), self.route_handler.parsed_data_field
        wanted = Any if field is None else field.annotation
        try:
            return read_body(body, wanted)
        except Refusal:
            if wanted is not NewBatch:
                raise
        return read_batch(body)


def read_body(body: bytes, wanted: Any) -> Any:  # noqa: ANN401
    """A body as what is wanted; `Refusal` if it is anything else."""
    _parse(_ONCE, body)
    try:
        return decode(body, type=wanted)
    except (ValueError, RecursionError) as reason:
        raise Refusal("malformed", _words(str(reason), wanted)) from None


def read_batch(body: bytes) -> NewBatch:
    """A batch in which some reports are malformed: None stands for them. `Refusal` if it is no batch at all."""
    told = _parse(_SPLIT, body)
    items = told.get("reports") if isinstance(told, dict) else None
    if not isinstance(items, list) or not items:
        read_body(body, NewBatch)  # says what is wrong
        raise Refusal("malformed")
    around = told | {"reports": [None]}  # what is not a report must be right
    try:
        digest = convert(around, NewBatch).digest
    except (ValueError, RecursionError) as reason:
        raise Refusal("malformed", _words(str(reason), NewBatch)) from None
    return NewBatch(digest, [_report(item) for item in items])


def _report(item: object) -> BatchedReport | None:
    try:
        report = convert(item, BatchedReport)
        report.participant.encode()  # half a surrogate pair is no text
    except (ValidationError, UnicodeEncodeError, RecursionError):
        return None
    return report


def _parse(decoder: json.JSONDecoder, body: bytes) -> Any:  # noqa: ANN401
    try:
        return decoder.decode(body.decode("utf-8"))
    except Refusal:
        raise
    except (ValueError, RecursionError):
        raise Refusal("malformed", "The body must be one JSON object in UTF-8, not nested deeply.") from None


# Words


def _words(reason: str, wanted: Any) -> str:  # noqa: ANN401
    """Where a body is wrong and which rule it breaks. The decoder's own words may quote it, so they are not told."""
    found = _PLACE.search(reason)
    place = found[1] if found else "$"
    kind = _kind_at(wanted, place)
    if kind is None:  # the name of an unknown field can look like a place
        place, kind = "$", wanted
    if missing := _MISSING.match(reason):
        return _told(f"{place}.{missing[1]}", "required")
    if reason.startswith("Object contains unknown field"):
        return _told(place, f"an unknown field. Known are {', '.join(_fields(kind))}")
    if misfit := _MISFIT.match(reason):
        rule = rule_of(kind)
        return _told(place, f"{misfit[1]} is needed, not {misfit[2]}" + (f" ({rule})" if rule else ""))
    if rule := rule_of(kind):
        return _told(place, f"{rule} is needed")
    return "The body is not JSON that this route can read: it has a number that is too large, or a broken text."


def _told(place: str, rule: str) -> str:
    return f"The body is not what this route takes. At {place}: {rule}."


def _kind_at(wanted: Any, place: str) -> Any:  # noqa: ANN401
    """What a body has at a place, with its metadata; None if there is no such place."""
    for name, _ in re.findall(r"\.([a-z_]+)|(\[)", place):
        plain = _plain(wanted)
        if name:
            wanted = get_type_hints(plain, include_extras=True).get(name) if _is_struct(plain) else None
        else:
            lists = [bare for bare in map(_bare, _choices(wanted)) if get_origin(bare) is list]
            wanted = get_args(lists[0])[0] if lists else None
        if wanted is None:
            return None
    return wanted


def _choices(wanted: Any) -> Iterator[Any]:  # noqa: ANN401
    """What may stand in a place, apart from null."""
    options = (wanted,) if get_origin(wanted) in (None, Annotated, list, dict) else get_args(wanted)
    return (option for option in options if option is not type(None))


def _plain(wanted: Any) -> Any:  # noqa: ANN401
    return _bare(next(_choices(wanted)))


def _bare(one: Any) -> Any:  # noqa: ANN401
    """A type without its metadata."""
    return get_args(one)[0] if get_origin(one) is Annotated else one


def rule_of(wanted: Any) -> str:  # noqa: ANN401
    """The rule of a field, which is its description in the OpenAPI document."""
    one = next(_choices(wanted))
    metas = get_args(one)[1:] if get_origin(one) is Annotated else ()
    return next((meta.description for meta in metas if isinstance(meta, Meta) and meta.description), "")


def _is_struct(kind: Any) -> bool:  # noqa: ANN401
    return isinstance(kind, type) and issubclass(kind, Struct)


def _fields(wanted: Any) -> tuple[str, ...]:  # noqa: ANN401
    kind = _plain(wanted)
    return tuple(kind.__struct_fields__) if _is_struct(kind) else ()


# Decoders


class _Twice:
    """An object in which a key stands twice: of no use to anybody."""


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) != len(pairs):
        raise Refusal("malformed", "A key stands twice in an object of the body.")


def _split(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Twice:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _Twice()


def _whole_number(digits: str) -> int | None:
    return int(digits) if len(digits) <= _DIGITS else None


def _no_number(_: str) -> None:
    raise Refusal("malformed", "NaN and Infinity are no JSON.")


_ONCE = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number)
_SPLIT = json.JSONDecoder(object_pairs_hook=_split, parse_constant=_no_number, parse_int=_whole_number)
