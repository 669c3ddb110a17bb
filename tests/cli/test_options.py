import pytest
import typer

from hybriddp.cli.options import amount, decimal, number, step, user_share, users
from hybriddp.errors import ParameterError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("252,540", 252_540),
        ("1%", 0.01),
        ("0.5 %", 0.005),
        ("-1,000.5", -1000.5),
        ("1_000", 1000),
        ("2e6", 2e6),
        (" 7 ", 7),
        (".5", 0.5),
        ("7.", 7),
        ("-1.5e-3", -0.0015),
        ("1,234.56", 1234.56),
        ("2,500%", 25),
    ],
)
def test_numbers_are_read_as_people_type_them(text: str, value: float) -> None:
    assert number(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "%", "25,40", "1,0000", ",100", "many", "1,000,00", "inf", "nan", "1e999"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is not a number"):
        number(text)


@pytest.mark.parametrize(
    "text",
    ["0,002", "0,125", "1.234,56", "250.000,00", "1,5e3", "1e3,000", "1,234_567", "1_0", "1,000.5,5", "١٢٣", "1,"],
)
def test_what_is_written_with_other_commas_is_never_another_number(text: str) -> None:
    for parser in (number, amount, users, user_share, step):
        with pytest.raises(typer.BadParameter, match="is not a number"):
            parser(text)


@pytest.mark.parametrize("text", ["250.000", "1.000", " 4.000 ", "4.000 users"])
def test_a_point_between_thousands_of_users_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"could be \d+ or \d+,000 users"):
        user_share(text)
    with pytest.raises(typer.BadParameter):
        users(text)


def test_an_epsilon_keeps_its_digits() -> None:
    for text in ("1,5", "0,01"):
        with pytest.raises(typer.BadParameter, match=f"'{text}' has a comma.* write a point: {text.replace(',', '.')}"):
            decimal(text)
    assert [decimal(text) for text in (".5", " 1 ", "1e-6", "much")] == ["0.5", "1", "1e-6", "much"]


def test_a_step_keeps_its_digits() -> None:
    assert (step("1,000"), step("0.10"), step("finest")) == ("1000", "0.10", "finest")


@pytest.mark.parametrize("text", ["1,250", "1250", "1_250", "1.25e3", "1250.0"])
def test_users_are_whole(text: str) -> None:
    assert users(text) == 1250


@pytest.mark.parametrize("text", ["10.5", "-3", "10%", "1e99", "1e15"])
def test_users_that_are_not_whole_are_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="not a whole number of users"):
        users(text)


@pytest.mark.parametrize(("text", "part"), [("0.2", 0.2), ("0.2%", 0.002), ("20 %", 0.2), ("100%", 1.0), ("0", 0.0)])
def test_below_one_is_a_fraction_and_percent_is_percent(text: str, part: float) -> None:
    assert user_share(text).of(1_000, "trusted") == pytest.approx(part)


@pytest.mark.parametrize(("text", "count"), [("2", 2), ("1,250", 1250), ("1 user", 1), ("4,000 users", 4000)])
def test_whole_numbers_are_users(text: str, count: int) -> None:
    assert user_share(text).of(10_000, "trusted") == count / 10_000


@pytest.mark.parametrize("text", ["1", "1.0", " 1 "])
def test_one_alone_could_be_anything(text: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"write 1% \(or 0\.01\)"):
        user_share(text)


@pytest.mark.parametrize("text", ["1.5", "-0.1", "101%", "-1%", "nan", "inf"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        user_share(text)


def test_there_are_not_more_than_all() -> None:
    with pytest.raises(ParameterError, match="at most the number of users, 100"):
        user_share("101").of(100, "trusted")


def test_bounds_are_no_percentages() -> None:
    assert amount("250,000") == 250_000
    with pytest.raises(typer.BadParameter, match="units of the values"):
        amount("10%")
