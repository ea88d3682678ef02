"""A command as a process: closed streams, and signals at bad moments."""

import shlex
import signal
import subprocess
import sys

import pytest

posix = pytest.mark.skipif(sys.platform == "win32", reason="there is no shell there to close them")

#: Ctrl-C when a module is imported; as itself, or as what compiled modules make of it.
AT_IMPORT = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt as error:
                if {wrapped}:
                    raise ImportError("initialization failed") from error
                raise
sys.meta_path.insert(0, Finder())
"""
#: SIGTERM in the middle of writing.
AT_WRITING = """
import numpy
def save(file, *args, **options):
    file.write(b"half")
    signal.raise_signal(signal.SIGTERM)
numpy.save = save
"""


#: A signal in a destructor, where Python drops the exception that it becomes.
IN_A_DESTRUCTOR = """
import closeknit.io.readers
class Dropping:
    def __del__(self):
        signal.raise_signal(signal.{name})
def read(*args, **options):
    Dropping()
    for _ in range(100):
        __import__("time").sleep(0.1)  # which the signal ends
closeknit.io.readers.read_table = closeknit.io.read_table = read
"""
#: The import of a module whose importer goes on whatever happens.
SWALLOWING = """
import sys
sys.path.insert(0, ".")
with open("interrupted.py", "w") as file:
    file.write({module!r})
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "closeknit.embeddings":
            sys.meta_path.remove(self)
            try:
                import interrupted
            except BaseException:
                pass
            {after}
sys.meta_path.insert(0, Finder())
"""
INTERRUPT = "import signal, time; signal.raise_signal(signal.SIGINT)\n"
#: Ctrl-C in such an import, which is put off until it ends; and in one that takes longer than that.
IN_AN_IMPORT = SWALLOWING.format(module=INTERRUPT + "done = True", after="assert interrupted.done")
IN_A_LONG_IMPORT = SWALLOWING.format(
    module=INTERRUPT + "for _ in range(300): time.sleep(0.01)", after="pass"
)
ENDS = {"SIGINT": (130, "closeknit: interrupted\n"), "SIGTERM": (143, "closeknit: terminated\n")}


def shell(closeknit, ending, *arguments):
    line = f"{shlex.join(closeknit.arguments(*arguments))} {ending}"
    return subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=closeknit.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )


@posix
def test_with_stderr_closed_a_command_works(closeknit, flowers):
    done = shell(closeknit, "2>&-", "embed", flowers, "--max-iter", 2, "--json")
    assert done.returncode == 0
    assert '"n_samples": 150' in done.stdout


@posix
def test_with_stderr_closed_errors_are_told_on_stdout(closeknit):
    done = shell(closeknit, "2>&-", "embed", "missing.csv")
    assert done.returncode == 1
    assert done.stdout == (
        "closeknit: cannot read missing.csv: there is no such file; check the path\n"
    )


@posix
def test_with_stdout_closed_files_are_written(closeknit, flowers):
    done = shell(closeknit, ">&-", "embed", flowers, "--max-iter", 2)
    assert done.returncode == 0, done.stderr
    assert "flowers-tsne.csv" in closeknit.files()


@posix
def test_with_stdout_closed_a_table_for_it_is_an_error(closeknit, flowers):
    done = shell(closeknit, ">&-", "embed", flowers, "-o", "-", "--max-iter", 2)
    assert done.returncode == 1
    assert done.stderr == "closeknit: cannot write to stdout: it is closed; name a file\n"


@pytest.fixture
def _only_ascii(monkeypatch):
    """Streams as in a container without a locale."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")


@pytest.mark.usefixtures("_only_ascii")
def test_what_the_terminal_cannot_show_is_escaped(closeknit, flowers):
    flowers = flowers.rename(closeknit.folder / "größe.csv")
    done = closeknit("embed", flowers.name, "--method", "ee", "--max-iter", 2).succeeds()
    assert done.stdout.isascii()
    assert r"gr\xf6\xdfe.csv" in done.stdout
    closeknit("embed", "größen.csv").fails(1, saying=r"cannot read gr\xf6\xdfen.csv")


