import pytest

from hybriddp.errors import ParameterError
from hybriddp.planning.curves import EPSILON, EPSILONS, error_curves
from hybriddp.planning.estimators import OURS
from tests.planning.settings import plan_mean

pytestmark = pytest.mark.repeated

MADE = plan_mean(n_users=50_000, trusted_fraction=0.02, epsilon=1, bounds=(0, 100), sd=10)


@pytest.mark.slow
def test_curves_pass_through_the_plan() -> None:
    for against in ("opt-ins", EPSILON):
        curves = error_curves(MADE, against)
        at = curves.x.index(curves.here)
        assert len(curves.worst) == len(MADE.options)
        for name, line in curves.worst.items():
            assert line[at] == pytest.approx(MADE[name].rmse.worst)
        assert curves.best[at] == pytest.approx(MADE[OURS].rmse.best)


def test_places_stay_while_a_plan_moves_along_them() -> None:
    one, other = (
        error_curves(plan_mean(n_users=50_000, trusted_fraction=c, epsilon=1, bounds=(0, 100), sd=10))
        for c in (0.02, 0.3)
    )
    assert {*one.x} - {0.02} == {*other.x} - {0.3}
    assert error_curves(MADE, EPSILON).x == tuple(map(float, EPSILONS))


def test_a_more_private_study_is_less_accurate() -> None:
    ours = error_curves(MADE, EPSILON).worst[OURS]
    assert list(ours) == sorted(ours, reverse=True)
    opt_ins = error_curves(MADE).worst["trusted-only"]
    assert list(opt_ins) == sorted(opt_ins, reverse=True)


def test_small_studies_have_curves_too() -> None:
    curves = error_curves(plan_mean(n_users=8, trusted_fraction=0.25, epsilon=1, bounds=(0, 1)))
    assert (curves.x[0], curves.here) == (0.25, 0.25)
    assert curves.x[-1] <= 0.75
    with pytest.raises(ParameterError, match="against must be one of"):
        error_curves(MADE, "users")
