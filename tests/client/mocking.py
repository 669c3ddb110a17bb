"""A study, and a curator that says other things than the real one would."""

from collections.abc import Callable
from typing import Any

import httpx

from hybriddp import MeanStudy
from hybriddp.client import (
    MockCurator,
)

STUDY = MeanStudy("session minutes", bounds=(0, 240), epsilon=1)
PLANTED = 123.456789
Call = Callable[..., Any]


def _forged(curator: MockCurator, change: Callable[[dict[str, Any]], dict[str, Any]]) -> httpx.MockTransport:
    def answer(request: httpx.Request) -> httpx.Response:
        response = curator.answer(request)
        return httpx.Response(200, json=change(response.json())) if request.method == "POST" else response

    return httpx.MockTransport(answer)
