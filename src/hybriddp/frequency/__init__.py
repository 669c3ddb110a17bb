"""How frequent categories are, end to end: two summaries in, one better answer out.

`FrequencyStudy` is the public description; devices call its ``randomize``, the curator its ``summarize_trusted``,
``summarize_local`` and ``estimate``; `Frequencies` tell the share of every category, how wrong it may be and what it
cost. Inside, `frequency_channel` chooses what devices report, and `blend` combines the groups, category by category.
"""

from hybriddp.frequency.blend import Blend, blend, project_to_simplex
from hybriddp.frequency.categories import OTHER
from hybriddp.frequency.divergence import ShareDivergence
from hybriddp.frequency.estimate import Frequencies, ShareRow
from hybriddp.frequency.explain import counts_diagnostics
from hybriddp.frequency.law import GroupShares, ShareIntervals
from hybriddp.frequency.oracle import frequency_channel
from hybriddp.frequency.study import FrequencyStudy
from hybriddp.frequency.summary import LocalCounts, TrustedCounts

__all__ = [
    "OTHER",
    "Blend",
    "Frequencies",
    "FrequencyStudy",
    "GroupShares",
    "LocalCounts",
    "ShareDivergence",
    "ShareIntervals",
    "ShareRow",
    "TrustedCounts",
    "blend",
    "counts_diagnostics",
    "frequency_channel",
    "project_to_simplex",
]
