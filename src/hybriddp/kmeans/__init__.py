"""K-means with both groups: ours, as an estimator and as a protocol, and the paper's, to compare with.

**For points in memory**: `HybridKMeans`, in the manner of scikit-learn.

**For a real study**: `KMeansStudy` says what is asked, `HybridKMeansServer` hands out a `Round` at a time, devices
answer it with `RoundReports`, and a `RoundTally` of them goes back.

The paper's three algorithms are in `hybriddp.paper.kmeans`.
"""

from hybriddp.kmeans.estimator import HybridKMeans
from hybriddp.kmeans.protocol.round import Round, RoundReports, RoundTally
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.result import KMeansResult, Spending
from hybriddp.kmeans.study import KMeansStudy

__all__ = [
    "HybridKMeans",
    "HybridKMeansServer",
    "KMeansResult",
    "KMeansStudy",
    "Round",
    "RoundReports",
    "RoundTally",
    "Spending",
]
