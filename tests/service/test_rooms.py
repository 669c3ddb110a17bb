"""The server holds input and output only, and every SQL statement is in the store."""

import ast
from collections.abc import Iterator
from pathlib import Path

import hybriddp.service

ROOM = Path(hybriddp.service.__file__).parent
HARMLESS = {"Connection", "Engine", "OperationalError", "SQLAlchemyError"}


def imported() -> Iterator[tuple[str, str, str]]:
    for path in sorted(ROOM.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            place = path.relative_to(ROOM).as_posix()
            if isinstance(node, ast.ImportFrom):
                yield from ((place, node.module or "", alias.name) for alias in node.names)
            elif isinstance(node, ast.Import):
                yield from ((place, alias.name, "") for alias in node.names)


def test_statements_are_in_the_store() -> None:
    found = {(place, name) for place, module, name in imported() if module.partition(".")[0] == "sqlalchemy"}
    assert {(place, name) for place, name in found if not place.startswith("store/") and name not in HARMLESS} == set()


def test_no_formula_lives_in_the_server() -> None:
    libraries = {module.partition(".")[0] for place, module, _ in imported() if place != "demo.py"}
    assert libraries.isdisjoint({"numpy", "scipy", "opendp"})
