"""The mean, end to end: two summaries in, one better answer out.

`MeanStudy` is the public description; devices call its ``randomize``, the curator its ``summarize_trusted``,
``summarize_local`` and ``estimate``; an `Estimate` tells the answer, how wrong it may be and what it cost. The pipeline
is that of every study (`hybriddp.study.study`); simulations and plans call `answer.weigh` too.
"""

from hybriddp.mean.answer import WeightRule
from hybriddp.mean.estimate import Estimate
from hybriddp.mean.explain import diagnostics
from hybriddp.mean.published import PublishedMean
from hybriddp.mean.study import MeanStudy
from hybriddp.study.reports import Reports
from hybriddp.study.summary import LocalSummary, TrustedSummary
from hybriddp.study.users import StudyParts

__all__ = [
    "Estimate",
    "LocalSummary",
    "MeanStudy",
    "PublishedMean",
    "Reports",
    "StudyParts",
    "TrustedSummary",
    "WeightRule",
    "diagnostics",
]
