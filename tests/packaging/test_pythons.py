"""README, as it says and installed as it says, on every supported Python of this machine."""

import re
import sys
from pathlib import Path

import pytest

from tests.packaging.building import ROOT, VERSIONS, build, copy_sources, interpreters, make_environment

pytestmark = pytest.mark.slow

README = (ROOT / "README.md").read_text(encoding="utf-8")
EXTRAS = re.compile(r'^pip install -e "\.\[(.*?)\]"$', re.MULTILINE)
PYTHON = re.compile(r"^(?:```python|<!--- invisible-code-block: python)\n(.*?)^(?:```|--->)$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^## On the command line\n.*?^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EVERYTHING = """
import importlib, pkgutil, sys
import hybriddp
assert hybriddp.__file__.startswith(sys.prefix), hybriddp.__file__
names = [one.name for one in pkgutil.walk_packages(hybriddp.__path__, "hybriddp.")]
for name in names:
    if ".migrations" not in name and not name.endswith(("__main__", "spark")):
        importlib.import_module(name)
assert len(names) > 200, len(names)
shape.plot()
print(len(names), "modules")
"""


def test_every_block_of_the_readme_runs_on_every_python(tmp_path: Path) -> None:
    wheel = build(copy_sources(tmp_path / "source"), tmp_path / "dist").wheel
    (extras,) = EXTRAS.findall(README)
    (commands,) = SHELL.findall(README)
    blocks = PYTHON.findall(README)
    assert len(blocks) >= 12
    script = tmp_path / "readme.py"
    script.write_text("\n".join([*blocks, EVERYTHING]), encoding="utf-8")
    ran = []
    for version, python in interpreters().items():
        installed = make_environment(tmp_path / version, f"{wheel}[{extras}]", python)
        (folder := tmp_path / f"work {version}").mkdir()
        assert installed.run(["python", "--version"], folder).startswith(f"Python {version}.")
        assert "modules" in installed.run(["python", str(script)], folder)
        shell = installed.run(["python", "-c", _SHELL, commands], folder)
        assert "Left to every one of the trusted users: ε = 1" in shell, version
        ran.append(version)
    assert "{}.{}".format(*sys.version_info) in ran
    assert set(ran) <= set(VERSIONS)


_SHELL = "import subprocess, sys; subprocess.run(['sh', '-ec', sys.argv[1]], check=True)"


def test_classifiers_name_the_versions_that_are_tried() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)
    assert named
    assert set(named) <= set(VERSIONS)
