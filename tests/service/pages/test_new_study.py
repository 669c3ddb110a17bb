from hybriddp.service.pages.new_study import new_study_page
from hybriddp.service.routes.study_form import BOXES, CHOICES, TEXTS, StudyForm
from tests.service.pages.test_operator import EVIL, Read


def page(problems: dict[str, str], **texts: str) -> Read:
    form = StudyForm.read(texts)
    return Read(new_study_page(form.texts, kinds={"mean": "a mean"}, form_token="f00", problems=problems))  # noqa: S106


def test_every_field_is_in_the_form_with_a_label() -> None:
    found = page({})
    assert {*TEXTS, *CHOICES, *BOXES, "csrf"} == {*found.all("name")} - {"viewport", "color-scheme"}
    assert {*found.all("for")} == {*TEXTS} <= {*found.all("id")}
    assert {*" ".join(found.all("aria-describedby")).split()} <= {*found.all("id")}
    assert found.all("aria-invalid") == []
    assert found.open == []


def test_what_is_wrong_is_linked_from_above() -> None:
    found = page({"name": "Too short.", "kind": "Unknown.", "": "Not now."})
    assert {"#name", "#kind"} <= {*found.all("href")}
    assert found.all("aria-invalid") == ["true"]
    assert found.words.count("Too short.") == 2
    assert "Not now." in found.words


def test_nothing_that_is_typed_becomes_markup() -> None:
    found = page({"name": EVIL, "": EVIL}, **dict.fromkeys(TEXTS, EVIL))
    assert "script" not in found.tags
    assert not any(name.startswith("on") for name, _ in found.attributes)
    assert found.open == []
