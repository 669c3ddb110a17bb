"""What is built has everything, and is the same wherever and whenever it is built."""

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.packaging.building import ROOT, Built, build, copy_sources, tracked

pytestmark = pytest.mark.slow

PACKAGE = "src/hybriddp/"
INFO = "hybriddp-0.1.0.dist-info/"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(copy_sources(tmp_path_factory.mktemp("source")), tmp_path_factory.mktemp("dist"))


def _contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_has_every_file_of_the_package_and_no_other(built: Built) -> None:
    contents = _contents(built.wheel)
    package = {name.removeprefix("src/"): (ROOT / name).read_bytes() for name in tracked(PACKAGE)}
    assert {name: text for name, text in contents.items() if not name.startswith(INFO)} == package
    assert {
        "hybriddp/py.typed",
        "hybriddp/channels/common.json",
        "hybriddp/data/flights_arrival_delay.npz",
        "hybriddp/service/static/take_part.js",
        "hybriddp/service/store/migrations/env.py",
    } <= set(contents)


def test_the_wheel_has_its_licenses_and_that_of_what_it_bundles(built: Built) -> None:
    contents = _contents(built.wheel)
    assert contents[f"{INFO}licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    uplot = contents[f"{INFO}licenses/{PACKAGE}service/static/uplot-license.txt"]
    assert b"The MIT License (MIT)" in uplot
    assert b"uplot-license.txt" in contents["hybriddp/service/static/plan.js"]
    facts = Parser().parsestr(contents[f"{INFO}METADATA"].decode())
    assert facts["License-Expression"] == "Apache-2.0 AND MIT"
    assert facts["Requires-Python"] == ">=3.11"


def test_the_sdist_has_every_file_and_makes_the_same_wheel(built: Built, tmp_path: Path) -> None:
    unpacked = tmp_path / "unpacked"
    subprocess.run([sys.executable, "-m", "tarfile", "--extract", str(built.sdist), str(unpacked)], check=True)
    (source,) = unpacked.iterdir()
    names = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    assert names == {*tracked(), "PKG-INFO"}
    again = build(source, tmp_path / "dist")
    assert _contents(again.wheel) == _contents(built.wheel)
    assert again.wheel.read_bytes() == built.wheel.read_bytes()


def test_two_builds_are_the_same_bytes(built: Built, tmp_path: Path) -> None:
    other = copy_sources(tmp_path / "another place", umask=0o077, mtime=1_000_000_000)
    again = build(other, tmp_path / "dist")
    assert again.wheel.read_bytes() == built.wheel.read_bytes()
    assert again.sdist.read_bytes() == built.sdist.read_bytes()
