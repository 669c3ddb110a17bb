"""Servers that have been started."""

from typing import Any

from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.study import KMeansStudy


def started(study: KMeansStudy, **parameters: Any) -> HybridKMeansServer:  # noqa: ANN401
    server = HybridKMeansServer(study, **parameters)
    server.start()
    return server
