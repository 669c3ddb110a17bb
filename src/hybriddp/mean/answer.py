"""From two summaries to an estimate: everything is checked, then paid for, then drawn, then weighed."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.channels.numeric import VALUE_BITS
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.grid import UNITS
from hybriddp.mean import combine, weights
from hybriddp.mean.belongs import check_belongs
from hybriddp.mean.estimate import Estimate
from hybriddp.mean.groups import LocalGroup, TrustedGroup
from hybriddp.mean.public import exact_width, fixed_weight
from hybriddp.mean.reports import Reports
from hybriddp.mean.statement import Statement
from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary
from hybriddp.privacy import Neighbors
from hybriddp.randomness import simulation_generator
from hybriddp.release.event import Event
from hybriddp.release.ledger import Ledger
from hybriddp.release.mechanisms import PrivateTotal, release_total

if TYPE_CHECKING:
    from hybriddp.mean.study import MeanStudy

_LARGEST_VARIANCE = 0.25  # of values on [0, 1] (Popoviciu)
WEIGHTS = ("adaptive", "known-variance", "privacy", "naive", "trusted-only", "local-only", "full-local")


def answer(
    study: "MeanStudy",
    trusted: TrustedSummary | ArrayLike | None,
    local: LocalSummary | LaplaceSummary | Reports | ArrayLike | None,
    weight: str | float,
    sd: float | None,
    *,
    single_group: bool,
    ledger: Ledger | None,
    random_state: int | np.random.Generator | None,
    paid: bool = False,
) -> Estimate:
    """The estimate of a study; see `MeanStudy.estimate`."""
    _check_rule(study, weight, sd)
    reports = None if local is None else local_summary(study, local)
    check_reports(study, reports)
    if weight == "full-local":
        return _full_local(study, trusted, reports, ledger, random_state)
    raw = None if trusted is None else trusted_summary(study, trusted)
    check_sizes(study, raw, reports, single_group=single_group)
    _check_one_group(raw, reports, weight)
    local_group = local_group_of(study, reports) if reports is not None and reports.count else None
    adaptive = weight == "adaptive"
    seeded = random_state is not None or (reports is not None and reports.seeded)
    if raw is None or not raw.count or weight in ("local-only", 0.0):  # nothing about the trusted group is released
        statement = _statement(study, released=False, counted=False, seeded=seeded)
        everybody = (raw.count if raw else 0) + (reports.count if reports else 0)
        found = combine.single_model(study, None, local_group, statement, everybody=everybody, adaptive=adaptive)
        return _complete(found, None, reports, weight, sd)
    # Everything has been checked: only now is anything spent.
    released = release_total(
        raw.count,
        raw.total,
        study=study.whole_digest,
        privacy=study.privacy,
        part=study.users,
        ledger=ledger,
        paid=paid,
        random_state=random_state,
    )
    trusted_group = TrustedGroup.of(released)
    statement = _statement(study, released=True, counted=released.counted, seeded=seeded)
    if local_group is None:
        found = combine.single_model(study, trusted_group, None, statement, everybody=raw.count, adaptive=adaptive)
        return _complete(found, released, None, weight, sd)
    return _complete(weigh(study, trusted_group, local_group, weight, sd, statement), released, reports, weight, sd)


def check_reports(study: "MeanStudy", reports: LocalSummary | LaplaceSummary | None) -> None:
    """Raise `DataError` if the reports cannot be those of the study, or refute what it says about the spread."""
    check_belongs(study, reports)
    if reports is not None and reports.count > 1 and isinstance(reports, LocalSummary):
        _check_spread(study, local_group_of(study, reports))


def _check_spread(study: "MeanStudy", local: LocalGroup) -> None:
    r"""Raise `DataError` if the reports vary more than public knowledge said, by three standard errors.

    The estimate has the divisor $n_L - 1$, and squared deviations vary by up to $s - s^2$ (`evidence`); reports add
    what the channel does to them at worst, so that few reports that happen to agree are not sure of themselves.
    """
    limit = study.variance_at_most
    if limit >= _LARGEST_VARIANCE or isinstance(study.channel, DiscreteLaplace):
        return
    n, channel = local.count, study.channel
    influence = channel.square_values - 2 * local.mean * channel.values
    noise = float((channel.probabilities @ influence**2 - (channel.probabilities @ influence) ** 2).max())
    error = math.sqrt((noise + limit - limit**2) / n)
    allowed = limit * n / (n - 1) + channel.worst_rounding_variance
    if local.variance - 3 * error > allowed:
        raise DataError(
            f"The reports vary more than sd_at_most={study.sd_at_most:g} allows, by over three standard errors. "
            "Nothing has been spent. Estimate with a larger sd_at_most, or without one: the reports stay valid."
        )


def weigh(
    study: "MeanStudy",
    trusted: TrustedGroup,
    local: LocalGroup,
    weight: str | float,
    sd: float | None,
    statement: Statement,
) -> Estimate:
    """The estimate from both groups' private numbers: post-processing."""
    chosen = _choose(study, trusted, local, weight, sd)
    return combine.hybrid(study, trusted, local, chosen, statement, adaptive=weight == "adaptive", known=sd is not None)


