from fractions import Fraction
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from hybriddp.privacy import Privacy
from hybriddp.release.event import Event, Part, Spent
from hybriddp.release.history import Exposure

parts = st.one_of(
    st.none(),
    st.builds(Part, st.sampled_from(["country", "age"]), st.sampled_from(["a", "A", "b", 3])),
)
events = st.builds(
    lambda epsilon, delta, part: Event.now(
        "a", who="trusted", study="d", privacy=Privacy(epsilon=epsilon, delta=delta), part=part
    ),
    st.sampled_from(["0.01", "0.3", "1.25", "19.999999999999999"]),
    st.sampled_from(["0", "1e-300", "0.001"]),
    parts,
)


def _by_definition(some: list[Event], part: Part | None) -> Spent:
    """The most over everybody: a user is in one part of each partition, or in none."""
    partitions = sorted({e.part.by for e in some if e.part})
    keys = [
        {part.same_key} if part is not None and part.by == by else {e.part.same_key for e in some if e.part} | {""}
        for by in partitions
    ]
    users = [dict(zip(partitions, chosen, strict=True)) for chosen in product(*keys)]
    sums = []
    for user in users:
        mine = [e for e in some if e.part is None or user[e.part.by] == e.part.same_key]
        sums.append((sum(Fraction(e.epsilon) for e in mine), sum(Fraction(e.delta) for e in mine)))
    return Spent(Fraction(max(s[0] for s in sums)), Fraction(max(s[1] for s in sums)))


@given(st.lists(events, max_size=8), st.lists(events, max_size=4), parts)
def test_running_sums_are_the_most_that_any_user_has_spent(
    some: list[Event], undone: list[Event], part: Part | None
) -> None:
    exposure = Exposure(counting=True)
    for event in [*some, *undone]:
        exposure.add(event)
    for event in reversed(undone):
        exposure.remove(event)
    assert exposure.sums(part) == _by_definition(some, part)
    again = Exposure(counting=True)
    for event in some:
        again.add(event)
    assert {*exposure.histories(part)} == {*again.histories(part)}
    # One of the histories is that of the user who has spent most, and none has more than a user can have.
    sums = [sum((paid.times * paid.cost.epsilon for paid in h), Fraction(0)) for h in exposure.histories(part)]
    assert max(sums) == exposure.sums(part).epsilon
