"""Where the two groups of a release come from: files, columns, consent, and the options that say so."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from hybriddp.cli.options import option
from hybriddp.errors import ParameterError
from hybriddp.tables import CsvFormat, simulate_local, summarize, summarize_both
from hybriddp.tables.counting import Progress
from hybriddp.tables.frames import ENGINES
from hybriddp.tables.users import REPEATED

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE...",
        help="Parquet, .csv, .tsv or .jsonl files, one row per user; * for many, or a folder of Parquet files.",
    ),
]
Report = Annotated[str | None, option("Column of codes, of local users.")]
TrustedFile = Annotated[list[str] | None, option("File of trusted users, with --value; may be repeated.")]
LocalFile = Annotated[list[str] | None, option("File of local users, with --report; may be repeated.")]
TrustedIf = Annotated[str | None, option("Column that says who trusts: consent, or consent=yes.")]
SimulateLocal = Annotated[bool, option("Simulate the reports of all others.", "--simulate-local")]
Seed = Annotated[int | None, option("Make a simulation repeatable.")]
User = Annotated[str | None, option("Column of user names, if users may have several rows.")]
Repeated = Annotated[str, option(f"What to do about several rows of a user: {', '.join(REPEATED)}.")]
Keys = Annotated[str | None, option("Public keys of the groups: DE,FR,IT.")]
SingleGroup = Annotated[bool, option("Allow an estimate from one group if the other is empty.", "--single-group")]
Engine = Annotated[str, option(f"Engine that reads Parquet files: {', '.join(ENGINES)}.")]


@dataclass(frozen=True, slots=True)
class Sources:
    """The files and columns that were named, and which users are in which file; the options of the command."""

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
    single_group: bool

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
        alone = self.single_group and not self.trusted_files and self.trusted_if is None and not self.simulated
        if self.value is None and not (alone and self.report is not None):
            remedy = "With --single-group, --report alone is enough for local users."
            raise ParameterError("value", "the column of raw values", None, remedy=remedy)
        if self.report is None and not self.simulated and not (self.single_group and not self.local_files):
            remedy = (
                "To try out a raw table: --trusted-if and --simulate-local. For trusted users alone: --single-group."
            )
            raise ParameterError("report", "the column of codes", None, remedy=remedy)
        if self.seed is not None and not self.simulated:
            raise ParameterError("seed", "given with --simulate-local only", self.seed)

    @property
    def has_trusted(self) -> bool:
        """Whether there are values, of which something is released."""
        return bool(self.trusted_files) or (self.value is not None and not self.local_files)

    def summarize(self, study: Any, group: str | None, keys: list[str], progress: Progress) -> Any:  # noqa: ANN401
        """Summarize all users for a study of any kind.

        The result is `Summaries`, or `GroupedSummaries` for each key.
        """
        shared: dict[str, Any] = {"engine": self.engine, "csv": self.csv}
        if group is not None:
            shared |= {"group": group, "keys": keys}
        if self.simulated:
            shared |= {"value": self.value, "trusted_if": self.trusted_if, "random_state": self.seed}
            return simulate_local(self.files, study, **shared)
        shared |= {"user": self.user, "repeated": self.repeated, "progress": progress}
        if self.trusted_files and self.local_files:
            shared |= {"value": self.value, "report": self.report}
            return summarize_both(self.trusted_files, self.local_files, study, **shared)
        shared |= {"value": None if self.local_files else self.value, "trusted_if": self.trusted_if}
        shared |= {"report": None if self.trusted_files else self.report}
        return summarize(self.files or self.trusted_files or self.local_files, study, **shared)


def study_title(name: str | None, value: str | None) -> str:
    """Return the name of a study, by default the column's."""
    if name is None and value is None:
        raise ParameterError("name", "given, since no --value names the study", None)
    return str(name or value)


def listed(option_name: str, text: str, words: str) -> list[str]:
    """Split the text of an option at its commas and refuse empty parts."""
    texts = [part.strip() for part in text.split(",")]
    if not all(texts):
        raise ParameterError(option_name, f"{words}, with commas between them", text)
    return texts


def public_keys(group: str | None, keys: str | None) -> list[str]:
    """Return the public keys of the groups, separated by commas in the option."""
    if (group is None) != (keys is None):
        raise ParameterError("keys", "given exactly if --group is: they are public, never read from the data", keys)
    return [] if keys is None else listed("keys", keys, "the keys of the groups")
