"""``closeknit info``: what a bug report needs to say about the machine."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version

from rich.console import Console
from rich.table import Table

from closeknit import _core
from closeknit._threads import effective_n_jobs

__all__ = ["Info", "collect", "report"]

# Their metadata is read and nothing is imported: that is quick, and a broken installation can still
# be described.
PACKAGES = (
    "closeknit",
    "numpy",
    "scipy",
    "scikit-learn",
    "threadpoolctl",
    "matplotlib",
    "typer",
    "rich",
)


@dataclass(frozen=True)
class Info:
    """What ``closeknit info`` reports.

    Attributes
    ----------
    packages : dict of str to str or None
        Version of each package, None if it is not installed.
    python : str
        Version and implementation.
    platform : str
        Operating system and processor.
    threads : int
        Threads that ``n_jobs=-1`` uses.
    simd : str
        Instruction set of the kernels chosen on this machine.
    """

    packages: dict[str, str | None]
    python: str
    platform: str
    threads: int
    simd: str


def collect() -> Info:
    """Look at the installation and the machine."""
    return Info(
        packages={name: _version(name) for name in PACKAGES},
        python=f"{platform.python_version()} ({platform.python_implementation()})",
        platform=platform.platform(),
        threads=effective_n_jobs(-1),
        simd=_core.simd(),
    )


def report(info: Info, *, as_json: bool) -> None:
    """Print `info` as a table or as one JSON object."""
    if as_json:
        print(json.dumps(asdict(info)))
        return
    table = Table(show_header=False, box=None)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, found in info.packages.items():
        table.add_row(name, found or "not installed")
    table.add_section()
    table.add_row("python", info.python)
    table.add_row("platform", info.platform)
    table.add_row("threads", str(info.threads))
    table.add_row("simd", info.simd)
    Console().print(table)


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
