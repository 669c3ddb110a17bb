"""Reports of another study: what to do if they were collected for a mean of the same values."""

from typing import TYPE_CHECKING

from hybriddp.mean.study import MeanStudy

if TYPE_CHECKING:
    from hybriddp.distribution.study import DistributionStudy

_REMEDY = (
    "take them as they are, with DistributionStudy.from_mean_study or --mean-reports; or let devices make them for "
    "quantiles, with DistributionStudy.randomize or hybriddp randomize --scale equal (or log)."
)


def mean_hint(study: "DistributionStudy", digest: str | None = None) -> str:
    """A sentence about reports with this digest, or with one that is not known; empty if they are of no mean of it."""
    if study.mean_study is not None:
        return ""
    if digest is None:
        return f" If they were made for a mean, {_REMEDY}"
    mean = MeanStudy(
        study.name,
        bounds=study.bounds,
        epsilon=study.privacy.epsilon,
        min_group_size=study.min_group_size,
        users=study.users,
    )
    if digest not in (mean.digest, mean.whole_digest):
        return ""
    return f" They were made for a mean of the same name, bounds and ε: {_REMEDY}"
