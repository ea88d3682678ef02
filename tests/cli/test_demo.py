import pytest

from closeknit.io import read_table

PNG = b"\x89PNG\r\n\x1a\n"


def test_it_prints_a_table_and_writes_a_picture_and_a_map(closeknit, tmp_path):
    outcome = closeknit("demo").succeeds()
    for row in ("points", "1797", "perplexity", "KL(P‖Q)", "neighbours kept", "closeknit-demo"):
        assert row in outcome.stdout
    assert outcome.stderr == ""
    assert closeknit.files() == ["closeknit-demo.csv", "closeknit-demo.png"]
    assert (tmp_path / "closeknit-demo.png").read_bytes().startswith(PNG)
    table = read_table(tmp_path / "closeknit-demo.csv", labels=["digit", "sigma"])
    assert table.X.shape == (1797, 2)
    assert set(table.labels["digit"]) == set(range(10))
    assert table.labels["sigma"].min() > 0


def test_json_is_one_object_that_keeps_the_library_s_promise(closeknit):
    summary = closeknit("demo", "--json", "--perplexity", 12.5).summary
    assert (summary["n_samples"], summary["n_features"]) == (1797, 64)
    assert summary["perplexity"] == 12.5
    assert summary["n_neighbors"] == 38  # ⌈3K⌉
    assert summary["rows_without_bandwidth"] == 0
    # |H − log K| ≤ 1e-10 is an error of about K · 1e-10 in perplexity.
    assert 0 <= summary["largest_perplexity_error"] <= 12.5 * 1.1e-10
    assert summary["passes_per_point"] >= 1
    assert summary["knn_accuracy"] > 0.95
    assert summary["stopped_because"] == "tol"
    assert (summary["output"], summary["csv"]) == ("closeknit-demo.png", "closeknit-demo.csv")


def test_quiet_prints_nothing_and_replaces_the_picture(closeknit, tmp_path):
    picture = tmp_path / "digits.png"
    picture.write_text("an older picture")
    outcome = closeknit("demo", "--quiet", "--output", picture).succeeds()
    assert (outcome.stdout, outcome.stderr) == ("", "")
    assert picture.read_bytes().startswith(PNG)
    assert closeknit.files() == ["digits.csv", "digits.png"]


@pytest.mark.parametrize("perplexity", ["1796", "1", "nan"])
def test_an_impossible_perplexity(closeknit, in_process, perplexity):
    outcome = in_process("demo", f"--perplexity={perplexity}")
    outcome.fails(2, saying="choose a number above 1 and below 1796")
    assert closeknit.files() == []


def test_an_unknown_picture_format(closeknit, in_process):
    in_process("demo", "--output", "digits.docx").fails(2, saying="png")
    assert closeknit.files() == []


# Permissions do not stop root, who may run these tests; a path below a file stops everybody.
@pytest.mark.parametrize("output", ["missing/digits.png", "a-file/digits.png", "a-folder", "."])
def test_a_place_it_cannot_write_to(closeknit, in_process, tmp_path, output):
    (tmp_path / "a-file").write_text("in the way")
    (tmp_path / "a-folder").mkdir()
    in_process("demo", "--output", output).fails(1, saying="choose another file")
    assert closeknit.files() == ["a-file", "a-folder"]


FAIL_WHILE_SAVING = """
from matplotlib.figure import Figure
def savefig(self, file, **options):
    file.write(b"half a picture")
    raise {error}
Figure.savefig = savefig
"""


@pytest.mark.parametrize(
    ("error", "code", "saying"),
    [
        ("OSError(28, 'No space left on device')", 1, "No space left on device"),
        ("KeyboardInterrupt", 130, "interrupted"),
    ],
)
def test_a_failure_leaves_the_old_picture_alone(closeknit, tmp_path, error, code, saying):
    picture = tmp_path / "digits.png"
    picture.write_text("an older picture")
    before = FAIL_WHILE_SAVING.format(error=error)
    closeknit("demo", "--output", picture, before=before).fails(code, saying=saying)
    assert picture.read_text() == "an older picture"
    assert closeknit.files() == ["digits.png"]


INTERRUPT = """
import signal
from closeknit.objectives.base import AtLambda
evaluate = AtLambda.value_and_gradient
def interrupted(self, X):
    if {condition}:
        signal.raise_signal(signal.SIGINT)
    return evaluate(self, X)
AtLambda.value_and_gradient = interrupted
"""


@pytest.mark.parametrize("condition", ["True", "self.lam == 1.0"])
def test_ctrl_c_before_the_first_value_of_a_stage(closeknit, condition):
    outcome = closeknit("demo", before=INTERRUPT.format(condition=condition))
    outcome.ends(130, saying="the map so far is in closeknit-demo.png")
    assert closeknit.files() == ["closeknit-demo.csv", "closeknit-demo.png"]
    assert "nan" not in outcome.stdout


def test_a_missing_plot_extra_is_named(closeknit, without):
    outcome = closeknit("demo", before=without("matplotlib.figure"))
    outcome.fails(1, saying='pip install "closeknit[plot]"')
    assert closeknit.files() == []
