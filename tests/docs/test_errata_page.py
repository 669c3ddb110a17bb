import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENTRY = re.compile(r"^## (\d+)\. .+?\*(privacy|accuracy|text)\* · .+?Shown by `(test_row_(\d\d)_\w+)`\.$", re.M | re.S)


def _entries() -> list[tuple[str, str, str, str]]:
    return ENTRY.findall((ROOT / "docs" / "errata.md").read_text(encoding="utf-8"))


def _tests() -> set[str]:
    names = set()
    for path in (ROOT / "tests" / "errata").glob("test_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names |= {
            node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        }
    return names


def test_every_erratum_names_a_test_of_its_own_that_exists() -> None:
    rows = _entries()
    assert [int(number) for number, *_ in rows] == list(range(1, 26))
    assert all(int(number) == int(in_name) for number, _, _, in_name in rows)
    named = {name for _, _, name, _ in rows}
    assert len(named) == 25
    assert named <= _tests()


def test_three_errata_are_about_privacy() -> None:
    rows = _entries()
    assert [int(number) for number, kind, *_ in rows if kind == "privacy"] == [1, 2, 3]
