"""Wheels and sdists of this checkout, and clean environments that they are installed into."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from runpy import run_path

ROOT = Path(__file__).parents[2]
_EPOCH = "1700000000"  # any time: a build does not depend on the clock
_ASK = "import sys; print(*sys.version_info[:2], sep='.')"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def tracked(under: str = ".") -> list[str]:
    """List the repository's files, new ones too."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", under]
    names = _run(command, ROOT).split("\0")
    return sorted(name for name in names if name and (ROOT / name).is_file())


def copy_sources(to: Path, *, umask: int = 0o022, mtime: int = 0) -> Path:
    """Copy the repository's files, as a checkout of somebody else has them."""
    for name in tracked():
        place = to / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, place)
        place.chmod(0o666 & ~umask)
        os.utime(place, (mtime, mtime))
    return to


@dataclass(frozen=True)
class Built:
    """Wheel and sdist of a build."""

    wheel: Path
    sdist: Path


def build(source: Path, to: Path) -> Built:
    """Build with the backend of pyproject.toml, which is installed: without a network."""
    environment = os.environ | {"SOURCE_DATE_EPOCH": _EPOCH}
    _run([sys.executable, "-m", "hatchling", "build", "--directory", str(to)], source, environment)
    (wheel,), (sdist,) = to.glob("*.whl"), to.glob("*.tar.gz")
    return Built(wheel, sdist)


@dataclass(frozen=True)
class Environment:
    """A virtual environment that has what was installed into it, and nothing of the checkout."""

    folder: Path

    def program(self, name: str) -> str:
        """Return the path of a program in it."""
        return str(self.folder / "bin" / name)

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables of a shell in which it is active."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        path = f"{self.folder / 'bin'}{os.pathsep}{kept.get('PATH', '')}"
        return kept | {"PATH": path, "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"}

    def run(self, command: Sequence[str], folder: Path) -> str:
        """Run a command in a folder, and return its output."""
        return _run([self.program(command[0]), *command[1:]], folder, self.variables)


def make_environment(folder: Path, requirement: str, python: str = sys.executable) -> Environment:
    """Install a requirement into a new environment, at the versions of constraints.txt.

    uv takes what it has in its cache, and asks an index for the rest; where there is no uv, pip does it.
    """
    found = Environment(folder)
    uv = run_path(str(ROOT / "scripts" / "set_up.py"))["find_uv"]()
    constraints = ["--constraint", str(ROOT / "constraints.txt")]
    if uv is None:
        _run([python, "-m", "venv", str(folder)], ROOT)
        _run([found.program("python"), "-m", "pip", "install", "--quiet", *constraints, requirement], ROOT)
        return found
    _run([uv, "venv", "--quiet", "--python", python, str(folder)], ROOT)
    install = [uv, "pip", "install", "--quiet", "--python", found.program("python"), *constraints, requirement]
    try:
        _run([*install, "--offline"], ROOT)
    except AssertionError:
        _run(install, ROOT)
    return found


def interpreters() -> dict[str, str]:
    """Return one interpreter of each supported version on this machine, this one's own among them."""
    homes = [Path.home() / ".pyenv/versions", Path.home() / ".local/share/uv/python"]
    found = {"{}.{}".format(*sys.version_info): sys.executable}
    for version in VERSIONS:
        installed = [str(path) for home in homes for path in sorted(home.glob(f"*{version}.*/bin/python{version}"))]
        for path in (shutil.which(f"python{version}"), *installed):
            if version not in found and path is not None and _version(path) == version:
                found[version] = path
    return found


def _version(python: str) -> str:
    """Ask an interpreter for its version; empty if it does not start, as pyenv's stand-ins do not."""
    return subprocess.run([python, "-c", _ASK], capture_output=True, text=True, check=False).stdout.strip()


def _run(command: Sequence[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout
