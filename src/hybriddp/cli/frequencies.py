"""``hybriddp frequencies``: how frequent public categories are, from the two groups of a file, or of several."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from hybriddp.cli import options, releasing, sources
from hybriddp.cli.keeping import Account
from hybriddp.cli.options import option
from hybriddp.cli.releasing import Targets, View
from hybriddp.cli.sources import Sources, listed, public_keys, study_title
from hybriddp.cli.terminal import print_wide, say
from hybriddp.errors import DataError, ParameterError
from hybriddp.shares import Frequencies, FrequencyStudy, counts_diagnostics
from hybriddp.shares.explain import TOLD
from hybriddp.tables import CsvFormat

Categories = Annotated[
    str | None, option("Public categories, chosen without looking at the data: yes,no. All integers, or texts.")
]
CategoriesFile = Annotated[Path | None, option("File with one category per line, instead of --categories.")]
Other = Annotated[
    bool | None,
    option(
        "Count all other items as one more category; if not given, of three or more. Without it the number of users "
        "left out is public.",
        "--other/--no-other",
    ),
]
MaxBytes = Annotated[int | None, option("Length of a report at most, in bytes.")]


def frequencies(
    epsilon: options.Epsilon,
    files: sources.Files = None,
    categories: Categories = None,
    categories_file: CategoriesFile = None,
    other: Other = None,
    value: Annotated[str | None, option("Column of raw items, of trusted users.")] = None,
    report: sources.Report = None,
    trusted_file: sources.TrustedFile = None,
    local_file: sources.LocalFile = None,
    trusted_if: sources.TrustedIf = None,
    simulate_local: sources.SimulateLocal = False,
    seed: sources.Seed = None,
    user: sources.User = None,
    repeated: sources.Repeated = "refuse",
    ledger: releasing.LedgerFile = None,
    count: releasing.Count = "everybody",
    again: releasing.Again = False,
    name: Annotated[str | None, option("Name of the study; the column's if not given.")] = None,
    max_bytes: MaxBytes = None,
    group: Annotated[str | None, option("Column for one answer per group, with --keys.")] = None,
    keys: sources.Keys = None,
    single_group: sources.SingleGroup = False,
    engine: sources.Engine = "polars",
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    encoding: options.Encoding = None,
    missing: Annotated[list[str] | None, option("Word for a missing item, such as NA; may be repeated.")] = None,
    plot: options.Plot = None,
    as_json: options.AsJson = False,
    full: releasing.FullShares = False,
    diagnostics: releasing.Diagnostics = False,
    dry_run: releasing.DryRun = False,
    write_study: releasing.WriteStudy = None,
) -> None:
    """Estimate how frequent categories are from trusted users' items and local users' reports, once.

    Every release is written into the ledger before it is made. A second one about the same users is refused (exit
    code 3).
    """
    study = FrequencyStudy(
        study_title(name, value),
        categories=public_categories(categories, categories_file),
        epsilon=epsilon,
        other=other,
        max_bytes=max_bytes,
    )
    if write_study is not None:
        named = bool(files or trusted_file or local_file)
        releasing.write_study(study.to_json(), write_study, ledger=ledger, named=named)
        return
    found = Sources(
        files or [],
        trusted_file or [],
        local_file or [],
        value,
        report,
        trusted_if,
        simulate_local,
        seed,
        user,
        repeated,
        engine,
        CsvFormat(separator, decimal, thousands, encoding, missing or ()),
        single_group,
    )
    targets = Targets(plot, None, as_json, full, diagnostics, dry_run)
    view = View(_show, Frequencies.plot_parts, counts_diagnostics)
    account = Account(ledger, count, again)
    releasing.release(study, found, view, targets, account=account, group=group, keys=public_keys(group, keys))


def public_categories(text: str | None, path: Path | None) -> list[str] | list[int]:
    """Read the categories from an option or from a file.

    They are integers if all of them are written as integers, and texts if not.
    """
    if (text is None) == (path is None):
        raise ParameterError("categories", "given, or --categories-file in its place, and not both", text)
    if text is not None:
        items = listed("categories", text, "the categories")
    else:
        try:
            lines = Path(str(path)).read_text("utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError):
            raise DataError(
                f"{path} cannot be read. It must be a text file in UTF-8 with a category per line."
            ) from None
        items = [line.strip() for line in lines if line.strip()]
    return [int(item) for item in items] if all(map(_is_integer, items)) else items


def _is_integer(text: str) -> bool:
    """Whether it is written as integers are: 01234 is a text."""
    return text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() and str(int(text)) == text


def _show(found: Sequence[Frequencies]) -> None:
    if len(found) == 1:
        if len(found[0]) > TOLD:
            print_wide(found[0].__rich__())
        say(found[0].explain())
        return
    for part in found:
        print_wide(part.__rich__())
    users = found[0].study.users
    say(f"Who has which {users.by if users else 'key'} is public; nobody is in two parts.")
