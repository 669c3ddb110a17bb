import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hybriddp.channels.window_channel import VALUE_BITS, WindowChannel
from hybriddp.grid import UNITS
from hybriddp.mean import Estimate, LocalSummary, MeanStudy, published
from hybriddp.mean.explain import FIRST_TIER_ONLY, published_rows, rows
from hybriddp.study.rounding import decimals, nearest, nice_below

STUDY = MeanStudy("minutes", bounds=(0, 240), epsilon=1)
MINUTES = np.random.default_rng(0).gamma(2.0, 20.0, 5000)
REPORTS = STUDY.randomize(MINUTES[500:], random_state=1)


def _estimate(**options: object) -> Estimate:
    return STUDY.estimate(**{"trusted": MINUTES[:500], "local": REPORTS, "random_state": 2, **options})


# The value


def test_a_code_cannot_be_read_off_what_is_published() -> None:
    """Somebody knows all reports but one, and the lattice of the curator's noise: the unrounded mean gives it away."""
    study = MeanStudy("x", bounds=(0, 1), epsilon=1.0)
    n_t, n_l, w = 100, 9973, Fraction(1, 2)
    rng = np.random.default_rng(1)
    trusted = study.summarize_trusted(rng.random(n_t))
    values = [Fraction(1, 2) + Fraction(v, 2 << VALUE_BITS) for v in WindowChannel(epsilon=1.0).code_values]
    unique = [code for code, value in enumerate(values) if values.count(value) == 1]
    read = {"value": 0, "published": 0}
    for code in unique[:: len(unique) // 20][:20]:
        counts = np.bincount(study.randomize(rng.random(n_l - 1)), minlength=256)
        rest = sum((int(k) * v for k, v in zip(counts, values, strict=True)), Fraction(0))
        counts[code] += 1
        estimate = study.estimate(
            trusted=trusted, local=LocalSummary.of_codes(study.digest, counts.tolist()), weight=0.5
        )
        for name, seen in (("value", estimate.value), ("published", float(estimate))):
            noise = [(Fraction(seen) - (1 - w) * (rest + v) / n_l) / w * n_t * UNITS for v in values]
            read[name] += int(np.argmin([abs(float(k - round(k))) for k in noise])) == code
    assert read["value"] == 20
    assert read["published"] <= 6  # by guessing more have a chance of 1e-12


@pytest.mark.parametrize("weight", [0.5, 1.0, 0.0, "privacy", "naive", "local-only", "trusted-only"])
@pytest.mark.parametrize("bounds", [(0, 240), (-3.3, 7.1), (1e6, 1e6 + 0.3)])
def test_the_exact_mean_is_that_of_the_released_integers(weight: str | float, bounds: tuple[float, float]) -> None:
    study = MeanStudy("x", bounds=bounds, epsilon=1)
    values = bounds[0] + (bounds[1] - bounds[0]) * np.linspace(0.2, 0.4, 900)
    local = study.randomize(values[300:], random_state=1)
    estimate = study.estimate(trusted=values[:300], local=local, weight=weight, random_state=2)
    assert estimate.exact is not None
    assert float(estimate.exact) == pytest.approx(estimate.unbiased, rel=1e-12)
    published = estimate.published(step=Fraction(study.width) / 7777)
    assert Fraction(published.value) == pytest.approx(nearest(estimate.exact, published.step), rel=1e-12)


def test_the_last_digit_of_a_float_does_not_decide() -> None:
    """Rounding is by the integers: a mean just below the middle of two steps is rounded down, whatever floats say."""
    step = Fraction(1, 10)
    tiny = Fraction(1, 10**40)
    assert nearest(Fraction(5, 20) - tiny, step) == Fraction(2, 10)
    assert nearest(Fraction(5, 20), step) == Fraction(3, 10)
    assert nearest(Fraction(-5, 20), step) == Fraction(-2, 10)


def test_everything_short_shows_the_published_numbers_only() -> None:
    estimate = _estimate()
    published = estimate.published()
    assert float(estimate) == float(published) == published.value != estimate.value
    assert str(published) in repr(estimate)
    for text in (str(estimate), estimate.explain()):
        assert f"{str(published)[:-1]}, if the groups are alike)" in text
    short = estimate.to_dict()
    assert short["rows"] == [published.row.to_dict()]
    texts = (str(estimate), repr(estimate), json.dumps(short), estimate.explain())
    secret = (estimate.value, estimate.unbiased, estimate.weight, estimate.trusted_mean, estimate.local_mean)
    assert not [x for x in secret for text in texts if f"{x:.7g}" in text]


def test_what_is_the_curators_says_so() -> None:
    estimate = _estimate(weight="privacy")
    full = estimate.to_dict(full=True)
    assert full["curator"]["note"] == FIRST_TIER_ONLY
    (row,) = full["curator"]["rows"]
    assert (row["trusted_alone"], row["value"]) == (estimate.trusted_mean, estimate.value)
    assert "trusted_alone" not in estimate.to_json()
    assert estimate.to_pandas(full=True).loc[0, "weight"] == estimate.weight
    for text in (estimate.explain(), estimate.to_html(), estimate._repr_html_()):
        assert "leaves the first tier" in text


def test_only_a_fixed_weight_has_a_second_tier_to_lose() -> None:
    for weight, words in (("privacy", True), ("adaptive", False)):
        estimate = _estimate(weight=weight)
        assert (estimate.to_dict(full=True)["curator"]["note"] == FIRST_TIER_ONLY) is words
        for text in (estimate.explain(), estimate.to_html()):
            assert ("first tier" in text) is words


# The step


@pytest.mark.parametrize(
    ("size", "step"),
    [
        (1.0, "1"),
        (0.999, "0.5"),
        (1.99, "1"),
        (2.0, "2"),
        (4.99, "2"),
        (5, "5"),
        (9.9, "5"),
        (1234, "1000"),
        (3e-7, "2e-7"),
    ],
)
def test_steps_are_nice(size: float, step: str) -> None:
    assert nice_below(size) == Fraction(step)


@pytest.mark.parametrize("weight", ["adaptive", "naive", 0.5])
def test_the_step_follows_from_public_numbers(weight: str | float) -> None:
    steps = set()
    for seed in range(5):
        values = np.random.default_rng(seed).random(1000) * 240
        local = STUDY.randomize(values, random_state=seed)
        found = STUDY.estimate(trusted=values[:50], local=local, weight=weight, random_state=seed).published()
        steps.add(found.step)
    assert len(steps) == 1


def test_the_step_is_small_beside_the_error() -> None:
    for epsilon in (0.1, 1, 5, 20):
        for n in (10, 1000, 100_000):
            study = MeanStudy("x", bounds=(-1, 3), epsilon=epsilon)
            step = published.default_step(study, n, 10 * n, None)
            assert step <= published.noise_sd(study, n, 10 * n, None) / 10
            assert step >= 2 * published.finest_step(study, n, 1.0)


@pytest.mark.parametrize("step", [Fraction(1, 3), Decimal("0.5"), "0.5", 0.1, 2])
def test_a_step_may_be_chosen(step: object) -> None:
    published = _estimate().published(step=step)
    assert published.step == Fraction(str(step))
    assert Fraction(published.value) == pytest.approx(nearest(Fraction(published.value), published.step), rel=1e-15)


def test_decimals_are_those_of_the_step() -> None:
    assert [decimals(Fraction(step)) for step in ("200", "1", "0.5", "0.02")] == [0, 0, 1, 2]
    assert decimals(Fraction(1, 3)) == 3
    assert _estimate().published(step=5).row.number(12345.0) == "12,345"
    assert _estimate().published(step=5).row.number(-0.0) == "0"


# The interval


@pytest.mark.parametrize("weight", ["adaptive", "naive", "privacy", "trusted-only", "local-only", 0.5])
def test_the_interval_is_rounded_outwards(weight: str | float) -> None:
    estimate = _estimate(weight=weight)
    for step in (None, 0.3, 7):
        published, found = estimate.published(step=step), estimate.interval()
        assert published.interval.lower <= found.lower
        assert published.interval.upper >= found.upper
        for end in published.interval:
            multiple = Fraction(end).limit_denominator(10**6) / published.step
            assert multiple.denominator == 1 or end in STUDY.bounds


@pytest.mark.repeated
@pytest.mark.parametrize("weight", [0.5, "known-variance", "naive", "privacy"])
def test_with_a_fixed_weight_it_follows_from_the_published_value_alone(weight: str | float) -> None:
    """Reports that vary by different amounts give the same interval around the same value."""
    sd = 30.0 if weight == "known-variance" else None
    ends: dict[float, set[tuple[float, float]]] = {}
    for seed in range(60):
        x = np.full(4500, 120.0) if seed % 2 else np.repeat([0.0, 240.0], 2250)
        local = STUDY.randomize(x, random_state=seed)
        estimate = STUDY.estimate(trusted=[120.0] * 500, local=local, weight=weight, sd=sd, random_state=seed)
        published = estimate.published(step=5)
        ends.setdefault(published.value, set()).add((published.interval.lower, published.interval.upper))
    assert all(len(found) == 1 for found in ends.values())
    assert len(ends) < 20


def test_a_public_sd_narrows_it() -> None:
    known, other = _estimate(weight="known-variance", sd=28.0), _estimate(weight="privacy")
    widths = [2 * e.published().interval.half_width for e in (known, other)]
    assert widths[0] < widths[1]
    exact = known.interval()
    assert widths[0] < 1.35 * (exact.upper - exact.lower)


@pytest.mark.repeated
@pytest.mark.parametrize("local_value", [0.0, 240.0])
def test_no_interval_is_a_point(local_value: float) -> None:
    """Noise takes the mean out of the bounds in half of the trials; what is left is never a point."""
    for seed in range(40):
        local = STUDY.randomize([local_value] * 60, random_state=seed)
        estimate = STUDY.estimate(trusted=[local_value] * 3, local=local, random_state=seed)
        for level in (0.5, 0.95):
            found, published = estimate.interval(level), estimate.published(level=level)
            assert found.lower < found.upper
            assert published.interval.lower < published.interval.upper
            assert found.lower <= estimate.value <= found.upper


def test_an_interval_unpacks_into_two() -> None:
    low, high = _estimate().interval()
    assert (low, high) == (_estimate().interval().lower, _estimate().interval().upper)
    low, high = _estimate().population_interval(0.5)
    assert low < high


@pytest.mark.statistical
def test_published_intervals_cover() -> None:
    """Fixed weight, public numbers, a known sd: fewer hits have probability 1e-9, and 20 % less width has fewer."""
    study = MeanStudy("x", bounds=(0, 1), epsilon=2)
    rng = np.random.default_rng(5)
    trials, sd = 1000, math.sqrt(10 / 392)
    inside = {0.8: 0, 1.0: 0}
    for seed in range(trials):
        x = rng.beta(2, 5, 400)
        local = study.randomize(x[100:], random_state=seed)
        estimate = study.estimate(trusted=x[:100], local=local, weight="known-variance", sd=sd, random_state=seed)
        published = estimate.published(level=0.9)
        for scale in inside:
            inside[scale] += abs(x.mean() - published.value) <= scale * published.interval.half_width
    assert inside[0.8] < stats.binom.ppf(1e-9, trials, 0.9) <= inside[1.0]
    assert inside[1.0] < stats.binom.ppf(1 - 1e-9, trials, 0.95)


# Which interval


def test_what_the_interval_assumes_is_said_in_the_same_breath() -> None:
    alike = _estimate()
    assert alike.to_dict()["assumes_groups_alike"] is True
    assert "An interval that holds however much they differ is between" in alike.explain()
    local = STUDY.randomize(np.full(50_000, 200.0), random_state=1)
    apart = STUDY.estimate(trusted=[40.0] * 2000, local=local, random_state=2)
    assert apart.groups_differ
    assert apart.to_dict()["assumes_groups_alike"] is False
    assert "if the groups are alike" not in str(apart)
    honest, published = apart.interval(groups_may_differ=True), apart.published()
    assert published.interval.lower <= honest.lower < honest.upper <= published.interval.upper
    fixed = STUDY.estimate(trusted=[40.0] * 2000, local=local, weight=0.5, random_state=2)
    assert fixed.to_dict()["assumes_groups_alike"] is True
    assert "They do differ here: use the second one." in fixed.explain()
    alone = STUDY.estimate(trusted=None, local=REPORTS, single_group=True, random_state=1)
    assert alone.to_dict()["assumes_groups_alike"] is False


def test_public_knowledge_of_the_spread_is_stated() -> None:
    study = MeanStudy("minutes", bounds=(0, 240), epsilon=1, sd_at_most=60)
    local = study.randomize(MINUTES[500:], random_state=1)
    known = study.estimate(trusted=MINUTES[:500], local=local, weight="privacy", random_state=2)
    assert "the standard deviation of the values is at most 60" in known.explain()
    assert known.to_dict()["sd_at_most"] == 60
    widths = [2 * e.published().interval.half_width for e in (known, _estimate(weight="privacy"))]
    assert widths[0] < 0.8 * widths[1]


def test_reprs_are_short() -> None:
    estimate = _estimate()
    study = MeanStudy("a long name " * 9, bounds=(-1e6 / 3, 1e6 / 7), epsilon=1, delta=1e-9, sd_at_most=1e5 / 3)
    shown = (study, study.part("country", "DE"), estimate, estimate.trusted, estimate.local, estimate.divergence)
    more = (
        estimate.error,
        estimate.privacy,
        estimate.weighting,
        estimate.laws,
        estimate.laws.users,
        estimate.interval(),
    )
    assert [x for x in (*shown, *more) if len(repr(x)) >= 200] == []


def test_the_step_is_small_beside_the_range_however_much_noise_there_is() -> None:
    study = MeanStudy("x", bounds=(20, 240), epsilon=0.01)
    reports = study.randomize([100.0] * 5, random_state=1)
    published = study.estimate(trusted=[100.0] * 5, local=reports, random_state=2).published()
    assert published.step <= 220 / 50
    assert 20 < published.value < 240


@pytest.mark.parametrize("bounds", [(1e15, 1e15 + 1), (1.7e18, 1.7e18 + 1000)])
def test_floats_that_cannot_tell_the_ends_apart_still_have_an_interval(bounds: tuple[float, float]) -> None:
    study = MeanStudy("nanoseconds", bounds=bounds, epsilon=5)
    reports = study.randomize([bounds[0]] * 5000, random_state=1)
    estimate = study.estimate(trusted=[bounds[0]] * 5000, local=reports, weight=0.5, random_state=2)
    assert estimate.published().interval.half_width > 0


@pytest.mark.parametrize("step", [np.float64(0.25), np.float32(0.25), 0.25, "0.25"])
def test_numpy_numbers_are_steps(step: float) -> None:
    study = MeanStudy("x", bounds=(0, 10), epsilon=5)
    reports = study.randomize([5.0] * 100, random_state=1)
    assert study.estimate(trusted=[5.0] * 100, local=reports, random_state=2).published(step=step).step == Fraction(
        1, 4
    )


# The groups


def test_groups_are_published_rounded_outwards_and_only_where_that_costs_no_second_tier() -> None:
    estimate = _estimate()
    step, told, exact = estimate.published().step, published_rows(estimate), rows(estimate)
    assert told[-1] == exact[-1]
    for row, unrounded in zip(told, exact, strict=True):
        assert row.name == unrounded.name
        assert abs(row.value - unrounded.value) <= step / 2 + 1e-9
        assert row.interval.lower - 1e-9 <= unrounded.interval.lower
        assert row.interval.upper + 1e-9 >= unrounded.interval.upper
        assert (Fraction(row.value).limit_denominator(10**6) / step).denominator == 1
    assert [row.name for row in published_rows(_estimate(weight=0.5))] == ["hybrid"]


def test_what_a_group_says_beyond_the_bounds_is_published_at_the_bound() -> None:
    beyond = set()
    for seed in range(8):
        local = STUDY.randomize(np.zeros(3), random_state=seed)
        found = STUDY.estimate(trusted=[0.0] * 3, local=local, random_state=seed)
        for row, unrounded in zip(published_rows(found), rows(found), strict=True):
            assert 0 <= row.interval.lower <= row.value <= row.interval.upper <= 240
            if not 0 <= unrounded.value <= 240:
                beyond.add(row.name)
                assert row.value == (0 if unrounded.value < 0 else 240)
    assert beyond == {"trusted alone", "local alone"}
