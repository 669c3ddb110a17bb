"""What a study asks one person for, a number, a category or an item: drawn, and told in words.

A trusted contribution is an integer and what it stands for. Of a mean these are units of the study's grid and the
number in their middle; of a distribution, the number of a bin and the value in its middle, which is all that counts; of
categories, the number of the category, from 0, and the category itself; of an open domain, the item's integer and the
item. An item that is none of the categories, or that no study could show, is sent as other, and not as what it is.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybriddp.client.plain import one_line
from hybriddp.client.point_question import PointQuestion
from hybriddp.client.problems import RejectedError, parse_object
from hybriddp.client.study_question import OfferedStudy, StudyQuestion, TrustedValue
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import DataError, ProtocolError
from hybriddp.grid import as_floats
from hybriddp.items import HeavyHitterStudy
from hybriddp.items.records import integer_of, kept_item
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.mean import MeanStudy
from hybriddp.reporting.wording import significant
from hybriddp.shares import FrequencyStudy

__all__ = [
    "KINDS",
    "NO_LIST",
    "UNKNOWN",
    "CategoryQuestion",
    "DistributionQuestion",
    "ItemQuestion",
    "NumberQuestion",
    "OfferedStudy",
    "PointQuestion",
    "StudyQuestion",
    "TrustedValue",
    "question",
    "read_study",
]

UNKNOWN = (
    "This version of hybriddp can take part in studies of a mean, of a distribution, of frequencies, of heavy "
    "hitters or of K-means only."
)
NO_LIST = (
    "The study takes no reports yet: they are about its list, which has not been released. Nothing was drawn; call "
    "again later."
)
_LISTED = 12  # categories that a promise names


@dataclass(frozen=True, slots=True)
class NumberQuestion(StudyQuestion):
    """A study of a mean asks for a number."""

    study: MeanStudy
    kind: ClassVar[str] = "mean"
    noun: ClassVar[str] = "number"
    added: ClassVar[str] = "adds it to a total"

    def sentence(self) -> str:
        """Describe what is asked, to follow the name of the organization."""
        return _asks_for_number(self.study)

    def code(self, value: object) -> int:
        """Draw the code of one report."""
        return int(self.study.channel.randomize(_one_number(value), bounds=self.study.bounds))

    def trusted(self, value: object) -> TrustedValue:
        """Return the units of a value, and the number in their middle.

        The curator turns the number into the same units.
        """
        number, grid = _one_number(value), self.study.grid
        units = int(grid.units(np.array([number]))[0])
        sent = float(grid.values([units])[0])
        if int(grid.units(np.array([sent]))[0]) != units:  # a tie, where floats are as far apart as units
            sent = min(max(number, grid.lower), grid.upper)
        return TrustedValue(units, sent)

    def received(self, sent: float | str) -> int:
        """Return the units of a number."""
        if isinstance(sent, str):
            raise ProtocolError("The value must be a number.")
        return int(self.study.grid.place([sent]).units[0])


@dataclass(frozen=True, slots=True)
class DistributionQuestion(StudyQuestion):
    """A study of a distribution asks for a number, too, and counts the bin that it is in."""

    study: DistributionStudy
    kind: ClassVar[str] = "distribution"
    noun: ClassVar[str] = "number"
    added: ClassVar[str] = "counts it with the others'"
    known: ClassVar[str] = "the bin of your number, one of 256,"

    def sentence(self) -> str:
        """Describe what is asked, to follow the name of the organization."""
        return _asks_for_number(self.study)

    def code(self, value: object) -> int:
        """One report, drawn now."""
        return int(self.study.randomize([_one_number(value)]).codes[0])

    def trusted(self, value: object) -> TrustedValue:
        """Return the bin of a value, and the number in its middle.

        Nothing more than the bin leaves the device.
        """
        number, bins = _one_number(value), self.study.bins
        found = bins.of_value(number)
        sent = bins.value_in(found)
        if bins.of_value(sent) != found:  # a tie, in a bin of two units that has one float
            sent = min(max(number, bins.grid.lower), bins.grid.upper)
        return TrustedValue(found, sent)

    def received(self, sent: float | str) -> int:
        """Return the bin of a number."""
        if isinstance(sent, str) or not math.isfinite(sent):
            raise ProtocolError("The value must be a finite number.")
        return self.study.bins.of_value(sent)


@dataclass(frozen=True, slots=True)
class CategoryQuestion(StudyQuestion):
    """A study of frequencies asks for one of its categories."""

    study: FrequencyStudy
    kind: ClassVar[str] = "frequency"
    noun: ClassVar[str] = "answer"
    added: ClassVar[str] = "counts it with the others'"

    def sentence(self) -> str:
        """Describe what is asked, to follow the name of the organization."""
        items, listed = self.study.categories, _listed(self.study)
        rest = "Anything else counts as other." if self.study.other else "Whoever has none of these does not take part."
        return f"asks for one of {len(items):,} categories: {one_line(self.study.title)}. They are {listed}. {rest}"

    def code(self, value: object) -> int:
        """Draw the code of one report."""
        return int(self.study.oracle.randomize(np.array([self._number(value)]), None)[0])

    def trusted(self, value: object) -> TrustedValue:
        """Return the number of a category, and its name."""
        number = self._number(value)
        return TrustedValue(number, self.study.names[number])

    def received(self, sent: float | str) -> int:
        """Return the number of a category, where other may be called by its name."""
        domain = self.study.domain
        known = domain.numbers.get(sent) if isinstance(sent, str) else None
        if known is not None:
            return known
        whole = sent if isinstance(sent, str) or not sent.is_integer() else int(sent)
        if isinstance(whole, float) or isinstance(whole, str) is not domain.are_texts:
            raise ProtocolError("The value must be of the type that the study's categories have.")
        return self._number(whole)

    def _number(self, item: object) -> int:
        domain = self.study.domain
        kinds = (str, np.str_) if domain.are_texts else (int, np.integer)
        if isinstance(item, bool | np.bool_) or not isinstance(item, kinds):
            kind = "text" if domain.are_texts else "whole number"
            raise DataError(f"The item must be one {kind}, as the study's categories are.")
        found = domain.place(item)
        if not len(found.categories):
            raise DataError(
                "The item must be one of the study's categories. Without one there is nothing to contribute."
            )
        return int(found.categories[0])


@dataclass(frozen=True, slots=True)
class ItemQuestion(StudyQuestion):
    """A study of heavy hitters asks for an item: the trusted group for any, the local group about the released list."""

    study: HeavyHitterStudy
    about_list: FrequencyStudy | None = None
    """What the local group is asked, once the list has been released."""
    kind: ClassVar[str] = "heavy-hitters"
    noun: ClassVar[str] = "item"
    added: ClassVar[str] = "counts it with the others', shows an item only if enough people have it,"

    @property
    def reported(self) -> FrequencyStudy:
        """The question about the list."""
        if self.about_list is None:
            raise RejectedError(NO_LIST, reason="closed", status=409)
        return self.about_list

    @property
    def text(self) -> str:
        """The study's text; the question's is the question's own."""
        return self.study.to_json()

    def sentence(self) -> str:
        """Describe what is asked, to follow the name of the organization."""
        asked = f"asks for one item, a text: {one_line(self.study.name)}."
        if self.about_list is None:
            return (
                f"{asked} Items that enough of those who trust have become a public list. Those who do not are asked "
                "about this list, later; anything else counts as other then."
            )
        count, listed = len(self.about_list.categories), _listed(self.about_list)
        return f"{asked} A list of {count:,} has been released: {listed}. Anything else counts as other."

    def code(self, value: object) -> int:
        """Draw the code of one report about the list."""
        return CategoryQuestion(self.reported).code(value)

    def trusted(self, value: object) -> TrustedValue:
        """Return the integer of an item, and the item.

        The item is other if no study could show it or if it is too long to be kept.
        """
        if not isinstance(value, str):
            raise DataError("The item must be one text.")
        item = kept_item(value)
        return TrustedValue(integer_of(item), item)

    def received(self, sent: float | str) -> int:
        """Return the integer of an item."""
        if not isinstance(sent, str):
            raise ProtocolError("The value must be a text.")
        return integer_of(kept_item(sent))


