"""The list of cases that are not refused."""

from tests.refusals import not_refused


def test_each_case_that_is_not_refused_as_it_should_be_is_named() -> None:
    def take(case: str) -> None:
        if case == "number":
            raise ValueError("The number is refused: it is odd")
        if case == "text":
            raise TypeError("The text is refused: it is no number")
        if case == "other words":
            raise ValueError("odd")

    cases = [(case, case) for case in ("number", "text", "fine", "other words")]
    assert not_refused(cases, take, ValueError, "^The number is refused: ") == [
        "text: TypeError: The text is refused: it is no number",
        "fine: taken",
        "other words: ValueError: odd",
    ]
