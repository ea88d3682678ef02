"""The pages of the experiments: they grow, survive an interrupt, and say what went wrong."""

from __future__ import annotations

import pytest

from closeknit.exceptions import OutputError
from closeknit.experiments.report import Report, claim, new_figure, table
from closeknit.progress import shown


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [
        (True, "**Agrees**"),
        (False, "**Disagrees**"),
        ([True, True], "**Agrees**"),
        ([False, False], "**Disagrees**"),
        ([False, True, True], "**Agrees in 2 of 3 cases**"),
    ],
)
def test_verdicts(holds, verdict):
    assert verdict in claim("It is so.", holds, "1 and 2")


def test_table():
    assert table(["a", "b"], [[1, "x"], [2, "y"]]).splitlines() == [
        "| a | b |",
        "| --- | --- |",
        "| 1 | x |",
        "| 2 | y |",
    ]


def test_each_section_is_on_disk_at_once(tmp_path):
    report = Report(tmp_path / "new" / "folder", "trial", "Title", "Words.")
    report.add("Figure 1: first", "one", new_figure(1, 1)[0], "figure-1")
    before = report.path.read_text(encoding="utf-8")
    report.add("Figure 2: second", "two")
    after = report.path.read_text(encoding="utf-8")
    assert "![Figure 1: first](trial-figure-1.png)" in before
    assert after.startswith(before.rstrip("\n"))
    assert after.endswith("## Figure 2: second\n\ntwo\n")
    picture = report.path.with_name("trial-figure-1.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert {p.name for p in report.path.parent.iterdir()} == {"trial.md", "trial-figure-1.png"}


def test_progress_is_shown_only_if_asked_for(tmp_path, capsys):
    report = Report(tmp_path, "trial", "T", "")
    report.log("figure 1")
    assert capsys.readouterr() == ("", "")
    with shown():
        report.log("figure 1")
    assert capsys.readouterr().err.startswith("[closeknit] trial: figure 1 (0 s")


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(OutputError, match=r"cannot make the folder .*taken.*; choose another"):
        Report(tmp_path / "taken", "trial", "T", "")
    assert (tmp_path / "taken").read_text() == "mine"
