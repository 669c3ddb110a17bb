"""The planner behind a page: what was asked in an address, in words what is wrong with it, and the answer.

No formula is here: `hybriddp.planning` has them. Planning takes some tenths of a second of a processor, so one plan is
made at a time, answers are kept for a while, and only so many new ones are made in a minute, whoever asks.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from urllib.parse import urlencode

from hybriddp.errors import HybridDPError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.planning import MeanPlan, plan
from hybriddp.planning.curves import EPSILON, OPT_INS, ErrorCurves, error_curves
from hybriddp.planning.words import assumption, promise
from hybriddp.service.problems import Refusal

__all__ = ["EXAMPLE", "LABELS", "PlanRequest", "Planned", "Planner", "plan_now", "read_number"]

EXAMPLE = {"users": "100000", "opt_ins": "5", "epsilon": "1", "lower": "0", "upper": "240", "sd": "30", "mean": "40"}
"""What the page shows to whoever asks nothing: minutes of a session, perhaps."""
LABELS = {
    "users": "Users",
    "opt_ins": "Opt-ins",
    "epsilon": "ε",
    "lower": "Lower bound",
    "upper": "Upper bound",
    "sd": "Spread",
    "mean": "Mean",
}
_OPTIONAL = ("sd", "mean")
_FIELDS = {"n_users": "users", "trusted_fraction": "opt_ins", "bounds": "upper"}
_LONGEST = 40  # characters of a number
# Thousands may be set apart. A comma anywhere else may be a decimal one: dropped, it would make 0,5 ten times as large.
_NUMBER = re.compile(
    "[+-]?(?:[1-9][0-9]{0,2}(?:[,\\u00a0\\u202f][0-9]{3})+(?:[.][0-9]*)?"
    "|(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?)"
)
_KEPT, _WAITING = 256, 8
_POINT = ". Decimals come after a point, as in 0.5"


def read_number(text: str) -> float | None:
    """Parse a number, perhaps with commas between thousands.

    Return None if the text is not a number or has a decimal comma.

    Examples
    --------
    >>> read_number("100,000"), read_number(" 1e3 "), read_number("ten"), read_number("nan")
    (100000.0, 1000.0, None, None)
    >>> read_number("0,5"), read_number("1,50")
    (None, None)
    """
    written = text.strip()
    if len(text) > _LONGEST or _NUMBER.fullmatch(written) is None:
        return None
    found = float(re.sub("[,\\u00a0\\u202f]", "", written))
    return found if abs(found) < float("inf") else None


@dataclass(frozen=True)
class PlanRequest:
    """What was asked: the fields' texts as they were given, and what the curves are drawn against."""

    texts: tuple[tuple[str, str], ...]
    against: str = OPT_INS

    @classmethod
    def read(cls, given: Mapping[str, str]) -> "PlanRequest":
        """From an address; without any field of ours, the example."""
        texts = {name: given.get(name, "").strip()[: 2 * _LONGEST] for name in LABELS}
        if not any(name in given for name in LABELS):
            texts = dict(EXAMPLE)
        return cls(tuple(texts.items()), EPSILON if given.get("against") == EPSILON else OPT_INS)

    @property
    def query(self) -> str:
        """The address's part that holds it all."""
        against = {"against": self.against} if self.against != OPT_INS else {}
        return urlencode({name: text for name, text in self.texts if text} | against)

    @property
    def study_query(self) -> str:
        """What the form of a new study can take over."""
        texts = dict(self.texts)
        return urlencode({"kind": "mean"} | {name: texts[name] for name in ("epsilon", "lower", "upper")})

    def problems(self) -> dict[str, str]:
        """Return the problems with single fields, in words."""
        found = {}
        for name, text in self.texts:
            if not text and name not in _OPTIONAL:
                found[name] = f"{LABELS[name]}: a number is needed."
            elif text and read_number(text) is None:
                found[name] = f"{LABELS[name]}: this is not a number{_POINT if ',' in text else ''}."
        return found


@dataclass(frozen=True, repr=False)
class Planned:
    """A plan and its curves; or, in words and by field, why there is none. Under "" stands what belongs to no field."""

    request: PlanRequest
    plan: MeanPlan | None
    curves: ErrorCurves | None
    problems: Mapping[str, str]

    def __repr__(self) -> str:
        return f"<Planned: {self.plan!r}, {len(self.problems)} problems>"

    @property
    def answer(self) -> tuple[str, ...]:
        """The answer in three lines; nothing if there is no plan."""
        return () if self.plan is None else self.plan.headline()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is assumed, and what ε means."""
        return () if self.plan is None else (assumption(self.plan), promise(self.plan.privacy))


def plan_now(request: PlanRequest) -> Planned:
    """Compute the requested plan."""
    if wrong := request.problems():
        return Planned(request, None, None, wrong)
    texts = dict(request.texts)
    numbers = {name: read_number(text) for name, text in texts.items() if text}
    users = numbers["users"] or 0.0
    if not users.is_integer():
        return Planned(request, None, None, {"users": "Users: a whole number is needed."})
    try:
        bounds = (numbers["lower"] or 0.0, numbers["upper"] or 0.0)
        made = plan(
            MeanStudy("plan", bounds=bounds, epsilon=texts["epsilon"].replace(",", "")),
            n_users=int(users),
            trusted_fraction=(numbers["opt_ins"] or 0.0) / 100,
            sd=numbers.get("sd"),
            mean=numbers.get("mean"),
        )
        planned = Planned(request, made, error_curves(made, request.against), {})
        _ = planned.answer  # computed here, where it hinders nobody
    except ParameterError as error:
        field = _FIELDS.get(error.name, error.name)
        return Planned(request, None, None, {field: _words(field, error)})
    except HybridDPError as error:
        return Planned(request, None, None, {"": str(error)})
    return planned


def _words(field: str, error: ParameterError) -> str:
    """Describe the rule that a field breaks.

    The entered value is not repeated, because the field shows it.
    """
    if field == "opt_ins" and error.expected.startswith("a number between 0 and 1"):
        return "Opt-ins must be above 0 % and below 100 %."
    if error.name == "bounds":
        below = "lower below upper" in error.expected
        return "The upper bound must be above the lower one." if below else f"The bounds must be {error.expected}."
    return f"{LABELS.get(field, field)} must be {error.expected.replace('an integer', 'a whole number')}."


class Planner:
    """Plans for everybody, one at a time.

    Parameters
    ----------
    per_minute : int
        The most new plans in a minute; 0 for any number.
    """

    def __init__(self, per_minute: int) -> None:
        self._most, self._minute, self._made, self._waiting = per_minute, -1, 0, 0
        self._turn = asyncio.Lock()
        self._kept: OrderedDict[PlanRequest, Planned] = OrderedDict()

    async def plan(self, request: PlanRequest) -> Planned:
        """Return the requested plan, or refuse if too many other plans are requested."""
        if (known := self._kept.get(request)) is not None:
            return known
        if request.problems():
            return plan_now(request)
        self._count()
        if self._waiting >= _WAITING:
            raise Refusal("too-many", "Many people are planning now. Wait a few seconds and try again.")
        self._waiting += 1
        try:
            async with self._turn:
                known = self._kept.get(request)
                found = await asyncio.to_thread(plan_now, request) if known is None else known
        finally:
            self._waiting -= 1
        self._kept[request] = found
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found

    def _count(self) -> None:
        minute = int(monotonic()) // 60
        if minute != self._minute:
            self._minute, self._made = minute, 0
        self._made += 1
        if self._most and self._made > self._most:
            raise Refusal("too-many", "Many plans have been made in this minute. Wait a minute and try again.")
