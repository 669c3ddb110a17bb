"""How frequent categories are, end to end: two summaries in, one better answer out.

`FrequencyStudy` is the public description; devices call its ``randomize``, the curator its ``summarize_trusted``,
``summarize_local`` and ``estimate``; `Frequencies` tell the share of every category, how wrong it may be and what it
cost. Inside, `frequency_channel` chooses what devices report, and `blend` combines the groups, category by category.

`HeavyHitterStudy` is the same for an open domain, whose items nobody knows beforehand, and `heavy_hitters` runs it in
one call; `HeavyHitters` are the frequent items with their shares. `blender` is the first hybrid algorithm, for
comparison.
"""

from hybriddp.frequency.blend import Blend, blend, project_to_simplex
from hybriddp.frequency.blender import BlenderResult, blender
from hybriddp.frequency.categories import OTHER
from hybriddp.frequency.discovery import DiscoveryCounts, DiscoveryQuestion, DiscoveryRule
from hybriddp.frequency.divergence import ShareDivergence
from hybriddp.frequency.estimate import Frequencies, ShareRow
from hybriddp.frequency.explain import counts_diagnostics
from hybriddp.frequency.heavy_estimate import HeavyHitters, ItemRow
from hybriddp.frequency.heavy_hitters import heavy_hitters
from hybriddp.frequency.heavy_study import HeavyHitterStudy
from hybriddp.frequency.item_counts import ItemCounts
from hybriddp.frequency.law import GroupShares, ShareIntervals
from hybriddp.frequency.open_release import PrivateItems, ThresholdRule
from hybriddp.frequency.oracle import frequency_channel
from hybriddp.frequency.published import PublishedShares
from hybriddp.frequency.study import FrequencyStudy
from hybriddp.frequency.summary import LocalCounts, TrustedCounts

__all__ = [
    "OTHER",
    "Blend",
    "BlenderResult",
    "DiscoveryCounts",
    "DiscoveryQuestion",
    "DiscoveryRule",
    "Frequencies",
    "FrequencyStudy",
    "GroupShares",
    "HeavyHitterStudy",
    "HeavyHitters",
    "ItemCounts",
    "ItemRow",
    "LocalCounts",
    "PrivateItems",
    "PublishedShares",
    "ShareDivergence",
    "ShareIntervals",
    "ShareRow",
    "ThresholdRule",
    "TrustedCounts",
    "blend",
    "blender",
    "counts_diagnostics",
    "frequency_channel",
    "heavy_hitters",
    "project_to_simplex",
]
