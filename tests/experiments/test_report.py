"""The pages of the experiments: they grow, survive an interrupt, and say what went wrong."""

from __future__ import annotations

import sys
import types

import pytest

import closeknit.experiments as experiments
from closeknit.exceptions import OutputError
from closeknit.experiments import reproduce
from closeknit.experiments.drawing import new_figure
from closeknit.experiments.report import Report, Section, claim, listed, settled, table
from closeknit.progress import shown


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [
        (True, "**Agrees**"),
        (False, "**Disagrees**"),
        (None, "**Not comparable**"),
        ([True, True], "**Agrees**"),
        ([False, None], "**Disagrees**"),
        ([None, None], "**Not comparable**"),
        ([False, True, None, True], "**Agrees in 2 of 3 cases**"),
    ],
)
def test_verdicts(holds, verdict):
    assert verdict in claim("It is so.", holds, "1 and 2")


@pytest.mark.parametrize(
    ("cases", "verdict"), [([True] * 3, True), ([False] * 3, False), ([True, False], None)]
)
def test_a_claim_is_settled_if_open_conditions_do_not_matter(cases, verdict):
    assert settled(cases) is verdict


def test_table():
    assert table(["a", "b"], [[1, "x"], [2, "y"]]).splitlines() == [
        "| a | b |",
        "| --- | --- |",
        "| 1 | x |",
        "| 2 | y |",
    ]
    assert listed({"a": 0.25, "b": 1.0}, "{:.1f}") == "a 0.2; b 1.0"


def section(*holds):
    claims = [claim("It is so.", one, "1", "no reason" if one is None else "") for one in holds]
    return lambda: Section(["\n".join(claims)], new_figure(1, 1)[0])


def test_each_section_is_on_disk_at_once(tmp_path):
    report = Report(tmp_path / "new" / "folder", "trial", "Title", "Words.")
    report.add("Figure 1: first", section(True))
    before = report.path.read_text(encoding="utf-8")
    report.add("Figure 2: second", lambda: Section(["two"]))
    after = report.path.read_text(encoding="utf-8")
    assert "![Figure 1: first](trial-figure-1.png)" in before
    assert before[before.index("## ") :].rstrip() in after
    assert after.endswith("## Figure 2: second\n\ntwo\n\n*Run in 0 processor seconds.*\n")
    picture = report.path.with_name("trial-figure-1.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert {p.name for p in report.path.parent.iterdir()} == {"trial.md", "trial-figure-1.png"}


def test_the_first_lines_count_the_verdicts(tmp_path):
    report = Report(tmp_path, "trial", "Title", "Words.")
    report.add("Figure 1: first", section(True, True, None, [True, False]))
    report.add("Figure 2: second", section(False, True))
    counts = "**Claims of the paper: 6. Agree with what we measured: 3; agree in some cases: 1; "
    assert counts + "disagree: 1; not comparable: 1.**" in report.path.read_text("utf-8")


def test_a_quick_run_gives_no_verdicts(tmp_path):
    report = Report(tmp_path, "trial", "Title", "Words.", because="a quick run")
    report.add("Figure 1: first", section(True, None, [True, False]))
    text = report.path.read_text("utf-8")
    assert "Nothing here is comparable with the paper: this was a quick run." in text
    assert text.count("**Not comparable**") == 3
    assert "Agrees" not in text


@pytest.fixture
def fake(monkeypatch):
    """An experiment of two figures, whose text can be changed."""
    module = types.ModuleType("fake")
    module.TITLE, module.INTRODUCTION, module.NEEDS_DATA, module.text = "Fake", "", False, "old"
    module.sections = lambda quick, data: {
        f"Figure {n}: one": lambda n=n: Section([f"{module.text} {n}"]) for n in (1, 2)
    }
    monkeypatch.setitem(sys.modules, "fake", module)
    monkeypatch.setitem(experiments.EXPERIMENTS, "fake", "fake")
    return module


def test_one_section_again(tmp_path, fake):
    """The others stay as they were, in their order; an interrupt leaves all of them."""
    reproduce("fake", tmp_path)
    fake.text = "new"
    page = reproduce("fake", tmp_path, only=["figure-1"]).read_text("utf-8")
    assert page.index("new 1") < page.index("old 2")
    with pytest.raises(ValueError, match=r"no section 'figure-3'; choose from figure-1, figure-2"):
        reproduce("fake", tmp_path, only=["figure-3"])


def test_stand_in_data_give_no_verdicts(tmp_path, fake):
    fake.NEEDS_DATA = True
    assert "data that stand in" in reproduce("fake", tmp_path).read_text("utf-8")
    assert "stand in" not in reproduce("fake", tmp_path, data=tmp_path).read_text("utf-8")


def test_progress_is_shown_only_if_asked_for(tmp_path, capsys):
    report = Report(tmp_path, "trial", "T", "")
    report.add("Figure 1: one", lambda: Section([]))
    assert capsys.readouterr() == ("", "")
    with shown():
        report.add("Figure 1: one", lambda: Section([]))
    assert capsys.readouterr().err.startswith("[closeknit] trial: Figure 1: one (0 s")


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(OutputError, match=r"cannot make the folder .*taken.*; choose another"):
        Report(tmp_path / "taken", "trial", "T", "")
    assert (tmp_path / "taken").read_text() == "mine"
