"""``closeknit info``: what a bug report needs to say about the machine."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from closeknit.cli.command import Command, Fact

# Their metadata is read and nothing is imported: that is quick, and a broken installation can still
# be described.
_NEEDED = ("closeknit", "numpy", "scipy", "scikit-learn", "threadpoolctl")
#: Packages that are needed only for some things, and for which.
_OPTIONAL = {
    "matplotlib": "pictures",
    "pillow": "reading pictures",
    "typer": "command line",
    "rich": "command line",
    "narwhals": "pandas, Polars and Arrow frames",
    "pyarrow": "CSV and Parquet",
    "anndata": "H5AD files",
}


@dataclass(frozen=True, kw_only=True)
class Info(Command):
    """Show versions, threads and the instruction set in use, for a bug report.

    Examples
    --------
    closeknit info

    closeknit info --json
    """

    def start(self) -> None:
        """Import nothing: it also has to work where something is broken."""

    def run(self) -> None:
        """See `Command`."""
        from closeknit import _core
        from closeknit._threads import effective_n_jobs

        packages = {name: _version(name) for name in (*_NEEDED, *_OPTIONAL)}
        lines = [
            Fact("", name, found or f"not installed (for {_OPTIONAL.get(name, 'everything')})")
            for name, found in packages.items()
        ]
        python = f"{platform.python_version()} ({platform.python_implementation()})"
        facts = [
            Fact("packages", "", packages),
            Fact("python", "python", python),
            Fact("platform", "platform", platform.platform()),
            Fact("threads", "threads", effective_n_jobs(-1)),
            Fact("simd", "simd", _core.simd()),
        ]
        self.summarize("closeknit", facts if self.json else [*lines, *facts])


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
