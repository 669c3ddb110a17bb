"""Reports that cannot have come out of a study's channel: refused if nothing ties them to it, and counted if tied."""

import numpy as np
import pytest

from hybriddp.errors import DataError
from hybriddp.study.reports import Reports
from tests.study.kinds import STUDIES, AnyStudy, at_epsilon, values_for

every_study = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
EPSILONS = {"mean": (0.3, 3, 8), "distribution": (0.4, 4)}
OF_EVERY_EPSILON = [*STUDIES.values(), *(at_epsilon(STUDIES[name], one) for name in EPSILONS for one in EPSILONS[name])]


@every_study
def test_codes_of_a_larger_epsilon_are_refused(study: AnyStudy) -> None:
    """About a constant; about values that vary they may be anything."""
    codes = at_epsilon(study, 6).randomize(values_for(study, 1) * 60_000, random_state=1).codes
    with pytest.raises(DataError, match="cannot come from this study's channel"):
        study.implausible(study.summarize_local(codes[codes <= study.reports_between[1]]))


@pytest.mark.repeated
@pytest.mark.parametrize("study", OF_EVERY_EPSILON, ids=repr)
@pytest.mark.parametrize("n", [200, 3000])
def test_colluders_are_counted_from_below(study: AnyStudy, n: int) -> None:
    """Exactly: unless the real reports raise an alarm, which they do with a probability below 1e-6 each time."""
    rng, most = np.random.default_rng(5), 0
    for seed in range(2):
        real = study.randomize(values_for(study, n, seed=seed), random_state=seed)
        assert study.implausible(study.summarize_local(real)) == 0
        for planted in (1, n // 50, n // 10, n // 2, n):
            for codes in (np.full(planted, 1), rng.choice([0, 1, 2], planted)):
                sent = Reports(np.concatenate([real.codes[planted:], codes]), study.digest)
                found = study.implausible(study.summarize_local(sent))
                assert found <= planted
                most = max(most, found)
    assert most > n / 10


@pytest.mark.parametrize(
    ("kind", "n", "planted", "least"),
    [("mean", 300, 30, 8), ("mean", 10_000, 200, 80), ("hashing", 200, 10, 3), ("hashing", 10_000, 50, 20)],
)
def test_the_colluders_that_used_to_stop_a_study(kind: str, n: int, planted: int, least: int) -> None:
    study = STUDIES[kind]
    real = study.randomize(values_for(study, n - planted), random_state=n)
    sent = Reports(np.concatenate([real.codes, np.full(planted, 17)]), study.digest)
    assert least <= study.estimate(trusted=values_for(study, 50), local=sent).implausible_reports <= planted
