"""The page that maps the paper to code: what it names exists."""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
THEOREMS = [  # the paper numbers definitions, lemmas, theorems and corollaries of a section together
    "Definition 2.1", "Definition 2.2", "Definition 3.1", "Lemma 3.2", "Definition 3.3", "Lemma 3.4", "Definition 3.5",
    "Lemma 3.6", "Definition 3.7", "Lemma 3.8", "Definition 3.9", "Definition 3.10", "Lemma 3.11", "Definition 3.12",
    "Lemma 3.13", "Definition 4.1", "Lemma 4.2", "Theorem 4.3", "Corollary 4.4", "Definition 5.1", "Definition 5.2",
    "Definition 5.3", "Lemma 5.4", "Theorem 5.5", "Definition 6.1", "Theorem 8.1", "Algorithm 1",
]  # fmt: skip
FIGURES = [f"Figure {number}" for number in range(1, 9)]


def _rows() -> list[list[str]]:
    lines = (DOCS / "paper.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return cells[2:]


@cache
def _tests(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@cache
def _anchors(page: str) -> set[str]:
    """Anchors of a page's headings, as mkdocs makes them."""
    headings = re.findall(r"^#+ (.+)$", (DOCS / page).read_text(encoding="utf-8"), re.M)
    plain = [
        re.sub(r"[^\w\s-]", "", heading.encode("ascii", "ignore").decode()).strip().lower() for heading in headings
    ]
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


def _resolve(name: str) -> object:
    """Look up what a dotted name names."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


def test_everything_that_the_paper_numbers_is_there_in_its_order() -> None:
    places = [row[0] for row in _rows() if not row[0].startswith("Section")]
    assert places == THEOREMS + FIGURES


def test_all_code_tests_and_pictures_that_are_named_exist() -> None:
    for place, _, code, test, shown in _rows():
        links = re.findall(r"`([\w.]+)`\]\(reference/(\w+)\.md#([\w.]+)\)", code)
        assert links or place.startswith("Figure")
        for words, page, anchor in links:
            assert anchor.endswith(words)
            _resolve(anchor)
            modules = re.findall(r"^::: ([\w.]+)$", (DOCS / "reference" / f"{page}.md").read_text("utf-8"), re.M)
            assert any(anchor.startswith(f"{module}.") for module in modules)
        if place.startswith("Figure"):
            number = place.split()[1]
            assert getattr(_resolve(code.strip("`")), f"FIGURE_{number}").number == int(number)
            assert (DOCS / "figures" / f"figure{number}.png").exists()
        for name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", test):
            assert name[1] in _tests(name[0]), name
        assert "::" in test
        for words, page, anchor in re.findall(r"\[(\w+ \d+)\]\((\w+\.md)#([\w-]+)\)", shown):
            assert anchor in _anchors(page), anchor
            assert re.match(rf"(figure-)?{words.split()[1]}-", anchor)


def test_every_erratum_is_beside_what_it_corrects() -> None:
    named = {int(number) for row in _rows() for number in re.findall(r"erratum (\d+)", row[4])}
    assert named == set(range(1, 26))
