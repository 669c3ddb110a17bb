"""What must be refused: one call, or many cases in one test, whose failure names those that are not."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest


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


def refused(error: type[Exception], words: str, act: Callable[..., object], *given: Any, **options: Any) -> str:
    """Call something that raises an error with these words, and return all of its words."""
    with pytest.raises(error, match=words) as caught:
        act(*given, **options)
    return str(caught.value)
