"""``info``, ``--version``, ``--help``, missing extras, and what is imported when."""

import subprocess
import sys

import pytest

import closeknit as ck

COMMANDS = (
    "demo",
    "embed",
    "affinities",
    "sparsify",
    "cluster",
    "segment",
    "reproduce",
    "info",
)


def test_info_prints_what_a_bug_report_needs(closeknit):
    outcome = closeknit("info").succeeds()
    for name in ("closeknit", "numpy", "scipy", "scikit-learn", "threads", "simd", "pyarrow"):
        assert name in outcome.stdout


def test_info_json(closeknit):
    info = closeknit("info", "--json").summary
    assert info["packages"]["closeknit"] == ck.__version__
    assert info["packages"]["anndata"] is None or info["packages"]["anndata"][0].isdigit()
    assert info["simd"] in {"avx2", "baseline"}
    assert info["threads"] >= 1


def test_info_imports_none_of_the_packages_it_lists(closeknit, without):
    names = ("matplotlib", "sklearn", "scipy", "pyarrow", "anndata")
    closeknit("info", "--json", before="\n".join(map(without, names))).succeeds()


def test_info_says_what_a_missing_package_is_for(closeknit):
    before = """
import importlib.metadata as metadata
found = metadata.version
def version(name):
    if name == "pyarrow":
        raise metadata.PackageNotFoundError(name)
    return found(name)
metadata.version = version
"""
    assert (
        "not installed (for CSV and Parquet)" in closeknit("info", before=before).succeeds().stdout
    )


def test_info_quiet(closeknit):
    outcome = closeknit("info", "--quiet").succeeds()
    assert (outcome.stdout, outcome.stderr) == ("", "")


def test_a_full_disk_behind_stdout(closeknit, full_disk):
    with full_disk("full").open("w") as full:
        outcome = closeknit("info", stdout=full)
    outcome.fails(1, saying="No space left on device")


def test_a_reader_that_has_seen_enough_is_no_error(closeknit, tmp_path):
    if sys.platform == "win32":
        pytest.skip("pipes close otherwise there")
    before = "import os, sys; r, w = os.pipe(); os.dup2(w, 1); os.close(r); os.close(w)"
    outcome = closeknit("info", before=before)
    assert (outcome.code, outcome.stderr) == (1, "")


def test_version(closeknit):
    assert closeknit("--version").succeeds().stdout == f"closeknit {ck.__version__}\n"


def test_help_imports_nothing_heavy(closeknit, without):
    before = "\n".join(map(without, ("numpy", "scipy", "sklearn", "matplotlib")))
    outcome = closeknit("--help", before=before).succeeds()
    for command in COMMANDS:
        assert command in outcome.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(closeknit, command):
    assert (
        f"closeknit {command}"
        in closeknit(command, "--help").succeeds().stdout.split("Examples")[1]
    )


@pytest.mark.parametrize(
    "arguments", [("embed", "--colour", "x"), ("no-such-command",), ("embed",)]
)
def test_wrong_usage(closeknit, arguments):
    outcome = closeknit(*arguments)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert "Usage" in outcome.stderr
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_a_missing_cli_extra_is_named(closeknit, without, package):
    outcome = closeknit("demo", before=without(package))
    outcome.fails(2, saying='pip install "closeknit[cli]"')


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("closeknit", ("numpy", "scipy", "sklearn", "matplotlib", "rich", "typer")),
        ("closeknit.cli", ("numpy", "scipy", "sklearn", "matplotlib", "rich", "typer")),
        ("closeknit.cli.app", ("numpy", "scipy", "sklearn", "matplotlib")),
    ],
)
def test_importing_is_light(module, absent):
    code = f"import sys, {module}; print(*(name.split('.')[0] for name in sys.modules))"
    printed = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    assert not set(absent) & set(printed.split())
