"""Differential privacy for people who trust you and people who do not, in one answer.

Some users hand the curator their raw value (the *trusted* group), the others only a report that their own device
has randomized (the *local* group). Everybody is promised the same ε: local users against everybody, trusted users
against everybody but the curator. hybriddp combines the two groups into one answer, and says how wrong it may be and
what it cost in privacy.

**For estimating a mean**: `MeanStudy`; `summarize` for tables of any kind; `Privacy` and `Ledger` for counting what
it costs.

**For how frequent categories are**: `FrequencyStudy`, which gives `Frequencies`; `heavy_hitters` and
`HeavyHitterStudy` where nobody knows the items beforehand.

**For quantiles and histograms**: `DistributionStudy`.

**For K-means**: `HybridKMeans`; `hybriddp.kmeans` for running it as a protocol, round by round.

**For knowing the error beforehand**: `plan` and `solve`; `simulate` for trying it out; `hybriddp.theory` for formulas.

**For what outsiders learn**: `amplify`.

**For reports that devices randomize**: `hybriddp.channels`.

**For catching what goes wrong**: `hybriddp.errors`.
"""

from hybriddp import channels, errors, theory
from hybriddp.amplification import amplify
from hybriddp.distribution import DistributionStudy
from hybriddp.items import HeavyHitterStudy, heavy_hitters
from hybriddp.kmeans import HybridKMeans
from hybriddp.mean import MeanStudy
from hybriddp.planning import plan, solve
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.shares import Frequencies, FrequencyStudy
from hybriddp.simulation import simulate
from hybriddp.tables.summarize import summarize

__version__ = "0.1.0"

__all__ = [
    "DistributionStudy",
    "Frequencies",
    "FrequencyStudy",
    "HeavyHitterStudy",
    "HybridKMeans",
    "Ledger",
    "MeanStudy",
    "Privacy",
    "__version__",
    "amplify",
    "channels",
    "errors",
    "heavy_hitters",
    "plan",
    "simulate",
    "solve",
    "summarize",
    "theory",
]
