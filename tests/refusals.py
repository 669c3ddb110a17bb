"""Many cases that must be refused in one test, whose failure names those that are not."""

import re
from collections.abc import Callable, Iterable
from typing import Any


def not_refused(
    cases: Iterable[tuple[str, Any]], take: Callable[[Any], object], error: type[Exception], words: str
) -> list[str]:
    """List the cases without an error of this class in which these words are found, with what happened instead."""
    wrong = []
    for name, case in cases:
        try:
            take(case)
        except Exception as reason:
            if not isinstance(reason, error) or not re.search(words, str(reason)):
                wrong.append(f"{name}: {type(reason).__name__}: {reason}")
        else:
            wrong.append(f"{name}: taken")
    return wrong
