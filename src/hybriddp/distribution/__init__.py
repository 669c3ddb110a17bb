"""Distributions, end to end: quantiles, CDF and histogram of a number from both groups.

`DistributionStudy` is the public description; devices call its ``randomize``, the curator its ``summarize_trusted``,
``summarize_local`` and ``estimate``; a `DistributionEstimate` gives quantiles with intervals, values of the CDF,
histograms and the mean, and says how wrong they may be and what they cost. Inside, an estimate is made in three steps
that simulations and plans call too: `check.check_groups`, `answer.pay`, `fit.fit_groups`.
"""

from hybriddp.distribution.bins import Bins
from hybriddp.distribution.estimate import DistributionEstimate
from hybriddp.distribution.fit import DistributionFit, Fits, GroupComparison
from hybriddp.distribution.published import PublishedCdf, PublishedDistribution, PublishedQuantile
from hybriddp.distribution.quantile import Band, Bar, CdfValue, DistributionMean, Quantile
from hybriddp.distribution.release import PrivateHistogram
from hybriddp.distribution.study import DistributionStudy
from hybriddp.distribution.summary import BinCounts, PatternCounts

__all__ = [
    "Band",
    "Bar",
    "BinCounts",
    "Bins",
    "CdfValue",
    "DistributionEstimate",
    "DistributionFit",
    "DistributionMean",
    "DistributionStudy",
    "Fits",
    "GroupComparison",
    "PatternCounts",
    "PrivateHistogram",
    "PublishedCdf",
    "PublishedDistribution",
    "PublishedQuantile",
    "Quantile",
]
