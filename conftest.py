"""How the whole suite runs: pages as tests, how many examples a property gets, and which tests stay together."""

import gc
import os
from collections.abc import Iterator
from doctest import ELLIPSIS
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

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


NUMERICAL = {
    Path(__file__).parent / "tests" / room for room in ("amplification", "channels", "kmeans", "mean", "theory")
}
MOST_STATISTICAL = 1000  # tests, at a false alarm of at most 1e-9 each: CONTRIBUTING.md


def needs_spark(name: str) -> bool:
    """Whether a test with this name and these parameters starts Spark."""
    return "spark" in name


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Thousands of tests stay until the end: the garbage collector need not go through them again and again."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


def pytest_unconfigure() -> None:
    """At the end it may: libraries in C++ complain of what is left."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Where coverage pauses in a test, it pauses in what the test needs too."""
    measured = getattr(item.config.pluginmanager.getplugin("_cov"), "cov_controller", None)
    if measured is None or item.get_closest_marker("no_cover") is None:
        return (yield)
    measured.pause()
    try:
        return (yield)
    finally:
        measured.resume()


class WholeFiles(LoadScopeScheduling):
    """Give each worker whole files, and all Spark tests to one.

    A page's examples build on each other, a module's fixtures are made once, and Spark starts once.
    """

    def _split_scope(self, nodeid: str) -> str:
        path, _, name = nodeid.partition("::")
        return "spark" if needs_spark(name) else path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> WholeFiles:
    """Spread tests over workers (`-n`) by files."""
    config.option.loadscopereorder = False  # the order below is better
    return WholeFiles(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let workers run first what takes longest: Spark, then files with statistical tests, then those with slow ones.

    Coverage counts what unit tests reach. It pauses where it would double the time and find nothing new: in statistical
    tests, in pages, and in numerical rooms in properties and slow tests.
    """
    statistical: set[Path] = set()
    slow: set[Path] = set()
    n_statistical = sum(item.get_closest_marker("statistical") is not None for item in items)
    if n_statistical > MOST_STATISTICAL:
        raise pytest.UsageError(
            f"{n_statistical} statistical tests raise more false alarms than CONTRIBUTING.md allows."
        )
    for item in items:
        if needs_spark(item.name):
            item.add_marker("spark")
        if item.get_closest_marker("statistical"):
            statistical.add(item.path)
        if item.get_closest_marker("slow"):
            slow.add(item.path)
        repeats = item.get_closest_marker("slow") or is_hypothesis_test(getattr(item, "function", None))
        if (
            item.path.suffix == ".md"
            or item.get_closest_marker("statistical")
            or (repeats and not NUMERICAL.isdisjoint(item.path.parents))
        ):
            item.add_marker("no_cover")
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: (not needs_spark(item.name), item.path not in statistical, item.path not in slow))
