"""Commands that release something draw noise that nobody can draw again, unless they simulate."""

from itertools import count
from pathlib import Path

import polars as pl
import pytest

from tests.cli.ledgers import invoke
from tests.release.drawing import drawn_by, require_differing

COMMANDS = {
    "mean": "mean users.csv --value minutes --bounds 0 240",
    "mean, parts": "mean users.csv --value minutes --bounds 0 240 --group item --keys a,b,c",
    "frequencies": "frequencies users.csv --value item --categories a,b,c",
    "quantiles": "quantiles users.csv --value minutes --bounds 0 240",
    "heavy-hitters": "heavy-hitters users.csv --value item --delta 0.000001",
    "heavy-hitters, dictionary": "heavy-hitters users.csv --value item --domain-file names.txt",
    "kmeans": "kmeans users.csv --column minutes:0:240 --clusters 2",
}


@pytest.mark.repeated
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_releases_unseeded_noise(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"minutes": [float(i % 60) for i in range(600)], "item": list("abc") * 200}).write_csv("users.csv")
    Path("names.txt").write_text("a\nb\n")
    ledgers = count()

    def release() -> None:
        words = [*COMMANDS[name].split(), "--single-group", "--epsilon", "0.05", "--ledger", f"{next(ledgers)}.ledger"]
        done = invoke(words)
        assert done.exit_code == 0, done.exception

    require_differing(lambda: drawn_by(release, monkeypatch))
