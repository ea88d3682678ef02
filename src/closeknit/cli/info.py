"""``closeknit info``: what a bug report needs to say about the machine."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from closeknit.cli import options as opt
from closeknit.cli.groups import spelled_out
from closeknit.cli.reporting import Fact, reporting

__all__ = ["EXAMPLES", "info"]

EXAMPLES = """
closeknit info

closeknit info --json
"""

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


@spelled_out
def info(talk: opt.TalkOptions) -> None:
    """Show versions, threads and the instruction set in use, for a bug report."""
    with reporting(talk) as reporter:
        from closeknit import _core
        from closeknit._threads import effective_n_jobs

        packages = {name: _version(name) for name in (*_NEEDED, *_OPTIONAL)}
        lines = [
            Fact("", name, found or f"not installed (for {_OPTIONAL.get(name, 'everything')})")
            for name, found in packages.items()
        ]
        facts = [
            Fact("packages", "", packages),
            Fact(
                "python",
                "python",
                f"{platform.python_version()} ({platform.python_implementation()})",
            ),
            Fact("platform", "platform", platform.platform()),
            Fact("threads", "threads", effective_n_jobs(-1)),
            Fact("simd", "simd", _core.simd()),
        ]
        reporter.summarize("closeknit", facts if talk.json else [*lines, *facts])


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
