"""Files, the registry and the command."""

import csv
import json
import re
import sys
from dataclasses import asdict, fields
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from hybriddp import cli
from hybriddp.errors import DataError, ParameterError
from hybriddp.figures.canvas import canvas
from hybriddp.paper.figures import FIGURES, make, select
from hybriddp.paper.figures.rows import BEST_LABEL, THEORY, WORST_LABEL, DensityRow, GainRow, write_csv
from hybriddp.paper.figures.salaries import CROSSOVER

RUN = CliRunner()
ROOT = Path(__file__).parents[3]


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything but the dots, made by the command."""
    target = tmp_path_factory.mktemp("figures") / "new"
    result = RUN.invoke(cli.app, ["figures", "--all", "--no-simulation", "--output", str(target)])
    assert result.exit_code == 0
    words = " ".join(result.output.split())  # wrapped at the width of the terminal
    for figure in FIGURES:
        assert f"Figure {figure.number}. {figure.title}" in words
        assert " ".join(figure.differs.split()) in words
    return target


def test_the_registry_has_the_paper_order_and_no_hole() -> None:
    assert [figure.number for figure in FIGURES] == list(range(1, 9))
    assert [figure.number for figure in select([8, 1, 8])] == [1, 8]
    with pytest.raises(ParameterError, match=r"must be from 1 to 8, got number=9"):
        select([1, 9])


BETAS = ("Beta(10, 10)", "Beta(1, 1)", "Beta(0.1, 0.1)")
USERS, FRACTION = "number of users n", "c, fraction of users who trust the curator"
COLLUDING = "fraction of local users who collude, %"
CURVES = (USERS, BEST_LABEL, "c = 0.5 %, ε = 0.1", "c = 0.5 %, ε = 1", "c = 5 %, ε = 0.1", "c = 5 %, ε = 1")
SHIFTS = ("shift t = 0", "R at t = 0", "shift t = 0.25", "R at t = 0.25", "shift t = 0.5", "R at t = 0.5")
TEXTS: tuple[tuple[str, ...], ...] = (
    ("(a) what users' values look like", *(f"({p}) R on {b}" for p, b in zip("bcd", BETAS, strict=True)), *CURVES),
    ("(b) R for the UC salaries, from the paper's three numbers", FRACTION, "ε", BEST_LABEL),
    (*(f"({p}) {'Rr'[p > 'c']} on {b}" for p, b in zip("abcdef", 2 * BETAS, strict=True)), *CURVES, WORST_LABEL),
    (f"(a) trusted {BETAS[0]}, local {BETAS[2]}", f"(b) trusted {BETAS[2]}, local {BETAS[0]}", *CURVES),
    (*(f"({p}) {words}" for p, words in zip("abcdef", SHIFTS, strict=True)), "both", "trusted", "local", *CURVES),
    ("(a) the data set",),
    ("As printed, for everybody", "Trusted users (unamplified: 0.808)", "Local users", COLLUDING, FRACTION),
    ("(a) R, from the paper's three numbers", "(b) r, from the paper's three numbers", FRACTION, WORST_LABEL),
)


@pytest.mark.slow
def test_every_figure_is_written_in_both_formats(folder: Path) -> None:
    """The SVG has all titles, labels and entries of legends; the PNG is the same picture in 256 colors."""
    for figure, expected in zip(FIGURES, TEXTS, strict=True):
        png, svg = (folder / f"figure{figure.number}.{ending}" for ending in ("png", "svg"))
        texts = re.findall("<!-- (.+?) -->", svg.read_text(encoding="utf-8"))
        assert [text for text in expected if text not in texts] == []
        assert [text for text in texts if text.startswith("(") and text not in expected] == []
        written = np.asarray(Image.open(png).convert("RGB"), float)
        assert np.abs(written - 255).mean() > 4  # not blank
        if figure.number in (1, 2):  # a plot and a map
            full = BytesIO()
            with canvas(*figure.size) as drawn:
                figure.draw(drawn, figure.theory(), figure.densities())
                drawn.savefig(full, format="png")
            assert np.abs(written - np.asarray(Image.open(full).convert("RGB"), float)).mean() < 1  # of 255


@pytest.mark.slow
def test_curves_and_maps_are_those_of_the_rows() -> None:
    """A panel's letter names its rows: four curves and the line at 1, or a map with the line of the crossover."""
    seen = []
    for figure in FIGURES:
        rows = [row for row in figure.theory() if isinstance(row, GainRow)]
        with canvas(*figure.size) as drawn:
            figure.draw(drawn, figure.theory(), figure.densities())
        for axes in drawn.axes if rows else ():
            title = axes.get_title(loc="left")
            of = [row for row in rows if title and title[1] in row.panel]
            gains = [row.gain_over_worst if title[4] == "r" else row.gain_over_best for row in of]
            if of and axes.get_xlabel() == USERS:
                points = np.concatenate([line.get_xydata() for line in axes.lines[:4]])
                np.testing.assert_array_equal(points, [(row.n_users, y) for row, y in zip(of, gains, strict=True)])
                np.testing.assert_array_equal(axes.lines[4].get_ydata(), 1.0)
                looks = [(line.get_color(), line.get_linestyle()) for line in axes.lines[:4]]
                assert looks == [(line.get_color(), line.get_linestyle()) for line in drawn.legends[0].get_lines()]
                seen.append((figure.number, title[1]))
            elif of:
                grid = [y for row, y in zip(of, gains, strict=True) if row.source == THEORY]
                alike = [(100 * row.trusted_fraction, row.epsilon) for row in of if row.source == CROSSOVER]
                drawn_map: Any = axes.collections[0]
                assert (drawn_map.zmin, drawn_map.zmax) == (min(grid), max(grid))
                np.testing.assert_array_equal(axes.lines[0].get_xydata(), alike)
                seen.append((figure.number, title[1]))
    panels = {1: "bcd", 2: "b", 3: "abcdef", 4: "ab", 5: "bdf", 8: "ab"}
    assert sorted(seen) == [(number, letter) for number, letters in panels.items() for letter in letters]


