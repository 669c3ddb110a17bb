import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.mean import MeanStudy
from hybriddp.mean.answer import shrink
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger

STUDY = MeanStudy("session minutes", bounds=(0, 240), epsilon=0.5)
RNG = np.random.default_rng(7)
MINUTES = np.minimum(RNG.gamma(2.0, 20.0, 21_000), 240)
TRUSTED = MINUTES[:1000]
CODES = STUDY.randomize(MINUTES[1000:], random_state=1)


# The study as a value


def _text(**changes: object) -> str:
    return json.dumps({**json.loads(STUDY.to_json()), **changes}, separators=(",", ":"))


def test_a_study_keeps_the_channel_of_its_text() -> None:
    """Another machine may have computed other values: its channel is verified and used, not computed again."""
    channel = json.loads(STUDY.to_json())["channel"]
    channel["half"][-1] += 1
    study = MeanStudy.from_json(_text(channel=channel))
    assert study.channel.half[-1] == STUDY.channel.half[-1] + 1
    assert study.digest != STUDY.digest
    assert study != STUDY
    assert study.summarize_local([1]).study == study.digest


def test_a_study_with_a_channel_that_is_not_private_is_refused() -> None:
    channel = json.loads(STUDY.to_json())["channel"]
    with pytest.raises(ProtocolError, match="The channel is refused"):
        MeanStudy.from_json(_text(channel={**channel, "low": channel["low"] + 1}))
    with pytest.raises(ProtocolError, match="0.5 was promised|not describe|was promised"):
        MeanStudy.from_json(_text(epsilon="0.4"))
    with pytest.raises(ProtocolError):  # the paper's, which has more variance
        MeanStudy.from_json(_text(channel={"type": "discrete-laplace", "version": 2, "epsilon": "0.5"}))
    with pytest.raises(ProtocolError, match="its text is not the one that to_json writes"):
        MeanStudy.from_json(STUDY.to_json() + " ")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("bounds", {"bounds": (0, 1e200)}),
        ("bounds", {"bounds": (0, 1e-170)}),
        ("bounds", {"bounds": (1, 0)}),
        ("bounds", {"bounds": None}),
        ("delta", {"delta": 1}),
        ("channel", {"channel": "window"}),
    ],
)
def test_bad_parameters_are_named(name: str, change: dict[str, object]) -> None:
    good: dict[str, object] = {"name": "x", "bounds": (0, 1), "epsilon": 0.5}
    with pytest.raises(ParameterError) as caught:
        MeanStudy(**{**good, **change})
    assert caught.value.name == name


# The estimate


def test_the_answer_is_near_the_truth_and_between_the_groups() -> None:
    estimate = STUDY.estimate(trusted=TRUSTED, local=CODES)
    assert abs(estimate.value - MINUTES.mean()) < 16 * estimate.standard_error  # beyond: e^(-16 sqrt(2)), 1e-10
    assert estimate.trusted_mean is not None
    assert estimate.local_mean is not None
    low, high = sorted([estimate.trusted_mean, estimate.local_mean])
    assert low <= estimate.unbiased <= high
    assert (estimate.n_trusted, estimate.n_local) == (1000, 20_000)
    assert 1000 / 21_000 < estimate.weight < 1


def test_intervals_are_nested_and_within_the_bounds() -> None:
    estimate = STUDY.estimate(trusted=TRUSTED, local=CODES, random_state=3)
    narrow, wide, population = estimate.interval(0.5), estimate.interval(0.99), estimate.population_interval(0.5)
    assert wide.lower < narrow.lower < estimate.value < narrow.upper < wide.upper
    assert population.lower < narrow.lower
    assert estimate.interval(1 - 1e-12).lower >= 0
    with pytest.raises(ParameterError, match="^level must be"):
        estimate.interval(95)


def test_either_group_alone_is_less_sure_than_both_together() -> None:
    estimate = STUDY.estimate(trusted=TRUSTED, local=CODES, random_state=3)
    assert estimate.trusted is not None
    assert estimate.local is not None
    for group in (estimate.trusted, estimate.local):
        assert group.law.variance > 0.99 * estimate.laws.users.variance
        interval = group.interval(0.95)
        assert interval.lower < group.mean < interval.upper


def test_the_parts_of_the_error_add_up() -> None:
    estimate = STUDY.estimate(trusted=TRUSTED, local=CODES, random_state=3)
    assert estimate.error.total == pytest.approx(estimate.standard_error**2, rel=1e-9)


WEIGHT_OF = {"naive": 1000 / 21_000, "trusted-only": 1.0, "local-only": 0.0, 0.3: 0.3, 1.0: 1.0}


