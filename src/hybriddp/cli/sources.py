"""Which users are in which file: what ``hybriddp mean`` reads."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hybriddp.errors import ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.tables import CsvFormat, GroupedSummaries, Summaries, simulate_local, summarize, summarize_both

Progress = Callable[[float | None], None]


@dataclass(frozen=True, slots=True)
class Sources:
    """The files and columns that were named.

    Attributes
    ----------
    files : list of str
        Files with users of both groups.
    trusted_files, local_files : list of str
        Files with users of one group.
    value, report : str or None
        The columns of values and of codes.
    trusted_if : str or None
        The column that says who trusts.
    simulated : bool
        Whether the reports of those who do not trust are simulated.
    single_group : bool
        Whether one of the groups is enough.
    """

    files: list[str]
    trusted_files: list[str]
    local_files: list[str]
    value: str | None
    report: str | None
    trusted_if: str | None
    simulated: bool
    seed: int | None
    user: str | None
    repeated: str
    engine: str
    csv: CsvFormat
    single_group: bool = False

    def __post_init__(self) -> None:
        apart = bool(self.trusted_files or self.local_files)
        if apart == bool(self.files):
            raise ParameterError("files", "named, or --trusted-file and --local-file are, but not both", self.files)
        if apart and not self.single_group and not (self.trusted_files and self.local_files):
            given, other = ("trusted_file", "local") if self.trusted_files else ("local_file", "trusted")
            remedy = "With --single-group one of them is enough."
            raise ParameterError(
                given, f"given together with --{other}-file", self.trusted_files or self.local_files, remedy=remedy
            )
        if apart and (self.trusted_if is not None or self.simulated):
            raise ParameterError("trusted_if", "left out: the files say who trusts", self.trusted_if)
        if self.simulated and (self.trusted_if is None or self.report is not None or self.user is not None):
            raise ParameterError("simulate_local", "given with --trusted-if, without --report and --user", None)
        self._check_columns()
        if self.seed is not None and not self.simulated:
            raise ParameterError("seed", "given with --simulate-local only", self.seed)

    def _check_columns(self) -> None:
        """Raise `ParameterError` if a column is missing that the files need."""
        alone = self.single_group and not self.trusted_files and self.trusted_if is None and not self.simulated
        if self.value is None and not (alone and self.report is not None):
            remedy = "With --single-group, --report alone is enough for local users."
            raise ParameterError("value", "the column of raw values", None, remedy=remedy)
        alone = self.single_group and not self.local_files
        if self.report is None and not self.simulated and not alone:
            remedy = (
                "To try out a raw table: --trusted-if and --simulate-local. For trusted users alone: --single-group."
            )
            raise ParameterError("report", "the column of codes", None, remedy=remedy)

    @property
    def has_trusted(self) -> bool:
        """Whether there are values, of which something is released."""
        return bool(self.trusted_files) or (self.value is not None and not self.local_files)

    def summarize(
        self, study: MeanStudy, group: str | None, keys: list[str], progress: Progress
    ) -> Summaries | GroupedSummaries:
        """The summaries of all users, or of each key."""
        shared: dict[str, Any] = {"engine": self.engine, "csv": self.csv}
        if group is not None:
            shared |= {"group": group, "keys": keys}
        if self.simulated:
            trusts, seed = str(self.trusted_if), self.seed
            return simulate_local(
                self.files, study, value=str(self.value), trusted_if=trusts, random_state=seed, **shared
            )
        shared |= {"user": self.user, "repeated": self.repeated, "progress": progress}
        if self.trusted_files and self.local_files:
            shared |= {"value": self.value, "report": self.report}
            return summarize_both(self.trusted_files, self.local_files, study, **shared)
        value = None if self.local_files else self.value
        report = None if self.trusted_files else self.report
        files = self.files or self.trusted_files or self.local_files
        found: Summaries | GroupedSummaries = summarize(
            files, study, value=value, report=report, trusted_if=self.trusted_if, **shared
        )
        return found
