"""Simulated people: what they have follows the distribution that was asked for."""

from collections import Counter

import numpy as np
import pytest

from hybriddp import DistributionStudy, FrequencyStudy, HeavyHitterStudy, MeanStudy
from hybriddp.cli.crowd_people import category_shares, check_values, simulated_people
from hybriddp.client import MockCurator, StudyOffer
from hybriddp.errors import ParameterError

STUDY = FrequencyStudy("fruit", categories=["apple", "pear"], epsilon=1, other=True)
OFFER = StudyOffer.from_text(STUDY.to_json())


def test_shares_of_categories() -> None:
    assert category_shares("uniform", 4).tolist() == [0.25] * 4
    assert category_shares("zipf(0)", 4).tolist() == [0.25] * 4
    assert category_shares("shares(2, 1,1)", 3).tolist() == [0.5, 0.25, 0.25]
    assert category_shares("zipf(2.0)", 2).tolist() == pytest.approx([0.8, 0.2])


@pytest.mark.parametrize(
    "values",
    ["", "normal(1,2)", "zipf", "zipf(-1)", "zipf(x)", "shares(1,2)", "shares(0,0,0)", "shares(1,,1)", "1,1,1"],
)
def test_what_is_no_distribution_of_categories(values: str) -> None:
    with pytest.raises(ParameterError, match=r"uniform, zipf\(1\) or shares"):
        check_values(OFFER, values)


def test_a_distribution_of_numbers() -> None:
    offer = StudyOffer.from_text(MeanStudy("minutes", bounds=(0, 1), epsilon=1).device_json())
    check_values(offer, "uniform")
    with pytest.raises(ParameterError, match="values"):
        check_values(offer, "zipf(1)")


def test_trusted_people_have_the_categories_and_others_something_else() -> None:
    people = list(simulated_people(OFFER, "shares(0,1,1)", "trusted", 5, 305, prefix="x", seed=1))
    assert [person.name for person in people] == [f"x-{i}" for i in range(5, 305)]
    counts = Counter(person.contribution.value for person in people)
    assert set(counts) == {"pear", "(other)"}
    assert 100 < counts["pear"] < 200


@pytest.mark.parametrize("categories", [["a", "b"], list(range(60))])
def test_local_people_send_codes(categories: list[str | int]) -> None:
    study = FrequencyStudy("x", categories=categories, epsilon=8, other=True)
    offer, shares = StudyOffer.from_text(study.to_json()), f"shares(1{',0' * len(categories)})"
    people = list(simulated_people(offer, shares, "local", 0, 2000, prefix="x", seed=1))
    codes = np.array([person.contribution.integer for person in people])
    found = study.estimate(trusted=None, local=codes, single_group=True)
    assert found.share(categories[0]) > 0.9


def test_people_of_a_distribution() -> None:
    study = DistributionStudy("x", bounds=(0, 100), epsilon=8)
    offer = StudyOffer.from_text(study.to_json())
    check_values(offer, "normal(40,5)")
    with pytest.raises(ParameterError, match="values"):
        check_values(offer, "zipf(1)")
    trusted = [
        person.contribution for person in simulated_people(offer, "normal(40,5)", "trusted", 0, 200, prefix="x", seed=1)
    ]
    assert all(study.bins.of_value(one.value) == one.integer for one in trusted)
    local = simulated_people(offer, "normal(40,5)", "local", 200, 2200, prefix="x", seed=1)
    codes = np.array([person.contribution.integer for person in local])
    found = study.estimate(trusted=[one.value for one in trusted], local=codes)
    assert found.quantile(0.5).value == pytest.approx(40, abs=2)


def test_items_of_an_open_domain_and_reports_about_their_list() -> None:
    study = HeavyHitterStudy("word", epsilon=8, delta="0.000001")
    curator = MockCurator(study)
    before = StudyOffer.from_document(curator.document())
    check_values(before, "zipf(1)")
    with pytest.raises(ParameterError, match=r"uniform, zipf\(1\) or shares"):
        check_values(before, "normal(1,2)")
    people = list(simulated_people(before, "shares(3,1)", "trusted", 0, 200, prefix="x", seed=1))
    assert {person.contribution.value for person in people} == {"item 1", "item 2"}
    asked = curator.release_list(["item 1"])
    after = StudyOffer.from_document(curator.document())
    made = [one.contribution for one in simulated_people(after, "shares(9,1)", "local", 0, 2000, prefix="y", seed=1)]
    assert {one.digest for one in made} == {asked.digest}
    found = asked.estimate(trusted=None, local=np.array([one.integer for one in made]), single_group=True)
    assert 0.85 < found.share("item 1") < 0.95
