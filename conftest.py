"""How the whole suite runs: pages as tests, how many examples a property gets, and which tests stay together."""

import gc
import os
import shutil
from collections.abc import Iterator
from doctest import ELLIPSIS
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.machine import CHROMIUM, JAVA_HOME

# Alembic runs these on a connection; they have no examples, and cannot be imported without one.
collect_ignore = ["src/hybriddp/service/store/migrations"]

# Every Python example in the Markdown pages is a test.
pytest_collect_file = Sybil(parsers=[PythonCodeBlockParser(doctest_optionflags=ELLIPSIS)], patterns=["*.md"]).pytest()

# Derandomized: a run tests the commit, not the day.
for profile, max_examples in {"quick": 10, "usual": 30, "long": 300}.items():
    settings.register_profile(
        profile,
        deadline=None,
        derandomize=True,
        max_examples=max_examples,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))


MOST_STATISTICAL = 1000  # tests, at a false alarm of at most 1e-9 each: CONTRIBUTING.md
STARTED = {"spark": "Java", "browser": "Chromium"}
"""Fixtures that start something large, and what they need; tests that use one get a marker of the same name."""
LEFT_OUT = pytest.StashKey[dict[str, int]]()
"""How many tests of each fixture were left out."""


def starts(item: pytest.Item, fixture: str) -> bool:
    """Whether a test uses this fixture, directly or through others."""
    return fixture in getattr(item, "fixturenames", ())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Thousands of tests stay until the end: the garbage collector need not go through them again and again."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to test another checkout: an environment that was copied or moved with its folder still installs that."""
    found = find_spec("hybriddp")  # which imports nothing yet: coverage begins later
    if found is None or not Path(found.origin or "").resolve().is_relative_to(config.rootpath.resolve()):
        raise pytest.UsageError(f"This environment has hybriddp of {found and found.origin}. Run: make clean")


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Say what was left out; and let the garbage collector see all: libraries in C++ complain of what is left."""
    gc.unfreeze()
    for fixture, number in config.stash.get(LEFT_OUT, {}).items():
        if number and not hasattr(config, "workerinput"):
            print(f"{number} {fixture} tests were left out: no {STARTED[fixture]} (see CONTRIBUTING.md)")  # noqa: T201


class WholeFiles(LoadScopeScheduling):
    """Give each worker whole files.

    A page's examples build on each other, a module's fixtures are made once, and Spark starts once: its tests are one
    file.
    """

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> WholeFiles:
    """Spread tests over workers (`-n`) by files."""
    config.option.loadscopereorder = False  # the order below is better
    return WholeFiles(config, log)


def is_missing(fixture: str) -> bool:
    """Whether this machine lacks what a fixture starts, and `scripts/set_up.py` could not get it."""
    if fixture == "browser":
        return not CHROMIUM.exists()
    return not (JAVA_HOME.exists() or os.environ.get("JAVA_HOME") or shutil.which("java"))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController) -> None:
    """Remember what a worker left out: all leave out the same."""
    if left_out := getattr(node, "workeroutput", {}).get("left_out"):  # nothing from one that crashed
        node.config.stash[LEFT_OUT] = left_out


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """With workers, which cannot refuse in words of ours, leaving out is an error at the end."""
    workers = hasattr(session.config, "workerinput")
    if not workers and os.environ.get("CI") and any(session.config.stash.get(LEFT_OUT, {}).values()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Mark what starts Spark or a browser, and let workers run first what takes longest.

    That is Spark, then files with statistical tests, then those with slow ones. What was selected and cannot be started
    is left out and counted; where CI is set that is an error.
    """
    statistical = {item.path for item in items if item.get_closest_marker("statistical")}
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    n_statistical = sum(item.get_closest_marker("statistical") is not None for item in items)
    if n_statistical > MOST_STATISTICAL:
        raise pytest.UsageError(
            f"{n_statistical} statistical tests raise more false alarms than CONTRIBUTING.md allows."
        )
    for item in items:
        for fixture in STARTED:
            if starts(item, fixture):
                item.add_marker(fixture)
    if len({item.path for item in items if starts(item, "spark")}) > 1:
        raise pytest.UsageError("Spark's tests must be in one file: workers get whole files, and each would start it.")
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: (not starts(item, "spark"), item.path not in statistical, item.path not in slow))
    yield
    missing = [fixture for fixture in STARTED if is_missing(fixture)]
    left_out = {fixture: sum(starts(item, fixture) for item in items) for fixture in missing}
    if any(left_out.values()) and os.environ.get("CI") and not hasattr(config, "workerinput"):
        raise pytest.UsageError(f"CI leaves out no tests, and these cannot run here: {left_out}")
    items[:] = [item for item in items if not any(starts(item, fixture) for fixture in missing)]
    config.stash[LEFT_OUT] = left_out
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = left_out
