"""Files are replaced whole or not at all, and errors say what to do."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from closeknit.exceptions import CloseknitError, DataError, ModelError, OutputError
from closeknit.io.files import reading, replacing


def write_half(path, error):
    with replacing(path) as file:
        file.write(b"half")
        raise error


def test_the_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("x"), SystemExit(3)])
@pytest.mark.parametrize("exists", [True, False])
def test_failure_leaves_what_was_there(tmp_path, error, exists):
    path = tmp_path / "a.txt"
    if exists:
        path.write_text("old")
    with pytest.raises(type(error)):
        write_half(path, error)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.txt", "old")] * exists


@pytest.mark.parametrize(
    ("place", "saying"),
    [
        ("missing/a.txt", "create the folder first"),
        ("a-file/a.txt", "not a folder"),
        ("a-folder", "it is a folder, add a file name"),
        ("x" * 300, "shorten the name"),
    ],
)
def test_places_that_cannot_be_written_fail_before_the_work(tmp_path, place, saying):
    (tmp_path / "a-file").write_text("in the way")
    (tmp_path / "a-folder").mkdir()
    with pytest.raises(OutputError, match=saying) as caught, replacing(tmp_path / place):
        pytest.fail("the work began")
    assert "\n" not in str(caught.value)
    assert str(tmp_path / place) in str(caught.value)
    assert isinstance(caught.value, OSError)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a-file", "a-folder"]


@pytest.mark.parametrize(
    ("number", "saying"),
    [
        (errno.EACCES, "change the permissions"),
        (errno.EROFS, "read-only"),
        (errno.ENOSPC, "free some space"),
        (errno.EIO, "choose another file"),
    ],
)
def test_failures_of_the_disk_say_what_to_do(tmp_path, number, saying):
    """Root may write anywhere, so the errors are raised by hand."""
    path = tmp_path / "a.txt"
    with pytest.raises(OutputError, match=saying):
        write_half(path, OSError(number, os.strerror(number)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a Linux device that is always full")
def test_a_full_disk():
    with pytest.raises(OutputError, match="free some space"), replacing("/dev/full") as file:
        file.write(b"x" * 100_000)


@pytest.mark.skipif(os.name == "nt", reason="there are no such permissions there")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_permissions_are_kept(tmp_path, mode):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as file:
        file.write(b"new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", mode)


def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "a.txt").touch()
    with replacing(tmp_path / "b.txt") as file:
        file.write(b"new")
    assert (tmp_path / "b.txt").stat().st_mode == (tmp_path / "a.txt").stat().st_mode


def test_several_writers_at_once_leave_one_whole_file(tmp_path):
    path = tmp_path / "a.txt"
    barrier = Barrier(8)

    def write(number):
        with replacing(path) as file:
            barrier.wait(timeout=60)  # all have opened theirs
            for _ in range(100):
                file.write(b"%d" % number * 1000)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    content = path.read_bytes()
    assert len(content) == 100_000
    assert len(set(content)) == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_are_followed(tmp_path):
    target = tmp_path / "there" / "a.txt"
    target.parent.mkdir()
    target.write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to(target)
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"


@pytest.mark.skipif(os.name == "nt", reason="no such device there")
def test_devices_are_written_to_directly():
    code = "from closeknit.io.files import replacing\n"
    code += "with replacing('/dev/stdout') as f: f.write(b'hello')"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert out.stdout == b"hello"


def test_errors_of_the_block_that_say_what_to_do_pass(tmp_path):
    with pytest.raises(DataError, match=r"^as it is$"), replacing(tmp_path / "a.txt"):
        raise DataError("as it is")


@pytest.mark.parametrize(
    ("error", "saying"),
    [
        (PermissionError(errno.EACCES, "denied"), "change its permissions"),
        (FileNotFoundError(errno.ENOENT, "gone"), "check the path"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "save it as UTF-8"),
        (MemoryError(), "more memory than there is"),
        (EOFError("ended\nearly"), r"damaged or incomplete \(ended early\)"),
        (OSError("strange"), r"damaged or incomplete \(strange\)"),
        (DataError("no rows"), "cannot read a.csv: no rows"),
    ],
)
@pytest.mark.parametrize("failure", [DataError, ModelError])
def test_failures_of_reading_say_what_to_do(error, saying, failure):
    if isinstance(error, DataError):
        error = failure(*error.args)
    with pytest.raises(failure, match=saying) as caught, reading("a.csv", failure):
        raise error
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, CloseknitError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("forked", [False, True])
def test_a_block_that_never_ends_leaves_nothing_behind(tmp_path, forked):
    """As where a signal comes between a block and its end, and no cycles are looked for."""
    if forked and not hasattr(os, "fork"):
        pytest.skip("this system does not fork")
    script = f"""
import gc, os, sys
from closeknit.io.files import replacing
block = replacing({str(tmp_path / "numbers.txt")!r})
block.__enter__().write(b"1 2")
cycle = [block]
cycle.append(cycle)
gc.freeze()
del block, cycle
if {forked} and os.fork() == 0:
    sys.exit()  # a child that ends leaves its parent's file alone
if {forked}:
    os.wait()
assert len(os.listdir({str(tmp_path)!r})) == 1
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    assert list(tmp_path.iterdir()) == []
