import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from hybriddp.errors import BudgetError, DataError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.release import release as door
from hybriddp.release.mechanisms import laplace_variance
from hybriddp.release.release import ReleasedNumbers, release
from hybriddp.shares import FrequencyStudy, LocalCounts, TrustedCounts
from hybriddp.shares.answer import sensitivity
from hybriddp.shares.law import GroupShares
from tests.levels import LEVEL, z_limit

TWO = FrequencyStudy("opened the app", categories=["yes", "no"], epsilon="0.5")
FIVE = FrequencyStudy("x", categories=list("abcde"), other=False, epsilon="0.5")
ITEMS = list("aaaabbbccd") * 20
REPORTS = FIVE.randomize(ITEMS * 10, random_state=1)


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


# The ledger


def test_a_release_is_paid_for_once_and_first() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    found = FIVE.estimate(trusted=ITEMS, local=FIVE.randomize(ITEMS), ledger=ledger)
    (event,) = ledger.events
    assert (event.what, event.name) == ("counts of the trusted group", FIVE.name)
    assert (event.who, event.study) == ("everybody", FIVE.digest)
    assert (event.epsilon, event.delta) == ("0.5", "0")
    assert found.privacy.counted
    with pytest.raises(BudgetError, match="It has been released already"):
        FIVE.estimate(trusted=ITEMS, local=FIVE.randomize(ITEMS), ledger=ledger)
    assert len(ledger.events) == 1


def test_nothing_is_drawn_before_it_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(Privacy(epsilon=1))

    def broken(*_: object, **__: object) -> None:
        assert len(ledger.events) == 1
        raise RuntimeError("no noise today")

    monkeypatch.setattr(door, "_add_noise", broken)
    with pytest.raises(RuntimeError, match="no noise today"):
        FIVE.estimate(trusted=ITEMS, local=FIVE.randomize(ITEMS), ledger=ledger)
    assert len(ledger.events) == 1


def test_what_releases_nothing_costs_nothing() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    found = FIVE.estimate(trusted=None, local=REPORTS, single_group=True, ledger=ledger)  # a simulation
    assert (found.privacy.released, found.privacy.counted, found.trusted) == (False, False, None)
    simulated = FIVE.estimate(trusted=ITEMS, local=REPORTS, ledger=ledger, random_state=1)
    assert (simulated.privacy.seeded, simulated.privacy.counted) == (True, False)
    assert ledger.events == ()
    with pytest.raises(ParameterError, match="^ledger must be None or a Ledger"):
        FIVE.estimate(trusted=ITEMS, local=REPORTS, ledger="ledger.json")


def test_a_seed_anywhere_makes_it_a_simulation() -> None:
    assert "NOT a private release" in str(FIVE.estimate(trusted=ITEMS, local=REPORTS))
    real = FIVE.estimate(trusted=ITEMS, local=FIVE.randomize(ITEMS))
    assert "simulation" not in str(real)
    assert "NOT a private release" in FIVE.estimate(trusted=ITEMS, local=real_counts(), random_state=2).explain()


def real_counts() -> LocalCounts:
    return FIVE.summarize_local(FIVE.randomize(ITEMS))


# Parts


def _parts(study: FrequencyStudy) -> dict[str, tuple[TrustedCounts, LocalCounts]]:
    parts = {}
    for key, item in {"DE": "a", "FR": "b"}.items():
        part = study.part("country", key)
        reports = part.randomize([item] * 5000, random_state=1)
        parts[key] = part.summarize_trusted([item] * 200), part.summarize_local(reports)
    return parts


def test_parts_are_paid_for_together() -> None:
    ledger = Ledger(Privacy(epsilon="0.5"))
    found = FIVE.estimate_parts("country", _parts(FIVE), ledger=ledger)
    assert [str(event.part) for event in ledger.events] == ["country = DE", "country = FR"]
    assert {event.study for event in ledger.events} == {FIVE.digest}
    assert found["DE"].share("a") > 0.8 < found["FR"].share("b")
    assert all(one.privacy.counted for one in found.values())
    assert ledger.remaining("trusted").epsilon == 0
    with pytest.raises(BudgetError):
        FIVE.estimate_parts("country", _parts(FIVE), ledger=ledger)


def test_if_one_part_fails_none_is_released() -> None:
    ledger = Ledger(Privacy(epsilon="0.5"))
    parts = _parts(FIVE)
    with pytest.raises(DataError, match="1 of 2 parts cannot be estimated. FR: The trusted group is empty"):
        FIVE.estimate_parts("country", {**parts, "FR": (None, parts["FR"][1])}, ledger=ledger)
    with pytest.raises(DataError, match="FR: summaries must hold a pair"):
        FIVE.estimate_parts("country", {**parts, "FR": parts["FR"][0]}, ledger=ledger)  # type: ignore[dict-item]
    with pytest.raises(ParameterError, match="^summaries must be those of at least one part"):
        FIVE.estimate_parts("country", {}, ledger=ledger)
    assert ledger.events == ()
    simulated = FIVE.estimate_parts("country", parts, ledger=ledger, random_state=1)
    assert all(one.privacy.seeded for one in simulated.values())
    assert ledger.events == ()
