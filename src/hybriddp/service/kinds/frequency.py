"""Studies of how frequent categories are, on the server."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from hybriddp.channels.unary import UnaryEncoding
from hybriddp.errors import DataError, ProtocolError
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.service.kinds.kind import Gathered, Released, StudyKind
from hybriddp.service.pages.shares import curator_shares_page, shares_page
from hybriddp.service.problems import Refusal
from hybriddp.service.store.sums import CategorySums
from hybriddp.shares.study import FrequencyStudy
from hybriddp.study.summary import LocalSummary, TrustedSummary

MOST_CATEGORIES = 4096
"""With more, the encrypted counts, which every transaction writes anew, would be longer than 20 kB."""
MOST_COUNTS = 1 << 22
"""Codes that are counted, each in a row of its own once it has been reported."""


@dataclass(frozen=True)
class FrequencyKind(StudyKind):
    """A study of categories: contributions are codes and categories, and there is one release.

    The integer of a trusted contribution is the number of its category, from 0, in the order of the study's text; all
    other items, if the study counts them, have the number after the last.
    """

    study: FrequencyStudy
    local_only: bool = False  # the question about a list: its trusted users have been counted before
    name: ClassVar[str] = "frequency"

    def __post_init__(self) -> None:
        if self.study.users is not None:
            raise ProtocolError("The server takes studies of everybody, not of a part of the users.")
        if len(self.study.names) > MOST_CATEGORIES and not self.local_only:
            raise ProtocolError(
                f"The server takes studies of at most {MOST_CATEGORIES:,} categories, and this one has "
                f"{len(self.study.names):,}. Ask for the most frequent ones, and count the rest as other items."
            )
        if self.study.n_counts > MOST_COUNTS:
            raise ProtocolError(
                f"The server takes channels with at most {MOST_COUNTS:,} codes. Give local hashing fewer functions."
            )

    @cached_property
    def sums(self) -> CategorySums:
        """Counts of codes or bits, and counts of categories."""
        bits = len(self.study.names) if isinstance(self.study.channel, UnaryEncoding) else 0
        return CategorySums(len(self.study.names), n_bits=bits)

    def report(self, code: int) -> int:
        """Check a report and return its code.

        Codes that no device can send are refused.
        """
        most = self.study.n_codes - 1
        if not 0 <= code <= most:
            raise Refusal("out-of-range", f"code must be a whole number from 0 to {most}.")
        return code

    def value(self, value: float | str | Sequence[float]) -> int:
        """Return the number of a category.

        Values outside the categories count as other if the study has that category.
        """
        domain = self.study.domain
        if not isinstance(value, str | float | int):
            raise Refusal("malformed", "value must be one of the study's categories.")
        number = domain.numbers.get(value) if isinstance(value, str) else None
        if number is None and isinstance(value, str) is not domain.are_texts:
            kind = "a text" if domain.are_texts else "a whole number"
            raise Refusal("malformed", f"value must be {kind}, as the study's categories are.")
        if not isinstance(value, str):
            if not value.is_integer():
                raise Refusal("malformed", "value must be a whole number, as the study's categories are.")
            number = domain.numbers.get(int(value))
        if number is None and self.study.other:
            return len(domain) - 1
        if number is None:
            raise Refusal("out-of-range", "value must be one of the study's categories.")
        return number

    def implausible(self, gathered: Gathered) -> int:
        """At least so many local reports did not come out of the study's channel."""
        return self.study.implausible(self.local_counts(gathered))

    def release(
        self, gathered: Gathered, *, single_group: bool, ledger: Ledger | None, warning: str | None = None
    ) -> Released:
        """Release the shares once.

        Without a ledger, the study was charged to everybody when it opened.
        """
        estimate = self.study.estimate(
            trusted=self._trusted(gathered), local=self.local_counts(gathered), single_group=single_group, ledger=ledger
        )
        if ledger is None:
            estimate = replace(estimate, privacy=replace(estimate.privacy, counted=True))
        published = estimate.to_dict()
        if warning is not None:
            published["warnings"] = [warning, *published["warnings"]]
        return Released(
            {"estimate": published, "answer": str(estimate)},
            shares_page(estimate, warnings=published["warnings"]),
            curator_shares_page(estimate, warnings=published["warnings"]),
        )

    def _trusted(self, gathered: Gathered) -> TrustedSummary:
        counts = self.sums.counts(gathered.total)
        if sum(counts) != gathered.n_trusted:
            raise DataError("The counts of the trusted group do not add up to its size. Nothing was released.")
        return TrustedSummary(self.digest, gathered.n_trusted, counts)

    def local_counts(self, gathered: Gathered) -> LocalSummary:
        """Return the local group's summary."""
        n_counts, sums = self.study.n_counts, self.sums
        entries = map(sums.bit, range(n_counts)) if sums.n_bits else range(n_counts)
        counts = tuple(gathered.tally.get(entry, 0) for entry in entries)
        return LocalSummary(self.digest, gathered.n_local, counts, tied=True)
