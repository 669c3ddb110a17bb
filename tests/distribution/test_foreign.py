from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from hybriddp import cli
from hybriddp.distribution import DistributionStudy
from hybriddp.distribution.foreign import mean_hint
from hybriddp.errors import ProtocolError
from hybriddp.mean import MeanStudy

STUDY = DistributionStudy("load", bounds=(0, 100), epsilon=1)
MEAN = MeanStudy("load", bounds=(0, 100), epsilon=1)


def test_reports_for_a_mean_of_the_same_values_are_recognized() -> None:
    reports = MEAN.randomize([1.0, 2.0], random_state=1)
    with pytest.raises(ProtocolError, match="made for a mean of the same name, bounds and ε: .*from_mean_study"):
        STUDY.estimate(trusted=[1.0, 2.0], local=reports)
    assert mean_hint(STUDY.part("country", "DE"), MEAN.digest)
    assert mean_hint(STUDY.part("country", "DE"), MEAN.part("country", "DE").digest)


def test_other_reports_are_not_taken_for_those_of_a_mean() -> None:
    other = MeanStudy("load", bounds=(0, 100), epsilon=2)
    assert mean_hint(STUDY, other.digest) == ""
    with pytest.raises(ProtocolError, match=r"belong to study [^.]*\.$"):
        STUDY.summarize_local(other.randomize([1.0], random_state=1))
    assert "If they were made for a mean" in mean_hint(STUDY)
    assert mean_hint(DistributionStudy.from_mean_study(MEAN)) == ""


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_the_commands_say_what_reports_are_for(tmp_path: Path, ending: str) -> None:
    """`randomize` without a scale makes reports for a mean, which `quantiles` names a remedy for."""
    values, reports = tmp_path / "values.csv", tmp_path / f"reports.{ending}"
    pl.DataFrame({"load": [10.0, 20.0, 30.0]}).write_csv(values)
    options = ["--value", "load", "--bounds", "0", "100", "--epsilon", "1"]
    run, made = CliRunner(), ["randomize", str(values), *options, "-o", str(reports)]
    assert "3 reports for a mean at ε = 1" in run.invoke(cli.app, made).output
    asked = ["quantiles", *options, "--report", "code", "--local-file", str(reports), "--trusted-file", str(values)]
    refused = run.invoke(cli.app, [*asked, "--dry-run"])
    assert isinstance(refused.exception, ProtocolError)
    for remedy in ("--mean-reports", "hybriddp randomize --scale equal"):
        assert remedy in str(refused.exception)
    assert "3 reports for quantiles at ε = 1" in run.invoke(cli.app, [*made, "--scale", "equal"]).output
    assert run.invoke(cli.app, [*asked, "--dry-run"]).exit_code == 0
