"""The command itself: where errors become messages and exit codes.

Commands are modules of their own, options and help in one (`fit`), work in another (`fit_work`).
Nothing heavy is imported for the former, so that `bmcg --help` answers at once.
"""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .outcome import USER_ERROR, begin, interrupted, is_advice, one_line, say


class Commands(TyperGroup):
    """The one place where errors become messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command: 0 done, 1 the user's to put right, 2 usage, 130 interrupted."""
        begin()
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise interrupted() from None
        except Exception as error:
            if os.environ.get("BMCG_TRACEBACK") or not is_advice(error):
                raise
            say(f"error: {one_line(error)}")
            raise typer.Exit(USER_ERROR) from None


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Fill in the missing entries of a matrix, with graphs on its rows and columns.\n\n"
    "The rank, the noise and all weights are learned; nothing is tuned.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from bmcg import __version__

        typer.echo(f"bmcg {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the command `bmcg`."""
    app(prog_name="bmcg")
