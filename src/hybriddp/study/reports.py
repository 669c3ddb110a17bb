"""Reports of local users: codes, and the study that they were made for.

A code is a small integer and says nothing about the study that it was made for: codes that are read with another
study's channel give a wrong answer that looks right, and no test of the codes alone can always tell (codes of a small ε
look like spread-out values at a large one). So `Reports` carry the digest of their study. Whoever takes them in calls
`receive`, which refuses those of another study and tells how many are no codes at all.
"""

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from hybriddp.errors import DataError, ProtocolError
from hybriddp.grid import as_array, read_only, type_words

_MOST_INVALID = 0.01  # a larger fraction of invalid reports means that they belong to something else


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reports:
    """Codes of local users, and the study that they were made for.

    A slice, a mask or a list of positions gives `Reports`, one position gives one code. NumPy and pandas take them for
    an array of integers, for Polars hand over ``codes``; what they make of it is no longer tied to the study.

    Examples
    --------
    >>> from hybriddp import MeanStudy
    >>> study = MeanStudy("minutes", bounds=(0, 240), epsilon=1)
    >>> reports = study.randomize([12.0, 37.5, 200.0])
    >>> len(reports), len(reports[:2]), type(reports[0]).__name__
    (3, 2, 'int')
    >>> study.summarize_local(reports).tied
    True
    >>> MeanStudy("minutes", bounds=(0, 240), epsilon=2).summarize_local(reports)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hybriddp.errors.ProtocolError: The reports belong to study ..., not to ... ('minutes').
    """

    codes: NDArray[Any]
    """One integer per user; read-only."""
    study: str
    """The digest of the study."""
    seeded: bool = False
    """Whether they come from a simulation with a seed: then they protect nobody."""

    def __post_init__(self) -> None:
        codes = np.asarray(as_array(self.codes, "codes"))
        if codes.ndim != 1 or codes.dtype.kind not in "iu":
            raise DataError(f"codes must be a one-dimensional array of integers, got {type_words(codes)}.")
        if not isinstance(self.study, str) or not self.study:
            raise DataError("Reports need the digest of their study.")
        object.__setattr__(self, "codes", read_only(codes.view()))

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[int]:
        return iter(self.codes.tolist())

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401  (an int for a position, Reports for many)
        try:
            return int(self.codes[operator.index(index)])
        except TypeError:
            return Reports(self.codes[index], self.study, self.seeded)

    def __add__(self, other: object) -> "Reports":
        if not isinstance(other, Reports):
            return NotImplemented
        check_same_study("Reports", self.study, other.study)
        return Reports(np.concatenate([self.codes, other.codes]), self.study, self.seeded or other.seeded)

    def __radd__(self, other: object) -> "Reports":
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that sum() works

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reports):
            return NotImplemented
        return self.study == other.study and np.array_equal(self.codes, other.codes)

    def __hash__(self) -> int:
        return hash((self.study, tuple(self.codes.tolist())))

    ndim: ClassVar[int] = 1
    __array_ufunc__: ClassVar[None] = None  # arithmetic with codes means nothing, and NumPy would do it

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.codes, dtype=dtype, copy=copy)

    def __int__(self) -> int:
        if len(self) != 1:
            raise TypeError(f"Only a single report is one integer, and these are {len(self):,}.")
        return int(self.codes[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the codes."""
        return self.codes.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """How many codes there are, as a tuple."""
        return self.codes.shape

    def astype(self, dtype: DTypeLike) -> NDArray[Any]:
        """Return the codes as a plain array of another type."""
        return self.codes.astype(dtype)

    def tolist(self) -> list[int]:
        """Return the codes as a plain list."""
        codes: list[int] = self.codes.tolist()
        return codes

    def __repr__(self) -> str:
        seeded = ", with a seed: not private" if self.seeded else ""
        return f"Reports({len(self):,} of study {self.study[:12]}…{seeded})"


def refuse_reports(values: object) -> None:
    """Raise `DataError` if what is given as raw values or items are reports: numbers, but of a meaning of their own."""
    if isinstance(values, Reports):
        raise DataError(
            "These are reports, which local users sent, where raw values are needed. Give them as local, and the "
            "trusted users' values as trusted."
        )


@dataclass(frozen=True, slots=True, repr=False)
class Received:
    """What is left of reports when those that are none are left out."""

    codes: NDArray[Any]
    """One integer per user, all of them possible."""
    rejected: int
    """How many were no code of the study."""
    tied: bool
    """Whether they came with the study's digest."""
    seeded: bool
    """Whether they were drawn with a seed: then they protect nobody."""


def receive(reports: Reports | ArrayLike, *, between: tuple[int, int]) -> Received:
    """Read the codes from the first to the last that a device can send.

    Plain integers are taken at their word: nothing ties them to a study.
    """
    tied = isinstance(reports, Reports)
    seeded = isinstance(reports, Reports) and reports.seeded
    if np.ma.is_masked(reports):
        raise DataError("reports must all be there, but some are masked. Leave them out first.")
    array = np.atleast_1d(np.asarray(as_array(reports, "reports")))
    if array.shape == (0,):
        array = np.empty(0, np.int64)  # an empty list has no integers to tell by
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            f"reports must be a one-dimensional array of integers from {between[0]} to {between[1]}, got "
            f"{type_words(array)}. Raw values are no reports: local users randomize them on their devices (randomize)."
        )
    good = (array >= between[0]) & (array <= between[1])
    rejected = len(array) - int(np.count_nonzero(good))
    refuse_bad_reports(rejected, len(array), between=between)
    return Received(array[good] if rejected else array, rejected, tied, seeded)


def refuse_bad_reports(rejected: int, count: int, *, between: tuple[int, int]) -> None:
    """Raise `DataError` if more than one in a hundred reports is invalid."""
    if rejected > _MOST_INVALID * count:
        outside = f"outside {between[0]} to {between[1]}"
        raise DataError(
            f"{rejected:,} of {count:,} reports are {outside}; they probably belong to another study, or "
            "are raw values, which local users randomize on their devices (randomize)."
        )


def check_same_study(what: str, one: str, other: str) -> None:
    """Raise `ProtocolError` unless two digests are the same."""
    if one != other:
        raise ProtocolError(f"{what} of different studies cannot be added: {one[:12]}… and {other[:12]}….")