def check_sizes(
    study: "MeanStudy",
    trusted: TrustedSummary | None,
    local: LocalSummary | LaplaceSummary | None,
    *,
    single_group: bool,
) -> None:
    """Raise `DataError` if a group is empty or too small for the study."""
    has_trusted, has_local = bool(trusted and trusted.count), bool(local and local.count)
    if not has_trusted and not has_local:
        raise DataError("Both groups are empty.")
    if not ((has_trusted and has_local) or single_group):
        which = "local" if has_trusted else "trusted"
        raise DataError(
            f"The {which} group is empty. Pass single_group=True if the answer of the other group alone will do."
        )
    for name, group in (("trusted", trusted), ("local", local)):
        if group is not None and 0 < group.count < study.min_group_size:
            raise DataError(f"The {name} group has {group.count} users; the study asks for {study.min_group_size}.")


def _full_local(
    study: "MeanStudy",
    trusted: TrustedSummary | ArrayLike | None,
    reports: LocalSummary | LaplaceSummary | None,
    ledger: Ledger | None,
    random_state: int | np.random.Generator | None,
) -> Estimate:
    """Everybody reports locally ([ADK20], Full-LM): the curator randomizes what trusted users gave it."""
    if trusted is None or isinstance(trusted, TrustedSummary):
        raise DataError("The full-local estimate needs the trusted users' values themselves: a report for each.")
    placed = study.grid.place(trusted)
    if len(placed.units) + (reports.count if reports else 0) < study.min_group_size:
        raise DataError(f"There are fewer users than the {study.min_group_size} that the study asks for.")
    seeded = random_state is not None
    counted = ledger is not None and not seeded
    if ledger is not None and counted and len(placed.units):
        what, whole = "reports for the trusted group", study.whole_digest
        event = Event.now(what, who="trusted", study=whole, privacy=study.privacy, part=study.users)
        ledger.spend(event, promised=study.privacy)
    generator = None if random_state is None else simulation_generator(random_state, "full-local")
    theirs = study.summarize_local(study.channel.sample(placed.units, random_state=generator))
    everybody = theirs if reports is None else theirs + reports
    seeded = seeded or (reports is not None and reports.seeded)
    statement = _statement(study, released=True, counted=counted, seeded=seeded)
    group = local_group_of(study, everybody)
    found = combine.single_model(study, None, group, statement, everybody=group.count, adaptive=False)
    return replace(_complete(found, None, everybody, "full-local", None), tied=reports is None or reports.tied)


def _complete(
    found: Estimate,
    released: PrivateTotal | None,
    reports: LocalSummary | LaplaceSummary | None,
    weight: str | float,
    sd: float | None,
) -> Estimate:
    """The estimate with what rounding for publication needs, and whether its reports are tied to the study."""
    fixed = weight != "adaptive"
    return replace(
        found,
        exact=_exact(found, released, reports) if fixed else None,
        fixed_weight=fixed,
        public_variance=None if sd is None else (sd / found.study.width) ** 2,
        tied=reports is None or not reports.count or reports.tied,
    )


def _exact(found: Estimate, released: PrivateTotal | None, reports: LocalSummary | LaplaceSummary | None) -> Fraction:
    """The weighted mean without rounding errors, from the released integers."""
    study, w, mean = found.study, Fraction(found.weight), Fraction(0)
    if released is not None and w:
        mean += w * Fraction(released.total, released.count * UNITS)
    if reports is not None and reports.count and w < 1:
        mean += (1 - w) * _local_mean(study, reports)
    return Fraction(study.bounds[0]) + exact_width(study) * mean