@pytest.mark.usefixtures("_only_ascii")
def test_a_table_on_stdout_is_utf_8_everywhere(closeknit, flowers):
    text = flowers.read_text("utf-8")
    flowers.write_text(text.replace("setosa", "blüte"), "utf-8")
    done = closeknit("embed", flowers, "-o", "-", "--max-iter", 2).succeeds()
    assert done.stdout.count("blüte") == text.count("setosa") == 50


@posix
def test_links_that_lead_back_to_themselves(closeknit, flowers):
    for name, target in (("one.csv", "two.csv"), ("two.csv", "one.csv")):
        (closeknit.folder / name).symlink_to(target)
    closeknit("embed", flowers, "-o", "one.csv").fails(1, saying="leads back to itself, remove it")
    closeknit("embed", "one.csv").fails(1, saying="leads back to itself; check the path")
    assert (closeknit.folder / "one.csv").is_symlink()


@pytest.mark.parametrize("name", ["closeknit.cli.app", "typer", "sklearn.base", "scipy.sparse"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_an_interrupt_during_imports_is_one_line(closeknit, flowers, name, wrapped):
    outcome = closeknit("embed", flowers, before=AT_IMPORT.format(name=name, wrapped=wrapped))
    outcome.fails(130, saying="closeknit: interrupted")
    assert outcome.stderr.count("\n") == 1


def test_an_interrupt_that_typer_sees_is_one_line(closeknit, flowers):
    before = """
import typer.core
typer.core.TyperGroup.resolve_command = lambda *_: signal.raise_signal(signal.SIGINT)
"""
    outcome = closeknit("embed", flowers, before=before)
    outcome.fails(130, saying="closeknit: interrupted")
    assert outcome.stderr.count("\n") == 1


def test_sigterm_leaves_old_files_and_nothing_half_written(closeknit, flowers, tmp_path):
    (tmp_path / "map.npy").write_bytes(b"old")
    arguments = ("embed", flowers, "--max-iter", 2, "-o", "map.npy")
    outcome = closeknit(*arguments, before=AT_WRITING)
    outcome.fails(143, saying="closeknit: terminated")
    assert (tmp_path / "map.npy").read_bytes() == b"old"
    assert closeknit.files() == ["flowers.csv", "map.npy"]


@pytest.mark.parametrize("name", ENDS)
def test_a_signal_in_a_destructor_is_not_lost(closeknit, flowers, name):
    outcome = closeknit("embed", flowers, before=IN_A_DESTRUCTOR.format(name=name))
    assert (outcome.code, outcome.stderr) == ENDS[name]


@pytest.mark.parametrize("before", [IN_AN_IMPORT, IN_A_LONG_IMPORT], ids=["short", "long"])
def test_a_signal_in_an_import_is_not_lost(closeknit, flowers, before):
    outcome = closeknit("embed", flowers, before=before)
    assert (outcome.code, outcome.stderr) == ENDS["SIGINT"]


@posix
@pytest.mark.parametrize("name", ENDS)
def test_a_signal_when_the_command_is_over_is_quiet(closeknit, flowers, name):
    before = f"import atexit; atexit.register(signal.raise_signal, signal.{name})"
    outcome = closeknit("embed", flowers, "--max-iter", 2, "-o", "map.npy", before=before)
    assert (outcome.code, outcome.stderr) == (-getattr(signal, name), "")
    assert "map.npy" in closeknit.files()


@posix
def test_a_background_job_goes_on_ignoring_ctrl_c(closeknit, flowers):
    before = """
signal.signal(signal.SIGINT, signal.SIG_IGN)
import atexit; atexit.register(signal.raise_signal, signal.SIGINT)
"""
    assert closeknit("info", before=before).code == 0
