import io
import re

import numpy as np
import pytest
from rich.console import Console

from hybriddp.shares import FrequencyStudy, counts_diagnostics

STUDY = FrequencyStudy("opened the app", categories=["yes", "no"], epsilon=1)
RNG = np.random.default_rng(1)
ANSWERS = RNG.choice(["yes", "no"], 21_000, p=[0.3, 0.7])
REPORTS = STUDY.randomize(ANSWERS[1000:], random_state=1)


def test_an_explanation_says_what_was_done() -> None:
    found = STUDY.estimate(trusted=ANSWERS[:1000], local=REPORTS, random_state=2)
    lines = found.explain().splitlines()
    assert lines[0].startswith("opened the app: yes: ")
    assert lines[0].endswith("[95 % intervals, if the groups are alike].")
    assert "The two groups' shares agree within what chance explains." in lines
    left_out = "how many users were left out because their item is missing or none of the categories."
    assert (
        "Of 21,000 users 1,000 trusted the curator and 20,000 reported locally. These numbers are public, and so is "
        f"{left_out}"
    ) in lines
    assert any(line.startswith("The trusted group, 4.8 % of the users, got ") for line in lines)
    assert "Users whose item is none of the categories are counted with other=True." in lines
    others = FrequencyStudy("opened the app", categories=["yes", "no", "later"], epsilon=1)
    assert (
        "left out because they have no item."
        in others.estimate(
            trusted=ANSWERS[:1000], local=others.randomize(ANSWERS[1000:], random_state=1), random_state=2
        ).explain()
    )


def test_widths_and_errors_keep_their_last_digit() -> None:
    found = STUDY.estimate(trusted=ANSWERS[:1000], local=REPORTS, random_state=2)
    assert re.search(r"are \d+\.\d times as wide\.", found.explain())
    cells = list(found.__rich__().columns[2].cells)
    assert all(re.fullmatch(r"0\.\d\d %", str(cell)) for cell in cells)


def test_other_items_are_counted_if_the_study_does() -> None:
    other = FrequencyStudy("x", categories=["yes"], epsilon=1, other=True)
    text = other.estimate(trusted=ANSWERS[:99], local=other.randomize(ANSWERS)).explain()
    assert "none of the categories" not in text


def test_groups_slightly_apart_get_wider_intervals() -> None:
    for yes in range(250, 500):  # one of them is so far apart
        found = STUDY.estimate(trusted=["yes"] * yes + ["no"] * (1000 - yes), local=REPORTS, random_state=1)
        assert found.divergence is not None
        if 2 < found.divergence.z < 3 and not found.divergence.differing.any():
            break
    assert "which may be chance: the intervals hold whether they are alike or not" in found.explain()


def test_many_categories_are_not_all_told() -> None:
    study = FrequencyStudy("x", categories=range(100), other=False, epsilon=1)
    found = study.estimate(trusted=[1] * 500 + [2] * 500, local=study.randomize([1] * 50 + [2] * 50))
    assert "; 95 more [" in str(found)
    assert "shares are below two standard errors, and may as well be 0." in found.explain()
    assert repr(found) == "Frequencies('x': 100 categories, ε = 1)"
    assert "80 more" in _rendered(found)


def _rendered(found: object) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(found)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert isinstance(text, str)
    return text


def test_a_table_shows_names_as_they_are() -> None:
    study = FrequencyStudy("[bold]x[/bold]", categories=["[red]a", "b"], epsilon=1)
    found = study.estimate(trusted=["b"] * 500, local=study.randomize(["b"] * 500), random_state=1)
    text = _rendered(found)
    assert "[bold]x[/bold]" in text
    assert "[red]a" in text
    assert "NOT a private release" in text


def test_diagnostics_are_for_the_curator_only() -> None:
    trusted = STUDY.summarize_trusted(["yes"] * 80 + ["maybe"] * 20 + [None] * 7)
    local = STUDY.summarize_local([0, 1] * 200 + [9])
    text = counts_diagnostics(trusted, local)
    assert "NOT FOR PUBLICATION" in text
    assert "Trusted items: 80 counted; 7 rows have neither item nor report." in text
    assert "Left out, being none of the categories: 20 (20 %). Check the spelling" in text
    assert "Local reports: 400 counted, not tied to the study; 1 are no codes." in text
    assert counts_diagnostics([trusted, None], [local]) == text
    assert counts_diagnostics(None, None).splitlines() == text.splitlines()[:1]
    found = STUDY.estimate(trusted=trusted, local=REPORTS, random_state=1)
    assert "Left out" not in found.explain()
    assert "(20 %)" not in found.explain()
    assert found.n_trusted == pytest.approx(80)
