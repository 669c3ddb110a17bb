"""Reports that know their study: what `MeanStudy.randomize` gives, and what `MeanStudy.summarize_local` takes.

A code is a small integer and says nothing about the study that it was made for. Codes that are read with another
study's channel give a wrong answer that looks right, and no test of the codes alone can always tell: codes of a small ε
look like spread-out values at a large one. So the codes carry the digest of their study.
"""

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hybriddp.errors import DataError, ProtocolError
from hybriddp.grid import as_array, type_words


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reports:
    """Codes of local users, and the study that they were made for.

    A slice, a mask or a list of positions gives `Reports`, one position gives one code. NumPy and pandas take them for
    an array of integers, for Polars hand over ``codes``; what they make of it is no longer tied to the study.

    Attributes
    ----------
    codes : ndarray
        One integer per user; read-only.
    study : str
        The digest of the study.
    seeded : bool
        Whether they come from a simulation with a seed: then they protect nobody.

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
    study: str
    seeded: bool = False

    def __post_init__(self) -> None:
        codes = np.asarray(as_array(self.codes, "codes"))
        if codes.ndim != 1 or codes.dtype.kind not in "iu":
            raise DataError(f"codes must be a one-dimensional array of integers, got {type_words(codes)}.")
        if not isinstance(self.study, str) or not self.study:
            raise DataError("Reports need the digest of their study.")
        view = codes.view()
        view.flags.writeable = False
        object.__setattr__(self, "codes", view)

    # As a sequence ------------------------------------------------------------------------------------------------

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
        if self.study != other.study:
            raise ProtocolError(
                f"Reports of different studies cannot be added: {self.study[:12]}… and {other.study[:12]}…."
            )
        return Reports(np.concatenate([self.codes, other.codes]), self.study, self.seeded or other.seeded)

    def __radd__(self, other: object) -> "Reports":
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that sum() works

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reports):
            return NotImplemented
        return self.study == other.study and np.array_equal(self.codes, other.codes)

    def __hash__(self) -> int:
        return hash((self.study, tuple(self.codes.tolist())))

    # As an array --------------------------------------------------------------------------------------------------

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

    @property
    def ndim(self) -> int:
        """Always 1."""
        return 1

    def astype(self, dtype: DTypeLike) -> NDArray[Any]:
        """The codes as a plain array of another type."""
        return self.codes.astype(dtype)

    def tolist(self) -> list[int]:
        """The codes as a plain list."""
        codes: list[int] = self.codes.tolist()
        return codes

    def __repr__(self) -> str:
        seeded = ", with a seed: not private" if self.seeded else ""
        return f"Reports({len(self):,} of study {self.study[:12]}…{seeded})"
