"""Kinds of studies: what the server has to know of one, whatever it is about.

A kind reads its text, says which steps its life has, turns a contribution into an integer, says how these are added up,
and makes a release from the sums. Formulas are elsewhere: here they are called.
"""

from hybriddp.service.kinds.distribution import DistributionKind
from hybriddp.service.kinds.frequency import FrequencyKind
from hybriddp.service.kinds.heavy import HeavyHitterKind
from hybriddp.service.kinds.kind import NO_WAY_BACK, Gathered, Released, StudyKind, require_sizes, shortfall, usable
from hybriddp.service.kinds.kmeans import KMeansKind
from hybriddp.service.kinds.mean import MeanKind
from hybriddp.service.kinds.mean_parts import PartSize, part_obstacle, part_sizes, release_parts
from hybriddp.service.kinds.texts import kind_of, known_kinds, study_kind

__all__ = [
    "NO_WAY_BACK",
    "DistributionKind",
    "FrequencyKind",
    "Gathered",
    "HeavyHitterKind",
    "KMeansKind",
    "MeanKind",
    "PartSize",
    "Released",
    "StudyKind",
    "kind_of",
    "known_kinds",
    "part_obstacle",
    "part_sizes",
    "release_parts",
    "require_sizes",
    "shortfall",
    "study_kind",
    "usable",
]
