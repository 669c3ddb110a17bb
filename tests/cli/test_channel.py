import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hybriddp.channels import WindowChannel, channel_from_json
from hybriddp.cli import app
from hybriddp.errors import DataError, ParameterError

RUN = CliRunner()


def test_it_prints_variances_and_the_proof() -> None:
    result = RUN.invoke(app, ["channel", "--epsilon", "0.5"])
    assert result.exit_code == 0
    words = " ".join(result.output.split())
    for part in (
        "Laplace noise",
        "one bit",
        "piecewise mechanism",
        "no unbiased report can be below",
        "2^32 draws",
        "is larger",
    ):
        assert part in words
    assert WindowChannel(epsilon=0.5).digest in words


def test_an_epsilon_without_a_stored_bound_shows_none() -> None:
    assert "no unbiased report" not in RUN.invoke(app, ["channel", "--epsilon", "0.7"]).output


def test_it_lists_the_codes() -> None:
    result = RUN.invoke(app, ["channel", "--epsilon", "8", "--codes"])
    channel = WindowChannel(epsilon=8)
    assert f"{channel.values[255]:.6f}" in result.output
    assert f"{channel.values[0]:.6f}" in result.output


def test_it_prints_json_and_nothing_else() -> None:
    answer = json.loads(RUN.invoke(app, ["channel", "--epsilon", "8", "--json"]).stdout)
    channel = channel_from_json(json.dumps(answer["channel"], separators=(",", ":")), epsilon=8)
    assert answer["digest"] == channel.digest
    assert len(answer["values"]) == 256
    assert answer["mechanisms"]["this channel"] == answer["worst_variance"]


def test_it_writes_the_text_and_a_picture(tmp_path: Path) -> None:
    text, picture = tmp_path / "a" / "channel.json", tmp_path / "channel.png"
    result = RUN.invoke(app, ["channel", "--epsilon", "6", "-o", str(text), "--plot", str(picture)])
    assert result.exit_code == 0
    assert channel_from_json(text.read_text(encoding="utf-8")) == WindowChannel(epsilon=6)
    assert picture.stat().st_size > 10_000


def test_errors_are_those_of_the_package(tmp_path: Path) -> None:
    assert isinstance(RUN.invoke(app, ["channel", "--epsilon", "0"]).exception, ParameterError)
    assert isinstance(RUN.invoke(app, ["channel", "--epsilon", "6", "-o", str(tmp_path)]).exception, DataError)
    assert RUN.invoke(app, ["channel"]).exit_code == 2


@pytest.mark.parametrize("epsilon", ["21", "x", "-1", "nan"])
def test_bad_epsilons_are_named(epsilon: str) -> None:
    result = RUN.invoke(app, ["channel", "--epsilon", epsilon])
    assert str(result.exception).startswith("epsilon must be a number from 0.01 to 20")
