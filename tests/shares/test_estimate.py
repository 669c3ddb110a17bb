import numpy as np
import pytest

from hybriddp.errors import DataError, ParameterError
from hybriddp.shares import OTHER, FrequencyStudy
from hybriddp.shares.law import ShareIntervals
from tests.levels import z_limit

STUDY = FrequencyStudy("x", categories=list("abcde"), other=False, epsilon=1)
RNG = np.random.default_rng(5)
TRUSTED = RNG.choice(list("abcde"), 2000, p=[0.5, 0.3, 0.15, 0.04, 0.01])
LOCAL = RNG.choice(list("abcde"), 20_000, p=[0.5, 0.3, 0.15, 0.04, 0.01])
REPORTS = STUDY.randomize(LOCAL, random_state=1)
FOUND = STUDY.estimate(trusted=TRUSTED, local=REPORTS, random_state=2)
APART = STUDY.estimate(trusted=np.repeat(["a", "e"], 1000), local=REPORTS, random_state=2)


def test_the_answer_is_near_the_truth_and_between_the_groups() -> None:
    truth = np.array([np.mean(np.concatenate([TRUSTED, LOCAL]) == item) for item in FOUND.items])
    assert np.all(np.abs(FOUND.unbiased - truth) < 16 * FOUND.standard_errors)  # beyond: e^(-16 sqrt(2)), 1e-10
    assert FOUND.trusted is not None
    assert FOUND.local is not None
    ends = np.sort([FOUND.trusted.shares, FOUND.local.shares], axis=0)
    assert np.all((ends[0] <= FOUND.unbiased) & (FOUND.unbiased <= ends[1]))
    assert (FOUND.n_trusted, FOUND.n_local, len(FOUND)) == (2000, 20_000, 5)
    assert np.all((FOUND.weight > 2 / 22) & (FOUND.weight < 1))
    assert FOUND.unbiased.sum() == pytest.approx(1, abs=0.05)


def test_one_category_is_asked_for_by_its_name() -> None:
    assert FOUND.share("b") == FOUND.shares[1]
    assert FOUND.standard_error("b") == FOUND.standard_errors[1]
    interval = FOUND.interval("b", 0.9)
    assert tuple(interval) == (FOUND.intervals(0.9).lower[1], FOUND.intervals(0.9).upper[1])
    for wrong in ("z", None, ["a"], OTHER):
        with pytest.raises(ParameterError, match="^item must be one of the study's categories"):
            FOUND.share(wrong)


def test_intervals_are_nested() -> None:
    narrow, wide = FOUND.intervals(0.5), FOUND.intervals(0.99)
    population, honest = FOUND.intervals(0.5, population=True), FOUND.intervals(0.5, groups_may_differ=True)
    assert np.all((wide.lower <= narrow.lower) & (narrow.lower <= FOUND.shares))
    assert np.all((FOUND.shares <= narrow.upper) & (narrow.upper <= wide.upper))
    assert np.all(population.upper - population.lower > narrow.upper - narrow.lower)
    assert np.all(honest.upper - honest.lower > narrow.upper - narrow.lower)
    with pytest.raises(ParameterError, match="^level must be"):
        FOUND.intervals(95)


def test_the_largest_shares_come_first() -> None:
    top = FOUND.top(3)
    assert [row.name for row in top] == ["a", "b", "c"]
    assert [row.value for row in top] == sorted(FOUND.shares, reverse=True)[:3]
    assert [row.name for row in FOUND.rows()] == list("abcde")
    assert len(FOUND.top(100)) == 5
    assert all(row.value in row.interval for row in FOUND.rows())
    with pytest.raises(ParameterError, match="^n must be"):
        FOUND.top(0)


def test_a_distribution_is_made_on_demand() -> None:
    assert FOUND.distribution().sum() == pytest.approx(1)
    assert FOUND.distribution().min() >= 0
    few = STUDY.estimate(trusted=["a"] * 10, local=STUDY.randomize(["a"] * 30, random_state=3), random_state=2)
    assert few.unbiased.min() < 0 <= few.shares.min()
    assert few.shares.max() <= 1


def test_groups_that_differ_have_intervals_that_assume_nothing() -> None:
    assert not FOUND.groups_differ
    _same(FOUND.stated_intervals(), FOUND.intervals())
    assert APART.groups_clearly_differ
    honest = APART.intervals(groups_may_differ=True)
    stated = APART.stated_intervals()
    np.testing.assert_array_equal(stated.lower, np.minimum(honest.lower, APART.shares))
    np.testing.assert_array_equal(stated.upper, np.maximum(honest.upper, APART.shares))
    assert np.all((stated.lower <= APART.shares) & (APART.shares <= stated.upper))


def _same(one: ShareIntervals, other: ShareIntervals) -> None:
    np.testing.assert_array_equal([one.lower, one.upper], [other.lower, other.upper])
    assert one.level == other.level


