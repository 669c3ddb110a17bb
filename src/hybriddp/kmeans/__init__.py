"""K-means with both groups: ours, as an estimator and as a protocol, and the paper's, to compare with.

**For points in memory**: `HybridKMeans`, in the manner of scikit-learn.

**For a real study**: `KMeansStudy` says what is asked, `HybridKMeansServer` hands out a `Round` at a time, devices
answer it, and `Counted` answers go back.

The paper's three algorithms are in `hybriddp.kmeans.paper`.
"""

from hybriddp.kmeans.hybrid import HybridKMeans
from hybriddp.kmeans.round import Counted, Reports, Round
from hybriddp.kmeans.server import HybridKMeansServer, Spending
from hybriddp.kmeans.study import KMeansStudy

__all__ = ["Counted", "HybridKMeans", "HybridKMeansServer", "KMeansStudy", "Reports", "Round", "Spending"]