def _local_mean(study: "MeanStudy", reports: LocalSummary | LaplaceSummary) -> Fraction:
    """The mean of the reports on the unit range, exactly."""
    if isinstance(reports, LaplaceSummary):
        return Fraction(reports.total, reports.count * UNITS)
    channel = study.channel
    assert not isinstance(channel, DiscreteLaplace)  # noqa: S101  (checked when it was accepted)
    total = sum(count * value for count, value in zip(reports.counts, channel.code_values, strict=True))
    return Fraction(1, 2) + Fraction(total, reports.count << (VALUE_BITS + 1))


def _statement(study: "MeanStudy", *, released: bool, counted: bool, seeded: bool) -> Statement:
    return Statement(
        study.privacy.epsilon,
        study.privacy.delta,
        Neighbors.REPLACE_ONE.value,
        released=released,
        counted=counted,
        seeded=seeded,
    )


def _check_one_group(
    trusted: TrustedSummary | None, local: LocalSummary | LaplaceSummary | None, weight: str | float
) -> None:
    """Where a group is empty, a weight that asks for it is a contradiction."""
    if trusted is not None and trusted.count and local is not None and local.count:
        return
    mine, missing = (("trusted-only", 1.0), "local") if trusted and trusted.count else (("local-only", 0.0), "trusted")
    if weight != "adaptive" and weight not in mine:
        raise DataError(f"The {missing} group is empty, but weight={weight!r} asks for it.")


def local_group_of(study: "MeanStudy", reports: LocalSummary | LaplaceSummary) -> LocalGroup:
    """What the reports say."""
    if isinstance(reports, LaplaceSummary):
        assert isinstance(study.channel, DiscreteLaplace)  # noqa: S101  (checked when it was accepted)
        return LocalGroup.of_laplace(reports, study.channel)
    assert not isinstance(study.channel, DiscreteLaplace)  # noqa: S101
    return LocalGroup.of(reports.counts, study.channel)


def _choose(
    study: "MeanStudy", trusted: TrustedGroup, local: LocalGroup, weight: str | float, sd: float | None
) -> weights.Weighting:
    if weight == "adaptive":
        return weights.adaptive(trusted, local, study.variance_at_most)
    # [ADK20]'s weights follow from public numbers alone, the channel's worst variance among them: a weight that the
    # reports move in its last digits would tell about them, and `hybriddp.amplify` counts on one that does not.
    if sd is not None:
        variance = (sd / study.width) ** 2
        fixed = fixed_weight(study, trusted.count, local.count, "known-variance", variance)
        return weights.Weighting(fixed, variance, weights.VarianceRange(variance, variance))
    possible = weights.variance_range(trusted, local, study.variance_at_most)
    fixed = fixed_weight(study, trusted.count, local.count, weight) if isinstance(weight, str) else float(weight)
    return weights.Weighting(fixed, possible.upper, possible)


def _check_rule(study: "MeanStudy", weight: str | float, sd: float | None) -> None:
    if isinstance(weight, str):
        _check.choice("weight", weight, WEIGHTS)
    else:
        _check.number("weight", weight, _check.WEIGHT)
    if (weight == "known-variance") != (sd is not None):
        raise ParameterError("sd", 'given exactly if weight is "known-variance"', sd)
    if sd is not None:
        most = _check.Range("a number from 0 to half of the range", 0.0, study.width / 2)
        _check.number("sd", sd, most)


def trusted_summary(study: "MeanStudy", trusted: TrustedSummary | ArrayLike) -> TrustedSummary:
    """The summary of raw values, or one that belongs to the study."""
    if not isinstance(trusted, TrustedSummary):
        return study.summarize_trusted(trusted)
    _check_digest(study, trusted.study)
    return trusted


def local_summary(
    study: "MeanStudy", local: LocalSummary | LaplaceSummary | Reports | ArrayLike
) -> LocalSummary | LaplaceSummary:
    """The summary of codes, or one that belongs to the study."""
    if not isinstance(local, LocalSummary | LaplaceSummary):
        return study.summarize_local(local)
    _check_digest(study, local.study)
    if isinstance(local, LaplaceSummary) != isinstance(study.channel, DiscreteLaplace):
        raise ProtocolError(f"A {type(local).__name__} is not what {study.channel!r} gives.")
    if isinstance(local, LocalSummary) and len(local.counts) != study.channel.n_codes:
        raise ProtocolError(f"The local summary has {len(local.counts)} codes, the study {study.channel.n_codes}.")
    return local


def _check_digest(study: "MeanStudy", digest: str) -> None:
    if digest != study.digest:
        raise ProtocolError(
            f"The summary belongs to study {digest[:12]}…, not to {study.digest[:12]}… ({study.name!r})."
        )
