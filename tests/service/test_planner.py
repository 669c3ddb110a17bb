import asyncio

import pytest

from hybriddp import MeanStudy, plan
from hybriddp.service import planner
from hybriddp.service.planner import EXAMPLE, Planned, Planner, PlanRequest, plan_now
from hybriddp.service.problems import Refusal


def request(**changes: str) -> PlanRequest:
    return PlanRequest.read(EXAMPLE | changes)


def test_the_answer_is_the_command_line_s() -> None:
    found = plan_now(request(users="100,000"))
    study = MeanStudy("plan", bounds=(0, 240), epsilon=1)
    made = plan(study, n_users=100_000, trusted_fraction=0.05, sd=30, mean=40)
    assert found.plan == made
    assert found.answer == made.headline()
    assert found.problems == {}


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"users": ""}, "users", "a number is needed"),
        ({"users": "many"}, "users", "not a number"),
        ({"users": "10.5"}, "users", "a whole number"),
        ({"users": "3"}, "users", "must be a whole number of at least 4"),
        ({"users": "1" * 41}, "users", "not a number"),
        ({"opt_ins": "0"}, "opt_ins", "above 0 % and below 100 %"),
        ({"opt_ins": "0.0001"}, "opt_ins", "each of the two groups of 100,000 users has at least two"),
        ({"epsilon": "50"}, "epsilon", "from 0.01 to 20"),
        ({"epsilon": "0,5"}, "epsilon", "after a point"),
        ({"users": "1,00"}, "users", "after a point"),
        ({"users": "1_000"}, "users", "not a number"),
        ({"upper": "-1"}, "upper", "above the lower one"),
        ({"upper": "1e308"}, "upper", "The bounds must be"),
        ({"sd": "500"}, "sd", "at most"),
        ({"mean": "-3"}, "mean", "between the bounds"),
    ],
)
def test_what_is_wrong_is_said_in_words(changes: dict[str, str], field: str, words: str) -> None:
    found = plan_now(request(**changes))
    assert (found.plan, found.answer, found.notes) == (None, (), ())
    assert list(found.problems) == [field]
    assert words in found.problems[field]


def test_an_address_holds_the_whole_state() -> None:
    asked = request(against="epsilon", sd="")
    given = dict(part.split("=") for part in asked.query.split("&"))
    assert PlanRequest.read(given) == asked
    assert PlanRequest.read({}).texts == tuple(EXAMPLE.items())
    assert PlanRequest.read({"against": "users"}).against == "opt-ins"
    assert asked.study_query == "kind=mean&epsilon=1&lower=0&upper=240"


def test_answers_are_kept_and_new_ones_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def note(asked: PlanRequest) -> Planned:
        made.append(asked)
        return Planned(asked, None, None, {})

    monkeypatch.setattr(planner, "plan_now", note)
    monkeypatch.setattr(planner, "monotonic", lambda: 60.0)

    async def ask() -> None:
        desk = Planner(2)
        for users in ("10", "10", "20", "10"):
            await desk.plan(request(users=users))
        with pytest.raises(Refusal, match="Wait a minute"):
            await desk.plan(request(users="30"))
        await desk.plan(request(users="20"))
        monkeypatch.setattr(planner, "monotonic", lambda: 120.0)
        await desk.plan(request(users="30"))
        wrong = await desk.plan(request(users="x"))  # costs nothing
        assert wrong.problems == {}  # noted, too

    asyncio.run(ask())
    assert [dict(asked.texts)["users"] for asked in made] == ["10", "20", "30", "x"]


def test_few_wait_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "plan_now", lambda asked: Planned(asked, None, None, {}))

    async def ask() -> list[object]:
        desk = Planner(0)
        wanted = [desk.plan(request(users=str(n))) for n in range(10, 30)]
        return await asyncio.gather(*wanted, return_exceptions=True)

    found = asyncio.run(ask())
    assert sum(isinstance(one, Planned) for one in found) == 8
    assert {str(one) for one in found if isinstance(one, Refusal)} == {
        "Many people are planning now. Wait a few seconds and try again."
    }
