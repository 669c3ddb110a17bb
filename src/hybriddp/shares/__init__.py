"""How frequent known categories are, end to end: two summaries in, one better answer out.

`FrequencyStudy` is the public description; devices call its ``randomize``, the curator its ``summarize_trusted``,
``summarize_local`` and ``estimate``; `Frequencies` tell the share of every category, how wrong it may be and what it
cost. Inside, `frequency_channel` chooses what devices report, and `blend` combines the groups, category by category.
For items that nobody knows beforehand there is `hybriddp.items`.
"""

from hybriddp.shares.blend import Blend, blend, project_to_simplex
from hybriddp.shares.categories import OTHER
from hybriddp.shares.divergence import ShareDivergence
from hybriddp.shares.estimate import Frequencies
from hybriddp.shares.explain import counts_diagnostics
from hybriddp.shares.law import GroupShares, ShareIntervals
from hybriddp.shares.oracle import frequency_channel
from hybriddp.shares.published import PublishedShares
from hybriddp.shares.study import FrequencyStudy
from hybriddp.study.summary import LocalSummary, TrustedSummary

__all__ = [
    "OTHER",
    "Blend",
    "Frequencies",
    "FrequencyStudy",
    "GroupShares",
    "LocalSummary",
    "PublishedShares",
    "ShareDivergence",
    "ShareIntervals",
    "TrustedSummary",
    "blend",
    "counts_diagnostics",
    "frequency_channel",
    "project_to_simplex",
]
