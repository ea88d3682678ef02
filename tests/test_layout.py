"""The stations lie on one line: imports go upstream only, and private names stay at home."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import closeknit

HOME = Path(closeknit.__file__).parent
ROOT = Path(__file__).parents[1]

#: Modules that every station may use although their names begin with an underscore.
FOUNDATIONS = {"_arrays", "_checks", "_core", "_memory", "_threads", "_labels"}
#: Stations in the order of the line; those in one row know nothing of each other.
LINE = [
    (*FOUNDATIONS, "exceptions", "progress", "kernels"),
    ("linalg",),
    ("neighbors",),
    ("affinities",),
    ("graphs",),
    ("repulsion",),
    ("objectives",),
    ("minimize",),
    ("embeddings",),
    ("apps",),
    ("quality", "plotting", "datasets"),
    ("io",),
    ("distributed", "experiments", "explore"),
    ("cli",),
]
ROW = {station: row for row, stations in enumerate(LINE) for station in stations}
#: Names by which scikit-learn wants its callbacks to be called.
SCIKIT_LEARN = {"_init_callback_context"}

FILES = sorted(path for path in HOME.rglob("*.py"))
#: The package itself only hands out names, and `python -m closeknit` only starts the command line.
INSIDE = [path for path in FILES if path.name not in ("__main__.py",) and path.parent != HOME] + [
    path for path in FILES if path.parent == HOME and path.stem in ROW
]


def station_of(path: Path) -> str:
    return path.relative_to(HOME).parts[0].removesuffix(".py")


def names_of(path: Path) -> list[str]:
    return [part.removesuffix(".py") for part in path.relative_to(HOME).parts]


def imports(tree: ast.AST) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the dotted parts below ``closeknit`` of everything that is imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                parts = [*node.module.split("."), alias.name]
                if parts[0] == "closeknit":
                    yield node.lineno, parts[1:]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "closeknit" and len(parts) > 1:
                    yield node.lineno, parts[1:]


def test_every_module_has_a_place_on_the_line():
    stations = {station_of(path) for path in FILES} - {"__init__", "__main__"}
    assert stations <= set(ROW)


@pytest.mark.parametrize("path", INSIDE, ids=lambda path: "/".join(names_of(path)))
def test_imports_go_upstream(path):
    own = station_of(path)
    wrong = [
        f"line {line}: {own} imports {'.'.join(parts)}"
        for line, parts in imports(ast.parse(path.read_text("utf-8")))
        if parts[0] in ROW and parts[0] != own and ROW[parts[0]] >= ROW[own]
        if not (ROW[own] == 0 and ROW[parts[0]] == 0)
    ]
    assert not wrong


@pytest.mark.parametrize("path", INSIDE, ids=lambda path: "/".join(names_of(path)))
def test_no_private_name_is_imported_from_another_station(path):
    own = station_of(path)
    wrong = [
        f"line {line}: {'.'.join(parts)}"
        for line, parts in imports(ast.parse(path.read_text("utf-8")))
        if parts[0] != own and any(is_private(part) for part in parts[parts[0] in FOUNDATIONS :])
    ]
    assert not wrong


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_names(trees: list[ast.AST]) -> set[str]:
    """Names that a station defines: attributes it assigns, functions, classes and fields."""
    found: set[str] = set()
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)  # setattr(self, "_name", …)
    return found


@pytest.mark.parametrize("station", sorted(ROW))
def test_no_private_attribute_of_another_station_is_read(station):
    paths = [path for path in INSIDE if station_of(path) == station]
    trees = {path: ast.parse(path.read_text("utf-8")) for path in paths}
    own = private_names(list(trees.values()))
    wrong = [
        f"{'/'.join(names_of(path))}:{node.lineno} reads {node.attr}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and is_private(node.attr)
        if node.attr not in own | SCIKIT_LEARN
        if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
        if not (isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()")
    ]
    assert not wrong


def lines_of_code(path: Path) -> list[tuple[str, int]]:
    """The lines of a file and their numbers, white space folded, without what may well repeat.

    That is docstrings, comments, imports, lists of names, fields, and what constructors take.
    """
    text = path.read_text("utf-8")
    aside: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", ())
        for part in body if isinstance(body, list) else ():
            is_text = isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
            is_field = isinstance(node, ast.ClassDef) and isinstance(part, ast.AnnAssign)
            is_list = isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == "__all__"
            if is_text or is_field or is_list or isinstance(part, ast.Import | ast.ImportFrom):
                aside.update(range(part.lineno, part.end_lineno + 1))
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            aside.update(range(node.lineno, node.body[0].lineno))
    lines = enumerate((" ".join(line.split()) for line in text.splitlines()), 1)
    code = [(line, number) for number, line in lines if number not in aside]
    return [(line, n) for line, n in code if any(map(str.isalnum, line)) and line[0] != "#"]


def test_no_six_lines_stand_twice():
    places: dict[tuple[str, ...], list[str]] = {}
    for path in FILES:
        lines = lines_of_code(path)
        for first in range(len(lines) - 5):
            six = tuple(line for line, _ in lines[first : first + 6])
            places.setdefault(six, []).append(f"{'/'.join(names_of(path))}:{lines[first][1]}")
    assert not [found for found in places.values() if len(found) > 1]


def test_stations_are_reachable_at_once():
    """``closeknit.minimize`` works before anything else was imported."""
    public = [name for name in ROW if not name.startswith("_")]
    for name in public:
        assert getattr(closeknit, name) is importlib.import_module(f"closeknit.{name}")
        assert name in dir(closeknit)


#: What cannot be shown in a few lines: the entry point of the script, and runs of experiments.
WITHOUT_EXAMPLE = {"cli.main", "Scale", "sections"}


def test_every_public_name_shows_how_it_is_used():
    """Each class and function in an ``__all__`` has an example in its docstring."""
    packages = [name for name in ROW if not name.startswith("_")]
    packages += [f"experiments.{part}" for part in ("affinities", "embeddings", "sparsification")]
    wrong = []
    for package in [*packages, "io.anndata"]:
        module = importlib.import_module(f"closeknit.{package}")
        for name in module.__all__:
            found = getattr(module, name)
            shown = ">>>" in (found.__doc__ or "")
            documented = inspect.isclass(found) or inspect.isfunction(found)
            if documented and not shown and not {name, f"{package}.{name}"} & WITHOUT_EXAMPLE:
                wrong.append(f"{package}.{name}")
    assert not wrong


def drawn_folders() -> dict[str, set[str]]:
    """What CONTRIBUTING draws: the folders in each folder."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    drawing = next(block for block in text.split("```") if "\nsrc/closeknit/" in block)
    folders: dict[str, set[str]] = {}
    for line in drawing.splitlines():
        names = re.findall(r"(?<!\S)[\w/]+/(?!\S)", line)
        if names and not line.startswith(" "):
            inside = folders.setdefault(names[0], set())
        elif names:
            inside.update(names)
    return folders


def test_contributing_draws_every_folder():
    drawn = drawn_folders()
    kinds = {"src/closeknit/": ".py", "cpp/": ".h", "tests/": ".py"}
    found = {
        parent: {f"{path.parent.name}/" for path in (ROOT / parent).glob(f"*/*{kind}")}
        for parent, kind in kinds.items()
    }
    mirrored = found["tests/"] & found["src/closeknit/"]
    assert drawn["src/closeknit/"] == found["src/closeknit/"]
    assert drawn["cpp/"] == found["cpp/"]
    assert drawn["tests/"] == found["tests/"] - mirrored
    for parent in drawn:
        assert all((ROOT / parent / name).is_dir() for name in drawn[parent])
