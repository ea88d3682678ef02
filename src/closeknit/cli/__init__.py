"""The command line: ``closeknit embed data.csv --plot map.png`` and others.

::

    app ──► demo, embed, affinities, sparsify, cluster, segment, reproduce, info: one module each
            options     said once, for all of them
            inputs      what they read          fitting   estimators made, fitted and described
            outputs     what they write         memory    warnings before large work
            reporting   errors, warnings, progress and the summary, alike in all of them

This module and `errors` import nothing heavy, so that ``closeknit --help`` answers at once and a
missing extra is reported in one line.
"""

from importlib.util import find_spec

from closeknit.cli.errors import CommandError, reported_errors

__all__ = ["main"]


def main() -> None:
    """Run the command line, the entry point of the ``closeknit`` script."""
    with reported_errors():
        for package in ("typer", "rich"):
            if find_spec(package) is None:
                raise CommandError(
                    f"the command line needs {package}, which is not installed; "
                    'run: pip install "closeknit[cli]"',
                    exit_code=2,
                )
        from closeknit.cli.app import app

        app(prog_name="closeknit")
