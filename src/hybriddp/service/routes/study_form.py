"""The form of a new study, read: the same fields as the body of ``POST /studies``, and what is wrong with each.

Nothing is lost when a field is wrong: the texts stay as they were typed.
"""

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import ValidationError, convert

from hybriddp.distribution.study import DistributionStudy
from hybriddp.errors import BudgetError, HybridDPError, ParameterError
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.mean.study import MeanStudy
from hybriddp.service.kinds import known_kinds, study_kind
from hybriddp.service.planner import read_number
from hybriddp.service.problems import Refusal, problem
from hybriddp.service.routes.strict import rule_of
from hybriddp.service.routes.wire import Hours, Name, NewStudy, Origins, Size, StudyId, Words
from hybriddp.shares.study import FrequencyStudy
from hybriddp.study.users import PART_NAME, StudyParts, is_part_name

__all__ = ["KINDS", "StudyForm"]

KINDS = {
    "mean": "the mean of a number",
    "distribution": "quantiles of a number",
    "frequency": "shares of categories",
    "heavy-hitters": "frequent items that nobody has listed",
    "kmeans": "places around which people are: K-means of several numbers",
}
"""What can be asked for on the page, if the server knows it."""
TEXTS = (
    "name",
    "lower",
    "upper",
    "categories",
    "clusters",
    "ranges",
    "round_hours",
    "epsilon",
    "delta",
    "organization",
    "purpose",
    "contact",
    "closes_at",
    "id",
    "min_trusted",
    "min_local",
    "budget",
    "origins",
    "part_by",
    "part_names",
)
CHOICES = {"kind": ("mean", *KINDS), "scale": ("equal", "log"), "tokens": ("yes", "no")}
CHOICES |= {"other": ("usual", "yes", "no")}
BOXES = ("single_group", "later", "release_at_end")
_OTHER = {"usual": None, "yes": True, "no": False}
_NEEDED = ("organization", "purpose", "contact", "closes_at")
_LONGEST = 1_000_000  # characters of a field; a body is not longer
_DAYS = 14
_FIELDS = {"bounds": "upper", "min_group_size": "min_trusted", "by": "part_by", "names": "part_names"}
_FIELDS |= {"n_clusters": "clusters"}
_POINT = "This must be a number whose decimals come after a point, as in 0.5."
_RANGES = "Each line must have two numbers, the lower bound before the upper one, and perhaps a name."
_TYPES: dict[str, Any] = {
    "organization": Words,
    "purpose": Words,
    "contact": Words,
    "id": StudyId,
    "min_trusted": Size,
    "min_local": Size,
    "budget": Name,
    "origins": Origins,
    "round_hours": Hours,
}


def offered() -> dict[str, str]:
    """The kinds of study that can be made on the page, with their words."""
    return {kind: words for kind, words in KINDS.items() if kind in known_kinds()}


class _Wrong(Exception):  # noqa: N818  (no error: an answer)
    """A field that is wrong, and the words for it."""

    def __init__(self, field: str, words: str) -> None:
        self.field, self.words = field, words
        super().__init__(words)


