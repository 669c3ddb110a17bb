"""Distributions, end to end: quantiles, CDF and histogram of a number from both groups.

`DistributionStudy` is the public description; devices call its ``randomize``, the curator its ``summarize_trusted``,
``summarize_local`` and ``estimate``; a `DistributionEstimate` gives quantiles with intervals, values of the CDF,
histograms and the mean, and says how wrong they may be and what they cost. The pipeline is that of every study
(`hybriddp.study.study`); simulations and plans call `fit.fit_groups` too.
"""

from hybriddp.distribution.bins import Bins
from hybriddp.distribution.estimate import DistributionEstimate
from hybriddp.distribution.fit import DistributionFit, Fits, GroupComparison
from hybriddp.distribution.published import PublishedCdf, PublishedDistribution, PublishedQuantile
from hybriddp.distribution.quantile import Band, Bar, CdfValue, DistributionMean, Quantile
from hybriddp.distribution.release import PrivateHistogram
from hybriddp.distribution.study import DistributionStudy, FitOptions
from hybriddp.study.summary import LocalSummary, TrustedSummary

__all__ = [
    "Band",
    "Bar",
    "Bins",
    "CdfValue",
    "DistributionEstimate",
    "DistributionFit",
    "DistributionMean",
    "DistributionStudy",
    "FitOptions",
    "Fits",
    "GroupComparison",
    "LocalSummary",
    "PrivateHistogram",
    "PublishedCdf",
    "PublishedDistribution",
    "PublishedQuantile",
    "Quantile",
    "TrustedSummary",
]
