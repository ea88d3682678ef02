"""The command only: what the experiments do is tested with them."""

import pytest

from closeknit.experiments import EXPERIMENTS

FAKE = """
import sys, types
from pathlib import Path
import closeknit.experiments as experiments
fake = types.ModuleType("fake")
from closeknit.experiments.drawing import new_figure
from closeknit.experiments.report import Section
def sections(quick, data):
    def second():
        {action}
        return Section([f"{{quick}} {{data}}"])
    return {{"Figure 1: one": lambda: Section([], new_figure(1, 1)[0]), "Done": second}}
fake.TITLE = fake.INTRODUCTION = "Fake"
fake.NEEDS_DATA = True
fake.sections = sections
sys.modules["fake"] = fake
experiments.EXPERIMENTS["fake"] = "fake"
"""


def test_a_page_and_its_figures(closeknit, tmp_path):
    (tmp_path / "sets").mkdir()
    options = ("--data", "sets", "-o", "results", "--json")
    summary = closeknit("reproduce", "fake", *options, before=FAKE.format(action="")).summary
    assert summary["name"] == "fake"
    assert summary["figures"] == 1
    page = (tmp_path / "results" / "fake.md").read_text()
    assert page.endswith("False sets\n\n*Run in 0 processor seconds.*\n")


def test_one_section(closeknit, tmp_path):
    """The picture of the other is not drawn; a section that is not there is named."""
    options = ("--quick", "-o", "results", "--only", "done")
    closeknit("reproduce", "fake", *options, before=FAKE.format(action="")).succeeds()
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["fake.md"]
    outcome = closeknit("reproduce", "fake", "--only", "none", before=FAKE.format(action=""))
    outcome.fails(1, saying="fake has no section 'none'; choose from figure-1, done")


def test_quiet_in_a_folder_of_its_own(closeknit):
    outcome = closeknit("reproduce", "fake", "-q", before=FAKE.format(action="")).succeeds()
    assert (outcome.stdout, outcome.stderr) == ("", "")
    assert closeknit.files() == ["closeknit-fake"]


def test_ctrl_c_leaves_what_is_finished(closeknit, tmp_path):
    before = FAKE.format(action="signal.raise_signal(signal.SIGINT)")
    outcome = closeknit("reproduce", "fake", before=before)
    outcome.fails(130, saying="interrupted; what was finished is in closeknit-fake")
    assert (tmp_path / "closeknit-fake" / "fake-figure-1.png").exists()


def test_a_full_disk(closeknit):
    before = FAKE.format(action="raise OSError(28, 'No space left on device')")
    outcome = closeknit("reproduce", "fake", before=before)
    outcome.fails(1, saying="No space left on device")


def test_refusals(closeknit, in_process, tmp_path):
    (tmp_path / "a-file").write_text("")
    name = next(iter(EXPERIMENTS))
    in_process("reproduce", "nothing").fails(2, saying=f"choose one of {name}")
    in_process("reproduce", name, "-o", "a-file").fails(2, saying="a-file is a file")
    in_process("reproduce", name, "--data", "absent").fails(2, saying="is not a folder")
    assert closeknit.files() == ["a-file"]


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_experiment_can_be_called(name):
    from importlib import import_module
    from inspect import signature

    experiment = import_module(EXPERIMENTS[name])
    assert {"quick", "data"} == signature(experiment.sections).parameters.keys()
    assert len(experiment.TITLE) < len(experiment.INTRODUCTION)
