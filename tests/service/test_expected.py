from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.planning import plan
from hybriddp.service.expected import expected_rows

MEAN = MeanStudy("minutes", bounds=(0, 240), epsilon=1)


def test_a_mean_s_error_is_the_planner_s() -> None:
    rows = expected_rows(MEAN.to_json(), 100, 9_900)
    made = plan(MEAN, n_users=10_000, trusted_fraction=0.01)
    assert rows[0] == ("now", "100", "9,900", str(made["adaptive"].rmse))
    assert [(row.trusted, row.local) for row in rows[1:]] == [("200", "19,800"), ("1,000", "99,000"), ("200", "9,900")]


def test_with_hardly_anybody_there_is_something_to_hope_for() -> None:
    first, *rest = expected_rows(MEAN.to_json(), 0, 5)
    assert first == ("now", "0", "5", "too few to say")
    assert rest[0][:3] == ("for example", "100", "10,000")
    assert "too few to say" not in {row.error for row in rest}


def test_other_kinds_have_errors_of_their_own() -> None:
    shares = FrequencyStudy("browser", categories=["a", "b", "c"], other=False, epsilon=1)
    rows = expected_rows(shares.to_json(), 500, 9_500)
    assert all(row.error.endswith(" % of the users") for row in rows)
    items = HeavyHitterStudy("words", epsilon=1, delta=1e-6)
    assert expected_rows(items.to_json(), 500, 9_500) == ()


def test_quantiles_are_planned_by_ranks() -> None:
    study = DistributionStudy("load", bounds=(0, 1000), epsilon=1)
    rows = expected_rows(study.to_json(), 500, 9_500)
    assert all(row.error.endswith(" % of the users") for row in rows)


def test_more_people_than_there_are_cannot_be_planned_for() -> None:
    assert expected_rows(MEAN.to_json(), 10**12, 10**12)[0].error == "not known"