@pytest.mark.slow
def test_the_tables_have_one_header_and_every_digit(folder: Path) -> None:
    for figure in FIGURES:
        rows, written = figure.theory(), _table(folder / f"figure{figure.number}.csv")
        assert list(written[0]) == [field.name for field in fields(rows[0])]
        for row, line in zip(rows, written, strict=True):
            for name, stored in asdict(row).items():
                assert line[name] == ("" if stored is None else str(stored))
                assert not isinstance(stored, float) or float(line[name]) == stored
        densities, beside = figure.densities(), folder / f"figure{figure.number}_densities.csv"
        assert beside.exists() == bool(densities)
        if densities:
            assert list(_table(beside)[0]) == [field.name for field in fields(DensityRow)]
            assert len(_table(beside)) == len(densities)


@pytest.mark.slow
def test_with_dots_the_table_has_them_too(tmp_path: Path) -> None:
    done: list[int] = []
    (made,) = make(select([4]), output=tmp_path, trials=4, processes=1, progress=done.append)
    dots = [row for row in _table(tmp_path / "figure4.csv") if row["source"] == "simulation"]
    assert len(dots) == 2 * 4 * 5
    assert {row["trials"] for row in dots} == {"4"}
    assert all(float(row["gain_over_best_se"]) > 0 for row in dots)
    assert done[-1] == 4 * len(dots)
    assert [path.name for path in made.files] == ["figure4.png", "figure4.svg", "figure4.csv"]


@pytest.mark.slow
def test_the_command_prints_json_and_without_numbers_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = json.loads(RUN.invoke(cli.app, ["figures", "2", "7", "--output", str(tmp_path / "made"), "--json"]).stdout)
    assert made["private_release"] is False
    assert [figure["number"] for figure in made["figures"]] == [2, 7]
    assert all(Path(name).exists() for name in made["figures"][0]["files"])
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    result = RUN.invoke(cli.app, ["figures"])
    assert result.exit_code == 0
    assert all(figure.title in result.output for figure in FIGURES)
    assert len(json.loads(RUN.invoke(cli.app, ["figures", "--json"]).stdout)["figures"]) == 8
    assert list((tmp_path / "empty").iterdir()) == []


def test_wrong_usage_ends_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("in the way", encoding="utf-8")
    for arguments, code, message in [
        (["9"], 2, "the number of a figure must be from 1 to 8, got number=9."),
        (["1", "0"], 2, "from 1 to 8, got number=0."),
        (["one"], 2, "Invalid value"),
        (["1", "--all"], 2, "left out with --all"),
        (["1", "--trials", "1"], 2, "trials must be an integer of at least 2"),
        (["2", "--output", f"{file}/below"], 4, "The figures cannot be written to"),
    ]:
        monkeypatch.setattr(sys, "argv", ["hybriddp", "figures", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == code
        assert message in " ".join(capsys.readouterr().err.split())
    with pytest.raises(DataError, match="The numbers cannot be written to"):
        write_csv(FIGURES[0].densities(), tmp_path / "nowhere" / "figure1.csv")


def test_the_page_shows_every_picture() -> None:
    page = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    for figure in FIGURES:
        assert f"## Figure {figure.number}." in page
        picture = ROOT / "docs" / "figures" / f"figure{figure.number}.png"
        assert f"(figures/{picture.name})" in page
        assert picture.stat().st_size < 150_000
