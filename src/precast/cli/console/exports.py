"""The option --exports: the resources that other nodes export, for a compile without a server."""

import argparse
from typing import TYPE_CHECKING

from precast.cli import issues

if TYPE_CHECKING:
    from precast.lang.exports import KnownExports


def add_exports(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--exports",
        metavar="FILE",
        help="collect these exported resources of other nodes: a JSON array of objects with node, type, title, parameters and "
        "tags (default: none, and a warning about exports and their collectors)",
    )


def read_exports(args: argparse.Namespace) -> "KnownExports | None":
    """The exports of the file that the options name, if they name one. Raises NotFoundError CLI-010, InputError CLI-055."""
    path = getattr(args, "exports", None)  # a command that compiles nothing has no such option
    if path is None:
        return None
    from precast.catalog.exports import decode_exports
    from precast.cli.console.files import read_bytes
    from precast.lang.exports import KnownExports

    try:
        return KnownExports(decode_exports(read_bytes(path)))
    except ValueError as error:
        raise issues.NOT_EXPORTS.error(path="standard input" if path == "-" else path, reason=error) from None