KINDS = (
    NumberQuestion.kind,
    DistributionQuestion.kind,
    CategoryQuestion.kind,
    ItemQuestion.kind,
    PointQuestion.kind,
)


def question(study: OfferedStudy, about_list: FrequencyStudy | None = None) -> StudyQuestion:
    """Return the question of a study.

    For heavy hitters it includes the question about the list, once the list has been released.
    """
    if isinstance(study, HeavyHitterStudy):
        return ItemQuestion(study, about_list)
    if isinstance(study, KMeansStudy):
        return PointQuestion(study)
    if isinstance(study, DistributionStudy):
        return DistributionQuestion(study)
    return NumberQuestion(study) if isinstance(study, MeanStudy) else CategoryQuestion(study)


def read_study(text: str) -> OfferedStudy:
    """Read the study that a text describes, and verify its channel."""
    kind = parse_object(text).get("type")  # also refuses what is nested too deep to be read
    if kind == NumberQuestion.kind:
        return MeanStudy.from_json(text)
    if kind == DistributionQuestion.kind:
        return DistributionQuestion(DistributionStudy.from_json(text)).study
    if kind == CategoryQuestion.kind:
        return FrequencyStudy.from_json(text)
    if kind == ItemQuestion.kind:
        return _single_items(HeavyHitterStudy.from_json(text))
    if kind == PointQuestion.kind:
        return KMeansStudy.from_json(text)
    raise ProtocolError(UNKNOWN)


def _asks_for_number(study: MeanStudy | DistributionStudy) -> str:
    lower, upper = (significant(bound, 6) for bound in study.bounds)
    title = one_line(study.title)
    return f"asks for one number: {title}, from {lower} to {upper}. A number outside counts as the nearer bound."


def _single_items(study: HeavyHitterStudy) -> HeavyHitterStudy:
    """Return a study of heavy hitters with a list, and refuse a dictionary."""
    if study.domain is not None:
        raise ProtocolError("People can take part in studies of heavy hitters by way of a list only.")
    return study


def _listed(study: FrequencyStudy) -> str:
    """List the first categories of a study in words."""
    items = study.categories
    more = f"; and {len(items) - _LISTED:,} more" if len(items) > _LISTED else ""
    return "; ".join(one_line(str(item), 80) for item in items[:_LISTED]) + more


def _one_number(value: object) -> float:
    """Return a value as one finite float.

    The error for any other value does not show the value.
    """
    array = as_floats(value) if np.ndim(value) == 0 else None  # type: ignore[arg-type]  # anything may come
    if array is None or not math.isfinite(array[0]):
        raise DataError("The value must be one finite number. Without one there is nothing to contribute.")
    return float(array[0])
