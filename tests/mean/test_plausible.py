import math

import numpy as np
import pytest

from hybriddp.channels.plausible import FALSE_ALARM, bernoulli_divergence
from hybriddp.channels.window_channel import WindowChannel
from hybriddp.errors import DataError
from hybriddp.mean import Estimate, LocalSummary, MeanStudy, Reports
from hybriddp.mean.plausible import _bernstein_limit, _probabilities

RNG = np.random.default_rng(0)
MINUTES = np.minimum(RNG.gamma(2.0, 20.0, 20_000), 240.0)
EPSILONS = (0.05, 0.3, 1, 3, 8, 14, 20)


def _study(epsilon: float) -> MeanStudy:
    return MeanStudy("minutes", bounds=(0, 240), epsilon=epsilon)


def _check(study: MeanStudy, codes: object) -> None:
    study.implausible(study.summarize_local(codes))


# What is possible is accepted


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_least_and_the_largest_probability_are_those_of_the_rows(epsilon: float) -> None:
    channel = _study(epsilon).channel
    start, end = np.triu_indices(257, 1)
    low, high = _probabilities(channel.window, start, end)
    sums = np.concatenate([np.zeros((channel.n_rows, 1)), channel.probabilities.cumsum(axis=1)], axis=1)
    for i in RNG.integers(0, len(start), 300).tolist():
        mass = sums[:, end[i]] - sums[:, start[i]]
        assert low[i] == pytest.approx(mass.min(), rel=1e-9, abs=1e-12)
        assert high[i] == pytest.approx(mass.max(), rel=1e-9, abs=1e-12)


