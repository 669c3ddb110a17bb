import pytest

from hybriddp.kmeans import KMeansStudy
from hybriddp.service.pages.take_part import take_part_page
from hybriddp.service.pages.take_part_points import SCRIPT, point_question
from tests.service.pages.test_operator import EVIL, Read
from tests.service.pages.test_take_part import JWT, document

STUDY = KMeansStudy("points", n_clusters=3, bounds=[(0, 10), (-1, 1)], epsilon=1)


def page_of(**changes: object) -> str:
    token = str(changes.pop("token", ""))
    fields = {"kind": "kmeans", "text": STUDY.to_json(), "digest": STUDY.digest} | changes
    return take_part_page(document(**fields), token=token, problem=EVIL)


def test_each_number_has_a_field_with_its_bounds() -> None:
    text = page_of()
    page = Read(text)
    assert EVIL not in text
    assert "You are asked for 2 numbers" in text
    assert "3 places around which people are" in text
    assert {"token", "value1", "value2"} == set(page.all("for")) <= set(page.all("id"))
    assert ("from 0 to 10" in text, "from -1 to 1" in text) == (True, True)
    assert "keeps them, encrypted, until the study's rounds end" in text
    assert "you are asked once" in text
    assert page.tags.count("h1") == 1


def test_numbers_have_the_names_that_the_operator_gave_them() -> None:
    text = page_of(dimensions=["hour", EVIL])
    assert EVIL not in text
    assert '<label for="value1">hour</label>' in text
    assert "Number 1" not in text


@pytest.mark.parametrize(
    ("state", "step", "words", "comes_back"),
    [
        ("created", "pending", "not open yet", False),
        ("closed", "pending", "none is asked now", True),
        ("asking", "pending", "If it is your turn, this page answers by itself.", True),
        ("closed", "released", "All rounds of this study have ended", True),
        ("released", "released", "See the result", False),
        ("withdrawn", "pending", "was withdrawn by the people who run it", False),
    ],
)
def test_who_waits_can_come_back_with_a_token(state: str, step: str, words: str, comes_back: bool) -> None:
    steps = [{"name": "rounds", "state": step}, {"name": "release", "state": "pending"}]
    text = page_of(state=state, steps=steps)
    assert words in text
    assert ("<form" in text, 'id="token"' in text) == (False, comes_back)
    assert ("This round ends" in text) == (state == "asking")
    assert ("This page does not work now" in text) == comes_back
    assert f'name="token" value="{JWT}"' in page_of(state=state, steps=steps, token=JWT)


def test_one_number_is_one() -> None:
    assert point_question("You are asked for", {"bounds": [[0, 1]], "n_clusters": 2}).startswith(
        "You are asked for one number,"
    )


def test_the_script_is_its_own() -> None:
    assert SCRIPT in page_of()
    assert SCRIPT not in take_part_page(document())


def test_people_are_told_how_long_a_round_lasts() -> None:
    words = "Each lasts 24 hours. If you do not trust, open this page at least every 24 hours"
    assert words in page_of(round_hours=24.0)
    assert words in page_of(round_hours=24.0, state="asking")
    assert "Each lasts" not in page_of(round_hours=None)
    assert "Each lasts" not in page_of(round_hours=24.0, state="released")
