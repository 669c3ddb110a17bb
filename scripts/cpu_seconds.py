"""Processor time of tests, which other programs on the machine hardly change.

python -m pytest -p scripts.cpu_seconds tests/mean
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest

SHOWN = 25
_seconds: defaultdict[str, float] = defaultdict(float)
_times: Counter[str] = Counter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measure a test with its fixtures."""
    start = time.process_time()
    result = yield
    for name in {item.nodeid.partition("[")[0], item.nodeid.partition("::")[0]}:
        _seconds[name] += time.process_time() - start
        _times[name] += 1
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the slowest files, and the slowest tests over all their parameters."""
    for what, wanted in (("files", False), ("tests", True)):
        terminalreporter.section(f"processor seconds of {what}")
        found = {name: seconds for name, seconds in _seconds.items() if ("::" in name) is wanted}
        terminalreporter.write_line(f"{sum(found.values()):8.1f} in all")
        for name, seconds in sorted(found.items(), key=lambda pair: -pair[1])[:SHOWN]:
            terminalreporter.write_line(f"{seconds:8.2f} {_times[name]:5} × {name}")
