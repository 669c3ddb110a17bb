import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from hybriddp.release.mechanisms import laplace_variance
from hybriddp.release.release import ReleasedNumbers, release
from hybriddp.shares import FrequencyStudy
from hybriddp.shares.law import GroupShares
from hybriddp.shares.study import sensitivity
from tests.levels import LEVEL, z_limit

TWO = FrequencyStudy("opened the app", categories=["yes", "no"], epsilon="0.5")
FIVE = FrequencyStudy("x", categories=list("abcde"), other=False, epsilon="0.5")


# What one user changes


@pytest.mark.parametrize("study", [TWO, FIVE], ids=["two", "five"])
def test_no_replaced_item_changes_the_release_by_more_than_the_sensitivity(study: FrequencyStudy) -> None:
    """The exact numbers that are released, before noise, of all neighboring groups."""
    names = study.names
    base = [names[i % len(names)] for i in range(7)]
    first = study.statistic(study.summarize_trusted(base))
    changes = []
    for place in range(len(base)):
        for item in names:
            neighbor = [*base[:place], item, *base[place + 1 :]]
            other = study.statistic(study.summarize_trusted(neighbor))
            assert other.sensitivity == sensitivity(len(names))
            changes.append(int(np.abs(other.values - first.values).sum()))
    assert max(changes) == first.sensitivity == sensitivity(len(names))


def _released(study: FrequencyStudy, items: list[object], random_state: int | None = None) -> ReleasedNumbers:
    return release(study.statistic(study.summarize_trusted(items)), study.cost, random_state=random_state)


def test_the_noise_is_that_of_the_sensitivity() -> None:
    for study, scale in ((TWO, 2.0), (FIVE, 4.0)):
        found = _released(study, [study.names[0]] * 10)
        assert found.variance == pytest.approx(laplace_variance(scale))
        assert (found.count, found.counted, found.seeded) == (10, False, False)
    shares = GroupShares.of_release(_released(TWO, ["yes"] * 10), 2).shares
    assert shares.sum() == pytest.approx(1)  # the second one is the rest


@pytest.mark.statistical
@pytest.mark.parametrize("seeded", [False, True])
def test_the_noise_has_this_law(seeded: bool) -> None:
    """5,000 draws of either scale; another scale, 20 % off, is noticed."""
    study = FrequencyStudy("x", categories=range(5000), other=False, epsilon="0.5")
    released = _released(study, [0] * 9, random_state=4 if seeded else None)
    noise = released.values.copy()
    noise[0] -= 9

    def pvalue(scale: float) -> float:
        inner = np.arange(-12, 13)
        law = stats.dlaplace(1 / scale)
        expected = np.array([law.cdf(-13), *law.pmf(inner), law.sf(12)]) * len(noise)
        counts = Counter(np.clip(noise, -13, 13).astype(int).tolist())
        return float(stats.chisquare([counts[i] for i in range(-13, 14)], expected).pvalue)

    assert pvalue(4.0) > LEVEL
    assert pvalue(3.2) < LEVEL
    assert abs(noise.mean()) / math.sqrt(released.variance / len(noise)) < z_limit()