@pytest.mark.parametrize("weight", ["adaptive", "privacy", *WEIGHT_OF])
def test_every_weight_can_be_used(weight: str | float) -> None:
    estimate = STUDY.estimate(trusted=TRUSTED, local=CODES, weight=weight, random_state=3)
    assert abs(estimate.value - MINUTES.mean()) < 16 * 240 * estimate.laws.population.variance**0.5
    if weight in WEIGHT_OF:
        assert estimate.weight == pytest.approx(WEIGHT_OF[weight])
    if weight != "adaptive":
        assert estimate.value == estimate.unbiased


def test_one_group_by_name_is_that_group_alone() -> None:
    trusted = STUDY.estimate(trusted=TRUSTED, local=CODES, weight="trusted-only", random_state=3)
    assert trusted.value == trusted.trusted_mean
    local = STUDY.estimate(trusted=TRUSTED, local=CODES, weight="local-only", random_state=3)
    assert local.value == local.local_mean


def test_the_answer_keeps_to_the_bounds_and_the_unbiased_one_does_not() -> None:
    tiny = MeanStudy("x", bounds=(0, 1), epsilon=0.01)
    local = tiny.randomize([1.0] * 30, random_state=1)
    estimates = [tiny.estimate(trusted=[1.0] * 5, local=local, random_state=seed) for seed in range(30)]
    assert all(0 <= estimate.value <= 1 for estimate in estimates)
    assert any(not 0 <= estimate.unbiased <= 1 for estimate in estimates)
    for estimate in estimates:
        interval = estimate.interval(0.95)
        assert 0 <= interval.lower <= estimate.value <= interval.upper <= 1
        assert "mostly noise" in estimate.explain()


def test_the_known_variance_weight_is_the_best_for_that_variance() -> None:
    known = STUDY.estimate(trusted=TRUSTED, local=CODES, weight="known-variance", sd=28.0, random_state=3)
    assert known.weighting.variance == pytest.approx((28 / 240) ** 2)
    wide = STUDY.estimate(trusted=TRUSTED, local=CODES, weight="known-variance", sd=120.0, random_state=3)
    assert wide.weight < known.weight


def test_the_story_is_told() -> None:
    ledger, reports = Ledger(Privacy(epsilon=0.5)), STUDY.randomize(MINUTES[1000:])
    story = STUDY.estimate(trusted=TRUSTED, local=reports, ledger=ledger).explain()
    for words in ("session minutes:", "1,000 trusted the curator and 20,000 reported locally", "promised ε = 0.5"):
        assert words in story
    assert "Nobody is counting" not in story
    assert "Nobody is counting" in STUDY.estimate(trusted=TRUSTED, local=reports).explain()
    assert "mostly noise" not in story
    assert "NOT a private release" in STUDY.estimate(trusted=TRUSTED, local=reports, random_state=1).explain()
    assert "NOT a private release" in STUDY.estimate(trusted=TRUSTED, local=CODES).explain()


def test_the_json_holds_the_causes_of_errors() -> None:
    full = STUDY.estimate(trusted=TRUSTED, local=CODES, random_state=1).to_dict(full=True)
    assert set(full["curator"]["error"]) == {"sampling", "trusted_noise", "local_noise"}
    alone = STUDY.estimate(trusted=None, local=CODES, single_group=True).to_dict(full=True)["curator"]
    assert (alone["divergence"], alone["rows"][0]["trusted_alone"]) == (None, None)


def test_gaussian_noise_is_used_where_delta_is_positive() -> None:
    study = MeanStudy("x", bounds=(0, 240), epsilon=0.5, delta=1e-6)
    estimate = study.estimate(trusted=TRUSTED, local=study.summarize_local(CODES.codes))
    assert estimate.laws.users.noise.laplace == 0
    assert estimate.privacy.delta == "0.000001"


# One group alone


def test_one_group_alone_is_only_used_when_asked_for() -> None:
    for trusted, local, name in ((None, CODES, "trusted"), (TRUSTED, None, "local"), ([], CODES, "trusted")):
        with pytest.raises(DataError, match=f"The {name} group is empty"):
            STUDY.estimate(trusted=trusted, local=local)
        alone = STUDY.estimate(trusted=trusted, local=local, single_group=True, random_state=1)
        assert alone.divergence is None
        assert alone.weight == (1.0 if name == "local" else 0.0)
        assert "single model" in alone.explain()
        assert abs(alone.value - MINUTES.mean()) < 16 * 240 * alone.laws.population.variance**0.5
    with pytest.raises(DataError, match="Both groups are empty"):
        STUDY.estimate(trusted=None, local=None, single_group=True)


