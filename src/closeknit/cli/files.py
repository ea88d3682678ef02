"""Files that are either written whole or left as they were."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from closeknit.cli.errors import CommandError

__all__ = ["replacing"]


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file beside `path` that takes its place only when the block has succeeded.

    A place that cannot be written to fails here, before the block does any work.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            with temporary.open("wb") as file:
                yield file
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise CommandError(
            f"cannot write {path}: {error.strerror or error}; choose another --output"
        ) from error