@dataclass(frozen=True)
class StudyForm:
    """What was typed."""

    texts: Mapping[str, str]

    @classmethod
    def read(cls, given: Mapping[str, str]) -> "StudyForm":
        """From a form that was sent, or from an address that fills one in."""
        texts = {name: given.get(name, "")[:_LONGEST].strip() for name in TEXTS}
        for name, options in CHOICES.items():
            texts[name] = given[name] if given.get(name) in options else options[0]
        return cls(texts | {name: "yes" if given.get(name) == "yes" else "" for name in BOXES})

    @classmethod
    def new(cls, given: Mapping[str, str], now: int) -> "StudyForm":
        """The form to begin with: what an address says, or else ε = 1 and two weeks."""
        closes = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0) + timedelta(days=_DAYS)
        usual = {"epsilon": "1", "delta": "0.000001", "closes_at": closes.strftime("%Y-%m-%dT%H:%M")}
        return cls.read(usual | {name: text for name, text in given.items() if text})

    def problems(self, now: int) -> dict[str, str]:
        """What is wrong with each field, in words; nothing if the study can be made."""
        found: dict[str, str] = {}
        for name in (*_TYPES, "closes_at", "study"):
            try:
                self._check(name, now)
            except _Wrong as wrong:
                found.setdefault(wrong.field, wrong.words)
        return found

    def body(self) -> NewStudy:
        """The body of ``POST /studies`` that says the same; the form has no problems."""
        text = self.texts
        told = {
            "study": json.loads(self._study().to_json()),
            "dimensions": self._dimensions(),
            "consent": {name: text[name] for name in ("organization", "purpose", "contact")},
            "closes_at": f"{datetime.fromisoformat(text['closes_at']).isoformat()}Z",  # however it was written
            "tokens": text["tokens"] == "yes",
            "single_group": text["single_group"] == "yes",
            "open": text["later"] != "yes",
        }
        for name in ("id", "min_trusted", "min_local", "budget", "origins"):
            if text[name]:
                told[name] = self._value(name)
        if self._asks_by_itself():
            told |= {"round_hours": self._value("round_hours"), "release_at_end": text["release_at_end"] == "yes"}
        parts = self._parts()
        return convert(told | {"parts": parts and parts.to_dict()}, NewStudy)

    def _dimensions(self) -> list[str]:
        """What the numbers of a point are called; nothing in other studies."""
        named = self._ranges() if self.texts["kind"] == "kmeans" else []
        return [name for _, name in named if name]

    def _asks_by_itself(self) -> bool:
        """Whether rounds follow each other in time; other kinds do not show the fields."""
        return self.texts["kind"] == "kmeans" and bool(self.texts["round_hours"])

    # Fields

    def _check(self, name: str, now: int) -> None:
        if name == "round_hours" and not self._asks_by_itself():
            if self.texts["kind"] == "kmeans" and self.texts["release_at_end"]:
                raise _Wrong(name, "This is needed if the study is to be released by itself.")
        elif name == "study":
            self._check_study()
        elif not self.texts[name]:
            if name in _NEEDED:
                raise _Wrong(name, "This is needed.")
        elif name == "closes_at":
            self._check_time(now)
        else:
            try:
                convert(self._value(name), _TYPES[name])
            except ValidationError:
                raise _Wrong(name, f"This must be {rule_of(_TYPES[name])}.") from None
        if name == "budget" and self.texts[name] and self.texts["tokens"] == "no":
            raise _Wrong(name, "A shared budget needs tokens: without them nobody knows who has paid.")

    def _value(self, name: str) -> object:
        text = self.texts[name]
        if name in ("min_trusted", "min_local"):
            number = read_number(text)
            return int(number) if number is not None and number.is_integer() else text
        if name == "round_hours":
            hours = read_number(text)
            return text if hours is None else hours
        return text.split() if name == "origins" else text

    def _check_time(self, now: int) -> None:
        try:
            time = datetime.fromisoformat(self.texts["closes_at"])
        except ValueError:
            raise _Wrong("closes_at", "This must be a day and a time, such as 2030-01-31T12:00.") from None
        if time.tzinfo is not None:
            raise _Wrong("closes_at", "This must be a time in UTC, without a time zone.")
        if time.replace(tzinfo=UTC).timestamp() <= now:
            raise _Wrong("closes_at", "This must be in the future.")

    def _check_study(self) -> None:
        try:
            kind = study_kind(self._study().to_json(), self._parts())
        except ParameterError as error:
            field = _FIELDS.get(error.name, error.name)
            if field == "upper" and self.texts["kind"] == "kmeans":
                raise _Wrong("ranges", _RANGES) from None
            below = "lower below upper" in error.expected
            words = "This must be above the lower bound." if below else f"This must be {error.expected}."
            raise _Wrong(field if field in self.texts else "", words) from None
        except HybridDPError as error:
            field = "categories" if self.texts["kind"] == "frequency" else ""
            raise _Wrong(field, str(error)) from None
        for name in ("min_trusted", "min_local"):
            number = read_number(self.texts[name]) if self.texts[name] else None
            if number is not None and number < kind.min_group_size:
                raise _Wrong(name, f"This must be at least {kind.min_group_size}.")

    def _parts(self) -> StudyParts | None:
        """The parts of the users, of whom a mean may have several; other kinds do not show the fields."""
        text = self.texts
        names = [line.strip() for line in text["part_names"].splitlines() if line.strip()]
        if text["kind"] != "mean" or not (text["part_by"] or names):
            return None
        if text["tokens"] == "no":
            raise _Wrong("part_names", "Parts need tokens: they say which part a person is in.")
        return StudyParts(text["part_by"], names)

    def _study(self) -> MeanStudy | FrequencyStudy | DistributionStudy | HeavyHitterStudy | KMeansStudy:
        text = self.texts
        if text["kind"] not in offered():
            raise _Wrong("kind", "This server does not know such studies.")
        if "," in text["epsilon"]:  # dropped, it would make 0,5 ten times as large
            raise _Wrong("epsilon", _POINT)
        common: dict[str, Any] = {"epsilon": text["epsilon"]}
        if text["kind"] == "frequency":
            lines = [line.strip() for line in text["categories"].splitlines() if line.strip()]
            if len(lines) < 2:
                raise _Wrong("categories", "At least two are needed, each on a line of its own.")
            return FrequencyStudy(text["name"], categories=lines, other=_OTHER[text["other"]], **common)
        if text["kind"] == "heavy-hitters":
            return HeavyHitterStudy(text["name"], delta=text["delta"], **common)
        if text["kind"] == "kmeans":
            if text["tokens"] == "no":
                raise _Wrong("kind", "K-means needs people with a token: it says which round asks whom.")
            clusters = read_number(text["clusters"])
            if clusters is None or not clusters.is_integer():
                raise _Wrong("clusters", "A whole number is needed.")
            box = [pair for pair, _ in self._ranges()]
            return KMeansStudy(text["name"], n_clusters=int(clusters), bounds=box, **common)
        for name in ("lower", "upper"):
            if read_number(text[name]) is None:
                raise _Wrong(name, _POINT if "," in text[name] else "A number is needed.")
        bounds = (read_number(text["lower"]) or 0.0, read_number(text["upper"]) or 0.0)
        if text["kind"] == "distribution":
            return DistributionStudy(text["name"], bounds=bounds, scale=text["scale"], **common)
        return MeanStudy(text["name"], bounds=bounds, **common)

    def _ranges(self) -> list[tuple[tuple[float, float], str]]:
        """The bounds of each number, a pair on each line, and the name behind them."""
        found = []
        for line in filter(str.strip, self.texts["ranges"].splitlines()):
            lower, upper, name = [*line.split(maxsplit=2), "", ""][:3]
            low, high = (read_number(part.strip(",;")) for part in (lower, upper))
            if low is None or high is None:
                raise _Wrong("ranges", _RANGES)
            found.append(((low, high), " ".join(name.split())))
        names = {unicodedata.normalize("NFKC", name).casefold() for _, name in found}
        if not found:
            raise _Wrong("ranges", "At least one line is needed.")
        if names != {""} and (len(names) < len(found) or "" in names):
            raise _Wrong("ranges", "Either no number has a name, or each has another one.")
        if not all(name == "" or is_part_name(name) for _, name in found):
            raise _Wrong("ranges", f"Each name must be {PART_NAME}.")
        return found


def refused(error: HybridDPError) -> dict[str, str]:
    """Why a study was not made although its form has no problems, by field."""
    if isinstance(error, BudgetError):
        return {"budget": str(error)}
    field = error.field if isinstance(error, Refusal) else ""
    return {field: problem(error)["detail"]}