@pytest.mark.parametrize("weight", ["trusted-only", "naive", "privacy", 0.3, 1.0])
def test_a_weight_that_asks_for_an_empty_group_is_refused(weight: str | float) -> None:
    with pytest.raises(DataError, match="The trusted group is empty, but weight="):
        STUDY.estimate(trusted=None, local=CODES, weight=weight, single_group=True)


def test_local_only_releases_nothing_about_the_trusted_group() -> None:
    ledger = Ledger(Privacy(epsilon=0.5))
    with pytest.raises(DataError, match="The local group is empty, but weight='local-only'"):
        STUDY.estimate(trusted=TRUSTED, local=[], weight="local-only", single_group=True, ledger=ledger)
    for weight in ("local-only", 0.0):
        estimate = STUDY.estimate(trusted=TRUSTED, local=CODES, weight=weight, ledger=ledger)
        assert estimate.value == estimate.local_mean
        assert estimate.trusted is None
        assert not estimate.privacy.released
        assert "Nobody is counting" not in estimate.explain()
        assert estimate.error.sampling > 0  # against the mean of everybody
    assert ledger.events == ()


# What the adaptive answer is made of


def test_groups_that_differ_lose_the_extra_weight_in_the_answer_itself() -> None:
    study = MeanStudy("x", bounds=(0, 1), epsilon=2.0)
    codes = study.randomize(np.full(50_000, 0.2), random_state=1)
    estimate = study.estimate(trusted=np.full(2000, 0.8), local=codes, random_state=2)
    assert estimate.divergence is not None
    assert estimate.divergence.share < 0.05
    c = 2000 / 52_000
    assert estimate.weight == pytest.approx(c + (estimate.weighting.weight - c) * estimate.divergence.share)
    assert estimate.value == pytest.approx(0.2 + 0.6 * estimate.weight, abs=0.02)
    assert "of the trusted group's extra weight was kept" in estimate.explain()


def test_the_answer_is_the_shrunk_one_and_the_interval_is_about_the_unbiased_one() -> None:
    noisy = MeanStudy("x", bounds=(0, 1), epsilon=0.1)
    codes = noisy.randomize(np.full(2000, 0.9), random_state=1)
    estimate = noisy.estimate(trusted=np.full(100, 0.9), local=codes, random_state=2)
    assert estimate.value == pytest.approx(shrink(estimate.unbiased, estimate.standard_error**2))
    assert estimate.value != pytest.approx(estimate.unbiased, abs=1e-4)
    interval = estimate.interval(0.5)
    expected = estimate.laws.users.interval(0.5)
    assert (interval.lower, interval.upper) == pytest.approx((expected.lower, expected.upper))
    assert estimate.laws.users.answer == estimate.unbiased


def test_what_doubt_costs_is_in_both_intervals() -> None:
    estimate = STUDY.estimate(trusted=TRUSTED, local=CODES, random_state=3)
    assert estimate.divergence is not None
    price = estimate.divergence.price * 240**2
    assert price > 0
    n_t, n_l, w, s = (
        1000,
        20_000,
        estimate.weight,
        estimate.laws.users.evidence.expected(estimate.laws.users.answer) * 240**2,
    )
    noise = estimate.error.trusted_noise + estimate.error.local_noise
    found = estimate.laws.population.variance * 240**2
    assert found == pytest.approx(w**2 * s / n_t + (1 - w) ** 2 * s / n_l + price + noise)
    assert estimate.error.sampling == pytest.approx((w - n_t / 21_000) ** 2 * s * (1 / n_t + 1 / n_l) + price)


@pytest.mark.statistical
def test_few_reports_say_nothing_about_the_variance() -> None:
    """A fair coin, three reports: the population interval must still cover; fewer hits have probability 1e-9."""
    study, rng = MeanStudy("x", bounds=(0, 1), epsilon=1.0), np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        local = study.randomize(rng.integers(0, 2, 3).astype(float), random_state=rng)
        trusted = rng.integers(0, 2, 1000).astype(float)
        interval = study.estimate(trusted=trusted, local=local, random_state=rng).population_interval(0.95)
        covered += interval.lower <= 0.5 <= interval.upper
    assert covered >= stats.binom.ppf(1e-9, 400, 0.95)


# What is refused


def test_impossible_weights_are_refused_and_nothing_is_charged() -> None:
    ledger = Ledger(Privacy(epsilon=0.5))
    cases: list[dict[str, Any]] = [
        {"weight": "best"},
        {"weight": "full-local"},
        {"weight": 1.5},
        {"weight": "known-variance"},
        {"sd": 5.0},
        {"weight": "known-variance", "sd": 121.0},
    ]
    for case in cases:
        with pytest.raises(ParameterError, match="^(weight|sd) must be"):
            STUDY.estimate(trusted=TRUSTED, local=CODES, ledger=ledger, **case)
    assert ledger.events == ()
