"""Numbers as people write them, and sentences that results of all kinds have in common.

A number has as many digits as are known, commas between thousands, no exponents where none is due. An error is worth
two digits, and the value beside it ends where its error does: 67,800 ± 5,300. What is published with more digits than
that looks like knowledge and is noise.
"""

import math

FAR_APART = 6.0
"""Standard errors between the groups from which on a result begins with a warning."""
UNTIED = (
    "Nothing ties the local reports to this study: they came as plain integers. Codes made for another study or "
    "another ε would give a wrong answer that looks right."
)
SINGLE_MODEL = "There was only one group, so this is the answer of a single model, not a hybrid."
SIMULATION = "A simulation: NOT a private release."
HEADING = "Diagnostics for the curator: NOT FOR PUBLICATION (no noise hides these numbers)."
ASSUMES_ALIKE = (
    "The intervals assume that those who trust are like those who do not: a difference that the noise hides would make "
    "them miss more often."
)
MAY_DIFFER = (
    "The groups differ by more than two standard errors, which may be chance: the intervals hold whether they are "
    "alike or not."
)
CLEARLY_DIFFER = "The groups differ, so the intervals are those that hold however much they do."

_ERROR_DIGITS = 2
_LARGEST = 1e15  # from here on a number has more digits than floating point knows, and than anybody reads


def to_precision_of(value: float, error: float) -> str:
    """Round a value to the second digit of its error.

    All digits of the value are kept if the error is 0 or not finite.

    Examples
    --------
    >>> to_precision_of(67_843.2, 5_312.8), to_precision_of(0.2, 0.0312), to_precision_of(3.0, 9.97)
    ('67,800', '0.200', '3')
    """
    if not (math.isfinite(value) and math.isfinite(error)) or error == 0:
        return _written(value)
    return _to_places(value, _places(error, _ERROR_DIGITS))


def significant(value: float, digits: int = 3) -> str:
    """Format a value with ``digits`` significant digits and no trailing zeros.

    Examples
    --------
    >>> significant(123_456.0), significant(1605.04, 4), significant(0.59842), significant(2.0), significant(0.0)
    ('123,000', '1,605', '0.598', '2', '0')
    >>> significant(1.5e300)
    '1.5e+300'
    """
    if value == 0 or not math.isfinite(value):
        return _written(value)
    text = _to_places(value, _places(value, digits))
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def percent(fraction: float, digits: int = 3) -> str:
    """Format a fraction in percent.

    Examples
    --------
    >>> percent(0.002), percent(0.9955), percent(1 / 3, 2)
    ('0.2 %', '99.5 %', '33 %')
    """
    return f"{significant(100 * fraction, digits)} %"


def counted(n: int, noun: str, one: str = "", many: str = "") -> str:
    """Format a count with its noun, and the verb that belongs to it.

    Examples
    --------
    >>> counted(1, "row"), counted(1_200, "row"), counted(1, "user", "has", "have"), counted(0, "user", "has", "have")
    ('1 row', '1,200 rows', '1 user has', '0 users have')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'} {one if n == 1 else many}".rstrip()


def _places(number: float, digits: int) -> int:
    """Return the number of places after the point of the last digit.

    The number is rounded first, so 9.97 with two digits is 10, not 10.0.
    """
    exponent = int(f"{abs(number):.{digits - 1}e}".partition("e")[2])
    return digits - 1 - exponent


def _to_places(value: float, places: int) -> str:
    if places > 12 or abs(value) >= _LARGEST:  # a very small or very large number would be mostly zeros
        digits = max(places + int(f"{value:e}".partition("e")[2]) + 1, 1)
        return f"{value:.{digits}g}"
    return f"{round(value, places) + 0.0:,.{max(places, 0)}f}"


def _written(value: float) -> str:
    """With all the digits that it has, up to ten."""
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else "∞" if value > 0 else "-∞"
    text = f"{value:,.10g}"
    return text if "e" not in text else f"{value:.4g}"


# Sentences of results


def far_apart(what: str, *, tied: bool) -> str:
    """Warn that the groups' means, shares or distributions are far apart.

    Examples
    --------
    >>> far_apart("means", tied=True)[:75]
    "WARNING: the groups' means are more than 6 standard errors apart: check tha"
    """
    apart = f"groups' {what} are more than {FAR_APART:g} standard errors apart"
    if not tied:
        return (
            f"WARNING: do not use this result yet. The {apart}, and nothing ties the reports to this study: they may "
            "have been made for another study or another ε."
        )
    return (
        f"WARNING: the {apart}: check that both groups were asked the same, and their values have the same units. If "
        "so, those who trust are other people than those who do not."
    )


def participation(n_trusted: int, n_local: int, left_out: str = "") -> str:
    """Say how many users were in each group, and why others were left out if any may have been."""
    sizes = f"Of {n_trusted + n_local:,} users {n_trusted:,} trusted the curator and {n_local:,} reported locally."
    public = f" These numbers are public, and so is how many users were left out because {left_out}."
    return sizes + (public if left_out else "")


def trusted_weight(n_trusted: int, n_local: int, least: float, most: float) -> str:
    """Say how many users trusted the curator, and how much weight they got."""
    users = f"{100 * n_trusted / (n_trusted + n_local):.2g} % of the users"
    ends = [least] if math.isclose(least, most, rel_tol=0.01) else [least, most]
    return f"The trusted group, {users}, got {' to '.join(f'{100 * end:.3g}' for end in ends)} % of the weight."


def noise_part(fraction: float, error: str) -> str:
    """Say which part of the expected squared error is noise, and how large the standard error is."""
    return f"{100 * fraction:.0f} % of the expected squared error is noise for privacy, the rest is sampling; {error}."


def public_keys(by: str) -> str:
    """Say that it is public who is in which part of the users."""
    return f"Who has which {by} is public."


def shortened(text: str, longest: int) -> str:
    """Cut off the end of a text that is too long.

    Examples
    --------
    >>> shortened("minutes", 40), shortened("minutes", 5)
    ('minutes', 'minu…')
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
