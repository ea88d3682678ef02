"""The hand-written stub names exactly what the compiled core offers."""

import ast
from importlib.resources import files

from closeknit import _core


def test_stub_and_core_offer_the_same_names():
    tree = ast.parse(files("closeknit").joinpath("_core.pyi").read_text())
    stubbed = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    offered = {name for name in dir(_core) if not name.startswith("_")}
    assert stubbed == offered
