"""The hand-written stub names exactly what the compiled core offers, with the same parameters."""

import ast
import re
from importlib.resources import files

import pytest

from closeknit import _core

TREE = ast.parse(files("closeknit").joinpath("_core.pyi").read_text())
STUBBED = {
    node.name: node for node in TREE.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
}


def parameters(signature):
    """Names of the parameters in one of nanobind's signatures."""
    without_types = re.sub(r"\[[^\]]*\]", "", signature)
    return re.findall(r"(\w+): ", without_types)


def stubbed_parameters(node):
    return [argument.arg for argument in node.args.args if argument.arg != "self"]


def methods(node):
    return [
        item
        for item in node.body
        if isinstance(item, ast.FunctionDef) and not item.name.startswith("__")
    ]


def test_stub_and_core_offer_the_same_names():
    assert set(STUBBED) == {name for name in dir(_core) if not name.startswith("_")}


@pytest.mark.parametrize("name", STUBBED)
def test_stub_and_core_agree_on_parameters(name):
    node, offered = STUBBED[name], getattr(_core, name)
    if isinstance(node, ast.FunctionDef):
        stubbed, signatures = [node], offered.__nb_signature__
    else:
        stubbed = [
            item
            for item in node.body
            if isinstance(item, ast.FunctionDef) and item.name == "__init__"
        ]
        signatures = getattr(offered.__init__, "__nb_signature__", ()) if stubbed else ()
        assert {method.name for method in methods(node)} == {
            attribute for attribute in dir(offered) if not attribute.startswith("_")
        }
    expected = {tuple(stubbed_parameters(each)) for each in stubbed}
    assert {tuple(parameters(text)) for text, *_ in signatures} == expected