def test_groups_that_may_differ_get_both_intervals() -> None:
    rng = np.random.default_rng(0)
    for seed in range(200):
        found = STUDY.estimate(
            trusted=rng.choice(list("abcde"), 2000, p=[0.53, 0.27, 0.15, 0.04, 0.01]), local=REPORTS, random_state=seed
        )
        if found.divergence is not None and 2 < found.divergence.z < 4 and not found.divergence.differing.any():
            break
    alike, honest = found.intervals(), found.intervals(groups_may_differ=True)
    stated = found.stated_intervals()
    np.testing.assert_array_equal(stated.lower, np.minimum.reduce([alike.lower, honest.lower, found.shares]))
    np.testing.assert_array_equal(stated.upper, np.maximum.reduce([alike.upper, honest.upper, found.shares]))


def test_one_group_alone() -> None:
    alone = STUDY.estimate(trusted=None, local=REPORTS, single_group=True)
    assert (alone.n_trusted, alone.divergence, alone.trusted) == (0, None, None)
    assert set(alone.weight) == {0.0}
    _same(alone.stated_intervals(), alone.intervals())
    other = STUDY.estimate(trusted=TRUSTED, local=None, single_group=True, random_state=1)
    assert (other.n_local, other.local, set(other.weight)) == (0, None, {1.0})


def test_other_items_have_a_share() -> None:
    study = FrequencyStudy("x", categories=["a", "b"], epsilon=4, other=True)
    found = study.estimate(trusted=TRUSTED, local=study.randomize(LOCAL, random_state=1), random_state=2)
    assert found.items == ("a", "b", OTHER)
    assert found.share(OTHER) == pytest.approx(0.2, abs=0.05)


# As plain values


def test_plain_values_have_everything() -> None:
    content = FOUND.to_dict(full=True)
    assert (content["largest"], content["assumes_groups_alike"]) == (None, True)
    assert [(row["name"], row["selected"]) for row in content["rows"]] == [(item, False) for item in "abcde"]
    full = content["curator"]
    assert len(full["divergence"]["item_z"]) == 5
    for name, numbers in (
        ("value", FOUND.shares),
        ("unbiased", FOUND.unbiased),
        ("weight", FOUND.weight),
        ("standard_error", FOUND.standard_errors),
        ("upper", FOUND.stated_intervals().upper),
    ):
        np.testing.assert_array_equal([row[name] for row in full["rows"]], numbers)
    alone = STUDY.estimate(trusted=None, local=REPORTS, single_group=True).to_dict(full=True)["curator"]
    assert ({row["trusted_alone"] for row in alone["rows"]}, alone["divergence"]) == ({None}, None)


def test_a_table_of_the_largest_shares_has_the_level_of_its_selection() -> None:
    two = FOUND.published(top=2).to_pandas()
    assert two["name"].tolist() == ["a", "b"]
    assert np.all(two["upper"] >= FOUND.stated_intervals(0.98).upper[:2])
    assert (set(two["level"]), set(two["selected"])) == ({0.98}, {True})


# The law of whole studies


@pytest.mark.statistical
@pytest.mark.representative
@pytest.mark.parametrize(("epsilon", "k"), [("0.5", 5), (1, 12), (2, 40)])
def test_whole_studies_err_as_they_say(epsilon: float | str, k: int) -> None:
    """Real reports and noise of 600 studies: errors, variances and intervals of all categories together.

    Errors of one study may be correlated, so the standard error of what they add up to is taken from the studies. A
    standard error that is a fifth too small is noticed.
    """
    study = FrequencyStudy("x", categories=range(k), other=False, epsilon=epsilon)
    f = 1 / np.arange(1.0, k + 1)
    f /= f.sum()
    rng = np.random.default_rng([7, k])
    errors, claimed, hits, trials = [], [], 0, 600
    for _ in range(trials):
        ours, theirs = rng.choice(k, 300, p=f), rng.choice(k, 3000, p=f)
        found = study.estimate(trusted=ours, local=study.randomize(theirs, random_state=rng), random_state=rng)
        truth = np.bincount(np.concatenate([ours, theirs]), minlength=k) / 3300
        errors.append(found.unbiased - truth)
        claimed.append(found.standard_errors**2)
        ends = found.intervals()
        hits += int(np.count_nonzero((ends.lower <= truth) & (truth <= ends.upper)))

    def score(factor: float) -> float:
        excess = np.sum(np.square(errors) - factor * np.array(claimed), axis=1)
        return float(excess.mean() / (excess.std() / np.sqrt(trials)))

    limit = z_limit(4)
    assert score(0.93) > -limit  # weights follow the estimates, which costs some percent
    assert score(1.07) < limit
    assert score(0.64) > limit
    assert hits / (trials * k) > 0.93
    assert np.abs(np.mean(errors, axis=0) / np.std(errors, axis=0)).max() < limit / np.sqrt(trials) + 0.05


def test_one_group_says_nothing_of_the_other() -> None:
    partly = STUDY.estimate(trusted=None, local=REPORTS, single_group=True)
    _same(partly.intervals(groups_may_differ=True), partly.blend.law_if_groups_differ().intervals(0.95))
    with pytest.raises(DataError, match="is empty"):
        STUDY.estimate(trusted=[], local=REPORTS)
