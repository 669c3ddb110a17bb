"""Which room may import which. Imports inside functions count too, so that none can hide a cycle."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import hybriddp

ROOT = Path(hybriddp.__file__).parent

# A room may import from the lines above its own, and from rooms in its own line as long as no cycle results.
ROOMS = [
    {"errors", "_check", "privacy", "grid", "randomness", "data"},
    {"channels", "release", "theory", "reporting"},
    {"study"},
    {"mean", "shares", "items", "distribution", "kmeans"},
    {"amplification", "tables", "planning", "simulation"},
    {"figures", "paper", "audit"},
    {"client", "service", "cli", "__main__"},
]
KMEANS = [
    {"clustering"},
    {"study"},
    {"reports", "statistics", "points"},
    {"algorithm"},
    {"result", "report"},
    {"protocol"},
    {"estimator"},
]
# The methods by which a result shows itself may import what shows it: figures, and modules of the result's own room.
SHOWING = {"plot_parts", "plot", "to_html", "_repr_html_", "explain", "to_dict", "__str__", "__rich__"}


@dataclass(frozen=True)
class Import:
    """A module of ours that another one imports, and the function in which it does so."""

    importer: str
    imported: str
    function: str | None
    for_types: bool

    @property
    def excepted(self) -> bool:
        shown = {"figures", _room(self.importer, 1)}
        return self.function in SHOWING and _room(self.imported, 1) in shown


def _room(module: str, depth: int) -> str:
    return (module.split(".") + [""] * depth)[depth]


def _name(path: Path) -> str:
    parts = ["hybriddp", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def _targets(node: ast.AST, importer: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            package = importer.split(".")[: None if MODULES[importer].name == "__init__.py" else -1]
            base = ".".join([*package[: len(package) + 1 - node.level], *filter(None, [node.module])])
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            yield inner if inner in MODULES else base


def _imports(node: ast.AST, importer: str, function: str | None = None, for_types: bool = False) -> Iterator[Import]:
    for target in _targets(node, importer):
        if target.partition(".")[0] == "hybriddp":
            yield Import(importer, target, function, for_types)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        function = node.name
    elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        for_types = True
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):  # which imports nothing
            yield from _imports(child, importer, function, for_types)


@cache
def imports() -> list[Import]:
    trees = {name: ast.parse(path.read_text("utf-8")) for name, path in MODULES.items()}
    return [one for name, tree in trees.items() for one in _imports(tree, name) if not one.excepted]


def inside_kmeans() -> list[Import]:
    return [one for one in imports() if _room(one.importer, 1) == _room(one.imported, 1) == "kmeans"]


def at_run_time(found: list[Import]) -> list[Import]:
    return [one for one in found if not one.for_types]


def _upward(found: list[Import], layers: list[set[str]], depth: int) -> list[str]:
    level = {room: at for at, rooms in enumerate(layers) for room in rooms}
    return [
        f"{one.importer} imports {one.imported}"
        for one in found
        if (above := _room(one.imported, depth)) and (below := _room(one.importer, depth))
        if level[above] > level[below]
    ]


def _cycles(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Groups of names that import each other, directly or not."""
    graph = defaultdict(set)
    for importer, imported in pairs:
        graph[importer].add(imported)

    def reached(name: str) -> set[str]:
        seen: set[str] = set()
        left = list(graph[name])
        while left:
            if (one := left.pop()) not in seen:
                seen.add(one)
                left += graph[one]
        return seen

    reach = {name: reached(name) for name in list(graph)}
    groups = {tuple(sorted(other for other in reach[name] if name in reach.get(other, ()))) for name in reach}
    return sorted(list(group) for group in groups if group)


def test_every_room_has_its_place() -> None:
    assert {_room(name, 1) for name in MODULES} - {""} <= set.union(*ROOMS)
    assert {_room(name, 2) for name in MODULES if _room(name, 1) == "kmeans"} - {""} <= set.union(*KMEANS)


def test_rooms_import_downward_only() -> None:
    assert _upward(imports(), ROOMS, 1) == []


def test_the_rooms_of_kmeans_import_downward_only() -> None:
    assert _upward(inside_kmeans(), KMEANS, 2) == []


def test_theory_knows_the_values_only() -> None:
    assert {_room(one.imported, 1) for one in imports() if _room(one.importer, 1) == "theory"} <= {"theory", *ROOMS[0]}


def test_kinds_of_studies_share_nothing_of_the_mean_and_only_the_command_line_knows_the_paper() -> None:
    known = {(_room(one.importer, 1), _room(one.imported, 1)) for one in imports()}
    assert known.isdisjoint((kind, "mean") for kind in ("shares", "items", "distribution", "kmeans"))
    assert {below for below, above in known if above == "paper"} == {"paper", "cli"}


def test_no_cycle_of_rooms() -> None:
    for found, depth in ((imports(), 1), (at_run_time(inside_kmeans()), 2)):
        pairs = {(_room(one.importer, depth), _room(one.imported, depth)) for one in found}
        assert _cycles((below, above) for below, above in pairs if below != above and above) == []


def test_no_cycle_of_modules() -> None:
    assert _cycles((one.importer, one.imported) for one in at_run_time(imports())) == []


def test_cycles_are_found() -> None:
    assert _cycles([("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("e", "e")]) == [["b", "c"], ["e"]]