@pytest.mark.repeated
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_real_reports_of_any_values_are_accepted(epsilon: float) -> None:
    """From 1 to ten million users; seeded, and each is refused with a probability of at most 1e-6 by proof."""
    study = _study(epsilon)
    channel, rng = study.channel, np.random.default_rng(7)
    rows = channel.n_rows
    for n in (1, 2, 3, 5, 30, 1000, 10**5, 10**7):
        for shares in (
            np.eye(rows)[0],
            np.eye(rows)[rows // 3],
            np.eye(rows)[-1],
            (np.eye(rows)[0] + np.eye(rows)[-1]) / 2,
            np.full(rows, 1 / rows),
            rng.dirichlet(np.full(rows, 0.02)),
            rng.dirichlet(np.full(rows, 1.0)),
        ):
            users = rng.multinomial(n, shares)  # users with fixed values, each with a law of their own
            used = np.flatnonzero(users)
            counts = sum(rng.multinomial(users[row], channel.probabilities[row]) for row in used)
            study.implausible(LocalSummary.of_codes(study.digest, np.asarray(counts).tolist()))


def test_the_false_alarm_rate_is_what_is_said() -> None:
    """By the bound itself: for single codes the exact binomial tail at the limit is below the share of each test."""
    from scipy.stats import binom

    window = _study(1).channel.window
    start, end = np.triu_indices(257, 1)
    _, high = _probabilities(window, start, end)
    limit = math.log(2 * len(start) / 5e-7)
    for n in (1, 4, 10, 300, 10**5):
        for p in np.unique(high)[:-1:40]:
            k = np.arange(math.ceil(n * p), n + 1)
            k = k[(k / n > p) & (n * bernoulli_divergence(k / n, p) > limit)]
            if len(k):
                assert binom.sf(k[0] - 1, n, p) * 2 * len(start) <= 5e-7


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_reports_from_devices_are_accepted(epsilon: float) -> None:
    """They are refused with a chance below 1e-6 each, so they are seeded."""
    study = _study(epsilon)
    for values in (MINUTES, np.zeros(500), np.full(500, 240.0), [240.0], [0.0, 240.0]):
        _check(study, study.randomize(values, random_state=1).codes)


def test_codes_of_a_smaller_epsilon_cannot_be_told() -> None:
    _check(_study(20), _study(1).randomize(MINUTES).codes)


# What is not is refused, before anything is spent


@pytest.mark.parametrize(
    ("epsilon", "codes", "looks"),
    [
        *(
            (epsilon, MINUTES[:n].astype(int), "look like raw values, or")
            for epsilon in (0.1, 2)
            for n in (100, 20_000)
        ),
        *((one, [0] * 1000, "look like a constant") for one in (0.1, 1, 8)),
        *(
            (read, _study(made).randomize(np.full(20_000, 40.0)).codes, "codes of a larger ε")
            for made, read in ((3, 1), (8, 1), (20, 1), (8, 3), (2, 0.5))
        ),
    ],
)
def test_what_is_no_report_is_refused(epsilon: float, codes: object, looks: str) -> None:
    with pytest.raises(DataError, match=looks):
        _check(_study(epsilon), codes)


def test_a_few_reports_may_be_anything() -> None:
    for code in (0, 17, 255):
        _check(_study(1), [code] * 2)


def test_a_mean_far_outside_of_the_bounds_is_refused() -> None:
    study = _study(20)
    channel = study.channel
    assert channel.values[0] < 0 < channel.values[-1] - 1
    for epsilon in (0.5, 1):
        wide = _study(epsilon)
        counts = _at_the_end(wide.channel, 10**6)
        with pytest.raises(DataError, match="standard errors outside of the bounds|too concentrated"):
            wide.implausible(LocalSummary.of_codes(wide.digest, counts))


def _at_the_end(channel: WindowChannel, n: int) -> tuple[int, ...]:
    """As many reports as the last row gives, with one in fifty moved to the last code."""
    counts = np.rint(n * channel.probabilities[-1]).astype(int)
    counts[: len(counts) // 2] = counts[: len(counts) // 2] * 0.9
    counts[-1] += n // 50
    return tuple(counts.tolist())


def test_no_message_tells_a_code() -> None:
    with pytest.raises(DataError) as caught:
        _check(_study(1), [173] * 4999 + [91])
    assert "173" not in str(caught.value)
    assert "91" not in str(caught.value)


# Reports that are tied to their study are not refused, but told


def _tied(study: MeanStudy, *codes: object) -> Reports:
    return Reports(np.concatenate([np.asarray(part, np.int64) for part in codes]), study.digest)


def _doubtful(**how: object) -> Estimate:
    study = _study(1)
    reports = _tied(study, study.randomize(MINUTES[:900], random_state=1).codes, [200] * 100)
    return study.estimate(trusted=MINUTES[:100], local=reports, random_state=2, **how)


def test_the_warning_is_published_with_an_adaptive_weight() -> None:
    estimate = _doubtful()
    assert 50 < estimate.implausible_reports <= 100
    published = estimate.published()
    assert published.warnings[0].startswith(f"WARNING: at least {estimate.implausible_reports} of the 1,000 local rep")
    assert published.implausible_reports == estimate.implausible_reports


def test_a_fixed_weight_publishes_the_value_and_public_numbers_alone() -> None:
    fixed, clean = _doubtful(weight=0.5), _study(1)
    assert fixed.implausible_reports > 50
    assert (fixed.published().warnings, fixed.published().implausible_reports) == ((), None)
    assert "cannot come from this study's channel" in fixed.explain()
    honest = clean.estimate(trusted=MINUTES[:100], local=clean.randomize(MINUTES[:900], random_state=1), random_state=2)
    assert (honest.implausible_reports, honest.published().warnings) == (0, ())


@pytest.mark.parametrize("planted", [1, 30, 2000])
def test_a_mean_outside_of_the_bounds_counts_those_who_can_have_moved_it(planted: int) -> None:
    study = _study(0.3)
    channel = study.channel
    spread = np.flatnonzero(channel.values > 1)  # each plausible by itself, and all of them beyond the bounds
    codes = _tied(study, study.randomize(np.full(60_000, 240.0), random_state=3).codes, np.tile(spread, planted))
    assert study.implausible(study.summarize_local(codes)) <= planted * len(spread)


@pytest.mark.parametrize("n", [1, 40, 10**6])
def test_the_limits_are_where_the_inequalities_meet_the_false_alarm(n: int) -> None:
    channel = _study(1).channel
    limit, least = math.log(2 / FALSE_ALARM), _bernstein_limit(n, channel)
    reach = (1 + channel.largest_value) / 2
    exponent = n * least**2 / (2 * channel.worst_variance + 2 * reach * least / 3)
    assert exponent == pytest.approx(limit) or least == pytest.approx(6 * math.sqrt(channel.worst_variance / n))
    assert exponent >= limit * (1 - 1e-9)
