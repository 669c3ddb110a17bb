"""The mean, end to end: two summaries in, one better answer out.

`MeanStudy` is the public description; devices call its ``randomize``, the curator its ``summarize_trusted``,
``summarize_local`` and ``estimate``; an `Estimate` tells the answer, how wrong it may be and what it cost. Inside, an
estimate is made in three steps that simulations and plans call too: `check.check`, `answer.pay`, `answer.weigh`.
"""

from hybriddp.mean.estimate import Estimate
from hybriddp.mean.explain import diagnostics
from hybriddp.mean.published import PublishedMean
from hybriddp.mean.study import MeanStudy
from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary
from hybriddp.study.reports import Reports
from hybriddp.study.users import StudyParts

__all__ = [
    "Estimate",
    "LaplaceSummary",
    "LocalSummary",
    "MeanStudy",
    "PublishedMean",
    "Reports",
    "StudyParts",
    "TrustedSummary",
    "diagnostics",
]
