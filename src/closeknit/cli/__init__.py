"""The command line: ``closeknit embed data.csv --plot map.png`` and others.

::

    app ──► demo, embed, affinities, sparsify, cluster, segment, explore, reproduce, info:
            one module each
            command        a class whose fields are options; warnings, progress and the summary
            data           what commands read      neighborhood   perplexity and neighbours
            outputs        what they write         fitting        embeddings fitted and described
            errors         one line, exit code     memory         warnings before large work
            signals        Ctrl-C and SIGTERM      workers        processes for embed --workers

This module, `errors` and `signals` import nothing heavy, so that ``closeknit --help`` answers at
once and a missing extra, or Ctrl-C on the way, is reported in one line.
"""

import gc
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, the entry point of the ``closeknit`` script.

    Afterwards signals have the system's default effect: the process is expected to end.
    """
    try:
        from closeknit.cli.errors import mend_streams, reporting_errors
        from closeknit.cli.signals import watch_signals

        watch_signals()
    except KeyboardInterrupt:
        print("closeknit: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    mend_streams()
    try:
        reporting_errors(_run)
    finally:
        # At its end Python looks for cycles among all objects, for half a second, although they go
        # with the process anyway.
        gc.freeze()


def _run() -> None:
    from importlib.util import find_spec

    from closeknit.cli.errors import UsageError

    for package in ("typer", "rich"):
        if find_spec(package) is None:
            raise UsageError(
                f"the command line needs {package}, which is not installed; "
                'run: pip install "closeknit[cli]"'
            )
    from closeknit.cli.app import app

    app(prog_name="closeknit")
