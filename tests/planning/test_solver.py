import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import ParameterError
from hybriddp.mean.expected import ExpectedStatistics
from tests.examples import fewer_examples
from tests.planning.settings import plan_mean, solve_mean

FIXED = {"bounds": (0, 240), "sd": 30.0}


@pytest.mark.slow
@fewer_examples(3)
@given(n=st.integers(500, 10**6), c=st.floats(0.005, 0.6), factor=st.floats(0.3, 1.5))
def test_solving_for_users_or_opt_ins_inverts_the_plan(n: int, c: float, factor: float) -> None:
    made = plan_mean(n_users=n, trusted_fraction=c, epsilon=1.0, **FIXED)
    target = factor * made.rmse
    found = solve_mean(for_="n_users", target_rmse=target, trusted_fraction=c, epsilon=1.0, **FIXED)
    assert found.plan.rmse <= target
    assert found.value == found.plan.n_users >= 4
    if factor >= 1:
        assert found.value <= n
    if plan_mean(n_users=n, trusted_fraction=(n - 2) / n, epsilon=1.0, **FIXED).rmse > target:
        with pytest.raises(ParameterError, match="^target_rmse must be at least"):
            solve_mean(for_="trusted_fraction", target_rmse=target, n_users=n, epsilon=1.0, **FIXED)
        return
    opted = solve_mean(for_="trusted_fraction", target_rmse=target, n_users=n, epsilon=1.0, **FIXED)
    assert opted.plan.rmse <= target
    assert 0 < opted.value < 1
    if opted.plan.n_trusted > 2:
        one_less = plan_mean(n_users=n, trusted_fraction=(opted.plan.n_trusted - 1) / n, epsilon=1.0, **FIXED)
        assert one_less.rmse > 0.999 * target


@pytest.mark.slow
@fewer_examples(10)
@given(epsilon=st.sampled_from([0.1, 0.7, 4.0]))
def test_solving_for_epsilon_inverts_the_plan(epsilon: float) -> None:
    known = {"n_users": 50_000, "trusted_fraction": 0.01, **FIXED}
    target = plan_mean(epsilon=epsilon, **known).rmse
    found = solve_mean(for_="epsilon", target_rmse=target, **known)
    assert found.plan.rmse <= target
    assert found.value == pytest.approx(epsilon, rel=6e-3)
    assert 0.01 <= found.value <= 20
    assert float(found.plan.privacy.epsilon) == found.value


def test_the_smallest_value_is_enough_for_a_modest_target() -> None:
    assert solve_mean(for_="epsilon", target_rmse=230, n_users=10**6, trusted_fraction=0.1, **FIXED).value == 0.01
    few = solve_mean(for_="trusted_fraction", target_rmse=100, n_users=10**5, epsilon=1.0, **FIXED)
    assert few.plan.n_trusted == 2


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"for_": "epsilon", "n_users": 50, "trusted_fraction": 0.1, "target_rmse": 1e-6}, "no ε up to 20"),
        ({"for_": "n_users", "epsilon": 0.1, "trusted_fraction": 0.1, "target_rmse": 1e-9}, "not even 10,000,000,000"),
        ({"for_": "trusted_fraction", "n_users": 50, "epsilon": 0.1, "target_rmse": 1e-6}, "all but two users trust"),
    ],
)
def test_what_no_value_reaches_is_said_so(known: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=f"target_rmse must be at least .* of the range.*{words}"):
        solve_mean(**known, **FIXED)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("for_", {"for_": "sd", "target_rmse": 1.0}),
        ("n_users", {"for_": "n_users", "n_users": 100, "trusted_fraction": 0.1, "target_rmse": 1.0}),
        ("n_users", {"for_": "epsilon", "trusted_fraction": 0.1, "target_rmse": 1.0}),
        ("target_rmse", {"for_": "epsilon", "n_users": 100, "trusted_fraction": 0.1}),
        ("target_rmse", {"for_": "epsilon", "n_users": 100, "trusted_fraction": 0.1, "target_rmse": -1.0}),
        ("trusted_fraction", {"for_": "n_users", "trusted_fraction": 2, "epsilon": 1, "target_rmse": 1.0}),
        ("n_users", {"for_": "trusted_fraction", "n_users": 2, "epsilon": 1, "target_rmse": 1.0}),
    ],
)
def test_contradictory_goals_are_explained(name: str, known: dict[str, object]) -> None:
    with pytest.raises(ParameterError) as caught:
        solve_mean(**known, **FIXED)
    assert caught.value.name == name


def test_opt_ins_that_do_harm_before_they_help_are_not_skipped() -> None:
    known = {"n_users": 400, "epsilon": 1.0, "bounds": (0, 1), "sd": 0.2, "mean_gap": 0.5}
    few = plan_mean(**known, trusted_fraction=6 / 400).rmse
    found = solve_mean(for_="trusted_fraction", target_rmse=1.0001 * few, **known)
    assert found.plan.n_trusted <= 6


@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.5, 0.9])
def test_the_smallest_study_that_there_can_be_is_tried(fraction: float) -> None:
    found = solve_mean(for_="n_users", target_rmse=200.0, trusted_fraction=fraction, epsilon=1.0, **FIXED)
    smaller = int(found.value) - 1
    if smaller >= 4 and 2 <= round(fraction * smaller) <= smaller - 2:
        assert plan_mean(n_users=smaller, trusted_fraction=fraction, epsilon=1.0, **FIXED).rmse > 200.0
    assert found.plan.n_trusted >= 2


def test_a_search_pays_for_one_interval_and_the_same_question_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def width(_: object, level: float) -> float:
        asked.append(level)
        return 0.125

    monkeypatch.setattr(ExpectedStatistics, "half_width", width)
    known = {"n_users": 123_457, "epsilon": 1.0, **FIXED}
    found = solve_mean(for_="trusted_fraction", target_rmse=0.5, **known)
    assert found.plan["adaptive"].half_width.worst == 30.0
    assert len(asked) == 1
    plan_mean(trusted_fraction=found.value, **known)
    assert len(asked) == 1


def test_users_are_solved_for_where_there_is_a_delta() -> None:
    found = solve_mean(for_="n_users", target_rmse=5, trusted_fraction=0.05, epsilon=1, delta=1e-6, **FIXED)
    assert found.plan.rmse <= 5
    assert found.plan.privacy.delta == "0.000001"
