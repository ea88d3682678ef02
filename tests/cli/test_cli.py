"""The command line as its users meet it: a process with arguments, streams and an exit code."""

import json
import subprocess
import sys

import pytest

import closeknit

RUN = "from closeknit.cli import main; main()"
PNG = b"\x89PNG\r\n\x1a\n"


def closeknit_command(*arguments, cwd, before=""):
    """Run ``closeknit`` in a process of its own, after the statements in `before`."""
    return subprocess.run(
        [sys.executable, "-c", f"{before}\n{RUN}", *map(str, arguments)],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def without(module):
    """Statements after which `module` cannot be imported, as if it were not installed."""
    return f"import sys; sys.modules[{module!r}] = None"


def assert_fails(result, exit_code, *, saying):
    """One line of ours on stderr (matplotlib may add its own), nothing on stdout, no traceback."""
    assert result.returncode == exit_code, result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("closeknit: ")]
    assert saying in line


# ---- demo ----------------------------------------------------------------------------------------


def test_demo_prints_a_table_and_writes_a_picture(tmp_path):
    result = closeknit_command("demo", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    for row in ("points", "perplexity K", "passes per point", "largest perplexity error"):
        assert row in result.stdout
    assert "1797" in result.stdout
    assert "closeknit-demo.png" in result.stdout
    assert (tmp_path / "closeknit-demo.png").read_bytes().startswith(PNG)


def test_demo_json_is_one_object_that_keeps_the_library_s_promise(tmp_path):
    result = closeknit_command("demo", "--json", "--perplexity", 12.5, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout)
    assert (summary["n_samples"], summary["n_features"]) == (1797, 64)
    assert summary["perplexity"] == 12.5
    assert summary["n_neighbors"] == 38  # ⌈3K⌉
    assert summary["rows_without_bandwidth"] == 0
    # |H − log K| ≤ 1e-10 is an error of about K · 1e-10 in perplexity.
    assert 0 <= summary["largest_perplexity_error"] <= 12.5 * 1.1e-10
    assert summary["passes_per_point"] >= 1
    assert summary["output"] == "closeknit-demo.png"


def test_demo_quiet_prints_nothing_and_replaces_the_picture(tmp_path):
    picture = tmp_path / "digits.png"
    picture.write_text("an older picture")
    result = closeknit_command("demo", "--quiet", "--output", picture, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    assert picture.read_bytes().startswith(PNG)
    assert list(tmp_path.iterdir()) == [picture]


def test_demo_accepts_any_perplexity_that_has_a_meaning(tmp_path):
    # ⌈3K⌉ is more than the 1796 other points here.
    result = closeknit_command("demo", "--json", "--perplexity", 1000, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["n_neighbors"] == 1796


@pytest.mark.parametrize("perplexity", ["1796", "1", "nan"])
def test_demo_refuses_an_impossible_perplexity(tmp_path, perplexity):
    result = closeknit_command("demo", f"--perplexity={perplexity}", cwd=tmp_path)
    assert_fails(result, 2, saying="choose a number above 1 and below 1796")
    assert list(tmp_path.iterdir()) == []


def test_demo_refuses_an_unknown_picture_format(tmp_path):
    result = closeknit_command("demo", "--output", "digits.docx", cwd=tmp_path)
    assert_fails(result, 2, saying="png")
    assert list(tmp_path.iterdir()) == []


# Permissions do not stop root, who may run these tests; a path below a file stops everybody.
@pytest.mark.parametrize("output", ["missing/digits.png", "a-file/digits.png", "a-folder", "."])
def test_demo_reports_a_place_it_cannot_write_to(tmp_path, output):
    (tmp_path / "a-file").write_text("in the way")
    (tmp_path / "a-folder").mkdir()
    result = closeknit_command("demo", "--output", output, cwd=tmp_path)
    assert_fails(result, 1, saying="choose another file")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a-file", "a-folder"]


FAIL_WHILE_SAVING = """
from matplotlib.figure import Figure
def savefig(self, file, **options):
    file.write(b"half a picture")
    raise {error}
Figure.savefig = savefig
"""


@pytest.mark.parametrize(
    ("error", "exit_code", "saying"),
    [
        ("OSError(28, 'No space left on device')", 1, "No space left on device"),
        ("KeyboardInterrupt", 130, "interrupted"),
    ],
)
def test_demo_leaves_the_old_picture_alone_when_it_fails(tmp_path, error, exit_code, saying):
    picture = tmp_path / "digits.png"
    picture.write_text("an older picture")
    before = FAIL_WHILE_SAVING.format(error=error)
    result = closeknit_command("demo", "--output", picture, cwd=tmp_path, before=before)
    assert_fails(result, exit_code, saying=saying)
    assert picture.read_text() == "an older picture"
    assert list(tmp_path.iterdir()) == [picture]


# ---- info, version, help -------------------------------------------------------------------------


def test_info_prints_what_a_bug_report_needs(tmp_path):
    result = closeknit_command("info", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    for name in ("closeknit", "numpy", "scipy", "scikit-learn", "threads", "simd"):
        assert name in result.stdout


def test_info_json(tmp_path):
    result = closeknit_command("info", "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    info = json.loads(result.stdout)
    assert info["packages"]["closeknit"] == closeknit.__version__
    assert info["simd"] in {"avx2", "baseline"}
    assert info["threads"] >= 1


def test_info_imports_none_of_the_packages_it_lists(tmp_path):
    before = "\n".join(without(name) for name in ("matplotlib", "sklearn", "scipy"))
    result = closeknit_command("info", "--json", cwd=tmp_path, before=before)
    assert result.returncode == 0, result.stderr


def test_version(tmp_path):
    result = closeknit_command("--version", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, f"closeknit {closeknit.__version__}\n")


def test_help_imports_nothing_heavy(tmp_path):
    before = "\n".join(without(name) for name in ("numpy", "scipy", "sklearn", "matplotlib"))
    result = closeknit_command("--help", cwd=tmp_path, before=before)
    assert result.returncode == 0, result.stderr
    assert "demo" in result.stdout
    assert "info" in result.stdout


# ---- missing extras ------------------------------------------------------------------------------


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_a_missing_cli_extra_is_named(tmp_path, package):
    result = closeknit_command("demo", cwd=tmp_path, before=without(package))
    assert_fails(result, 2, saying='pip install "closeknit[cli]"')


def test_a_missing_plot_extra_is_named(tmp_path):
    result = closeknit_command("demo", cwd=tmp_path, before=without("matplotlib"))
    assert_fails(result, 2, saying='pip install "closeknit[plot]"')
    assert list(tmp_path.iterdir()) == []
