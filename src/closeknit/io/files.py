"""Files that are either written whole or left as they were, and errors that say what to do."""

from __future__ import annotations

import atexit
import bz2
import errno
import gzip
import lzma
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZipFile

from closeknit.exceptions import CloseknitError, DataError, ModelError, OutputError

#: What opens compressed files, by their endings.
COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}

#: In memory a file may take this many bytes, or this many for each of its own if that is more.
_FLOOR, _RATIO = 2**30, 100

_WRITING_ADVICE = {
    errno.ENOENT: "create the folder first",
    errno.ENOTDIR: "part of the path is a file, not a folder",
    errno.EISDIR: "it is a folder, add a file name",
    errno.EACCES: "change the permissions of the folder",
    errno.EPERM: "change the permissions of the folder",
    errno.EROFS: "the disk is read-only",
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "raise the limit on the size of files",
    errno.ENAMETOOLONG: "shorten the name",
    errno.ELOOP: "the link leads back to itself, remove it",
}
_READING_ADVICE = {
    errno.ENOENT: "there is no such file; check the path",
    errno.ENOTDIR: "part of the path is a file, not a folder; check the path",
    errno.EISDIR: "it is a folder; give the path of a file in it",
    errno.EACCES: "you may not read it; change its permissions",
    errno.EPERM: "you may not read it; change its permissions",
    errno.ELOOP: "it is a link that leads back to itself; check the path",
}


#: Files that are being written, and by which process. A signal at the very end of a block comes
#: before the block's own end, which then does not take place.
_unfinished: dict[Path, int] = {}


def _remove_unfinished() -> None:
    for path, process in _unfinished.items():
        if process == os.getpid():  # not a forked child, whose parent goes on writing
            with suppress(OSError):
                path.unlink(missing_ok=True)


atexit.register(_remove_unfinished)


@contextmanager
def replacing(path: str | os.PathLike[str], *, durable: bool = True) -> Iterator[BinaryIO]:
    """Open a file beside `path` that takes its place only when the block has succeeded.

    Whatever ends the block early, an error, a full disk or Ctrl-C, leaves nothing behind and what
    was at `path` as it was. A place that cannot be written to fails before the block does any work.
    The permissions of a file that is replaced are kept; of several writers the last one wins.

    Parameters
    ----------
    path : str or path
        A link is followed. Something that is not a file, such as ``/dev/stdout``, is written to
        directly.
    durable : bool, default=True
        Whether to wait until the file is on the disk, where a crash of the machine leaves it.

    Yields
    ------
    binary file

    Raises
    ------
    OutputError
        Saying why it cannot be written, and what to do.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from closeknit.io.files import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "numbers.txt")
    ...     with replacing(path) as file:
    ...         _ = file.write(b"1 2 3")
    ...         written_already = path.exists()
    ...     path.read_text(), written_already
    ('1 2 3', False)
    """
    target = Path(path)
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                yield file
            return
        target = Path(os.path.realpath(target))
        if target.is_symlink():  # which leads back to itself
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        # A name of its own for every call: other processes and threads may write to `path`, too.
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
        _unfinished[temporary] = os.getpid()
        try:
            # Open for reading, too: NumPy then writes through `file`, while its own way of writing
            # does not see that a disk is full.
            with temporary.open("x+b") as file:
                yield file
                file.flush()
                if durable:
                    os.fsync(file.fileno())  # a full disk may show only here
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
            _unfinished.pop(temporary, None)
    except CloseknitError:
        raise  # from the block, and says already what to do
    except OSError as error:
        raise OutputError(_cannot_write(path, error)) from error


@contextmanager
def reading(
    path: str | os.PathLike[str], failure: type[CloseknitError] = DataError
) -> Iterator[None]:
    """Turn the ways in which reading a file can fail into one line saying what to do.

    Parameters
    ----------
    path : str or path
    failure : type, default=DataError
        What to raise.

    Raises
    ------
    DataError or another `failure`
        Also for one that is raised inside, which need not name the file.

    Examples
    --------
    >>> from closeknit.io.files import reading
    >>> with reading("scores.csv"):
    ...     raise EOFError("compressed file ended early")
    Traceback (most recent call last):
    closeknit.exceptions.DataError: cannot read scores.csv: it is damaged or incomplete ...
    """
    try:
        if Path(path).is_dir():  # Windows would speak of permissions
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        yield
    except (DataError, ModelError) as error:
        raise failure(f"cannot read {path}: {error}") from error
    except CloseknitError:
        raise
    except UnicodeDecodeError as error:
        raise failure(
            f"cannot read {path}: it is not {error.encoding.upper()} text (byte {error.start}); "
            "save it as UTF-8, or pass its encoding, such as encoding='latin-1'"
        ) from error
    except OSError as error:
        advice = _READING_ADVICE.get(error.errno or 0)
        raise failure(f"cannot read {path}: {advice or _damaged(error)}") from error
    except MemoryError as error:
        raise failure(
            f"cannot read {path}: it needs more memory than there is; read a part of the data"
        ) from error
    except Exception as error:  # a damaged file makes libraries raise anything
        raise failure(f"cannot read {path}: {_damaged(error)}") from error


def expansion_limit(path: Path) -> int:
    """Bytes of memory that what a file holds may take."""
    return max(_FLOOR, _RATIO * path.stat().st_size)


def check_expansion(path: Path, size: int) -> None:
    """Raise an error if what a file holds takes much more memory than the file itself.

    Parameters
    ----------
    path : Path
    size : int
        Bytes in memory.

    Examples
    --------
    >>> check_expansion(Path(__file__), 1000)
    """
    if size > expansion_limit(path):
        raise DataError(
            f"it would take {size / 2**30:.1f} GiB of memory, more than {_RATIO} times its size; "
            "if that is right, store it uncompressed"
        )


def open_binary(path: Path) -> BinaryIO:
    """Open a file for reading, unpacked if it is compressed."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        return _open_zip(path)
    return COMPRESSED[suffix](path, "rb") if suffix in COMPRESSED else path.open("rb")


def _open_zip(path: Path) -> BinaryIO:
    archive = ZipFile(path)
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    if len(names) != 1:
        archive.close()
        raise DataError(f"it holds {len(names)} files; unpack it and choose one")
    return archive.open(names[0])  # type: ignore[return-value]


def without_compression(path: Path) -> Path:
    """The name of a file without the ending that says how it is compressed.

    Examples
    --------
    >>> without_compression(Path("cells.tsv.xz")).name
    'cells.tsv'
    """
    return path.with_suffix("") if path.suffix.lower() in (*COMPRESSED, ".zip") else path


def parts_of(path: Path) -> Iterator[bytes]:
    """What a file holds, unpacked and some at a time, as far as `check_expansion` allows."""
    size = 0
    with open_binary(path) as file:
        while part := file.read(2**22):
            size += len(part)
            check_expansion(path, size)
            yield part


def _cannot_write(path: str | os.PathLike[str], error: OSError) -> str:
    advice = _WRITING_ADVICE.get(error.errno or 0)
    reason = error.strerror or str(error)
    remedy = f"{advice}, or choose another file" if advice else "choose another file"
    return f"cannot write {path}: {reason}; {remedy}"


def _damaged(error: Exception) -> str:
    reason = " ".join(str(error).split()) or type(error).__name__
    return f"it is damaged or incomplete ({reason}); write or download it again"
