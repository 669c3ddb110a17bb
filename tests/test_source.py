"""How the source is cut into files, classes and words."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from runpy import run_path

import pytest

import hybriddp

PACKAGE = Path(hybriddp.__file__).parent
ROOT = Path(__file__).parents[1]

BRITISH = (
    r"(?i)neighbour|\bcentre|centring|colour|behaviour|favour|catalogue|judgement|labell|modell|travell|cancell(ed|ing)|"
    r"(random|organ|recogn|minim|maxim|optim|normal|vector|serial|summar|general|character|standard|penal|equal|"
    r"discret|parametr|real|factor|symmetr|ideal|emphas|special|visual|author|memo|token|final|initial|quant)is(e|ed|es|ing|ation|er)\b|"
    r"\banalys(e|ed|es|ing)\b(?![ \t]*:)|\bgrey\b|\bwhilst\b"
)
REPLACED = {
    r"\b(Talk|Heard|Counted|Traceless|PairQuestion|kept_of_\w+|uncut|go_on|joins_local)\b": "the field's words",
    r"\b(partner|flips|dice)\b": "paired_row, sign_flips, rng",
    r"statistic\.most|study\.replaced|mechanism_price": "max_contribution, changed_users, mechanism_record",
    r"(?i)single[ _-]worlds?|\b(two|one|other|both|either|plain) worlds?\b": "single model, group",
    r"\b(she|her|hers|herself|he|him|his|himself)\b": "they, their",
}


@cache
def files() -> dict[str, str]:
    return {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def nodes() -> list[tuple[str, ast.AST]]:
    """Statements; what they are made of is left out, which is most of a tree."""
    return [(name, node) for name, text in files().items() for node in _statements(ast.parse(text))]


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield from _statements(child)


def classes() -> dict[str, list[str]]:
    found = defaultdict(list)
    for name, node in nodes():
        if isinstance(node, ast.ClassDef):
            found[node.name].append(name)
    return found


@cache
def prose() -> dict[str, str]:
    patterns = ("src/**/*.py", "js/src/**/*.ts", "docs/**/*.md", "README.md")
    paths = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}


def hits(pattern: str) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()}"
        for name, text in prose().items()
        if re.search(pattern, text, re.MULTILINE)  # line by line where there is something to find
        for number, line in enumerate(text.splitlines(), 1)
        if re.search(pattern, line)
    ]


def test_a_class_name_means_one_thing() -> None:
    assert {name: places for name, places in classes().items() if len(places) > 1} == {}


def test_nothing_is_checked_by_assert() -> None:
    # Python leaves asserts out when it optimizes.
    found = [f"{name}:{node.lineno}" for name, node in nodes() if isinstance(node, ast.Assert)]
    assert found == []


def test_files_have_a_readable_size() -> None:
    lines = {name: text.count("\n") for name, text in files().items()}
    assert {name: n for name, n in lines.items() if n > 450} == {}


@pytest.mark.parametrize("pattern", REPLACED)
def test_replaced_words_stay_replaced(pattern: str) -> None:
    assert hits(pattern) == [], f"rather: {REPLACED[pattern]}"


def test_spelling_is_american() -> None:
    assert hits(BRITISH) == []


def test_every_bug_of_the_mutations_has_one_place_and_its_tests() -> None:
    bugs = run_path(str(ROOT / "scripts" / "planted_bugs.py"))["BUGS"]
    lost = []
    for bug in bugs:
        try:
            bug.place(ROOT)
        except LookupError as error:
            lost.append((bug.name, str(error)))
    assert lost == []
    assert [bug.name for bug in bugs if not bug.test_files(ROOT)] == []
    assert len({bug.name for bug in bugs}) == len(bugs) > 80


def test_properties_take_their_examples_from_the_profile() -> None:
    found = [path.name for path in sorted((ROOT / "tests").rglob("test_*.py")) if "max_examples=" in path.read_text()]
    assert [name for name in found if name != Path(__file__).name] == []


def test_files_and_rooms_that_pages_name_exist() -> None:
    pages = {*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "benchmarks" / "README.md"}
    named = {
        (page.name, path) for page in pages for path in re.findall(r"`((?:\w+/)+\w+\.py)`", page.read_text("utf-8"))
    }
    assert len(named) > 10
    assert [one for one in sorted(named) if not ((ROOT / one[1]).exists() or (PACKAGE / one[1]).exists())] == []
    outer, inner = re.findall(
        r"```\n(errors,.*?)inside kmeans:(.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL
    )[0]
    rooms = {*re.findall(r"\w+", outer), *(f"kmeans/{room}" for room in re.findall(r"\w+", inner))}
    assert {room for room in rooms if not ((PACKAGE / room).is_dir() or f"{room}.py" in files())} == set()
