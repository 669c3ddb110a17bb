"""The frequent items of an open domain, whose items nobody knows beforehand, with their shares.

`HeavyHitterStudy` is the public description, and `heavy_hitters` runs it in one call; `HeavyHitters` are the frequent
items with their shares, which are estimated as those of known categories are (`hybriddp.shares`).
"""

from hybriddp.items.counts import ItemCounts
from hybriddp.items.discovery import DiscoveryQuestion, DiscoveryRule
from hybriddp.items.estimate import HeavyHitters, PublishedItems
from hybriddp.items.heavy_hitters import heavy_hitters
from hybriddp.items.open_release import PrivateItems
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.release.threshold import ThresholdRule

__all__ = [
    "DiscoveryQuestion",
    "DiscoveryRule",
    "HeavyHitterStudy",
    "HeavyHitters",
    "ItemCounts",
    "PrivateItems",
    "PublishedItems",
    "ThresholdRule",
    "heavy_hitters",
]
