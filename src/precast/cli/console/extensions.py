"""The option --extension: a certificate extension, as NAME=VALUE."""

import argparse

from precast.cli import issues


def add_extensions(parser: argparse.ArgumentParser, whose: str = "the certificate") -> None:
    parser.add_argument(
        "--extension",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=f"an extension of {whose}, such as pp_role=web; may be repeated",
    )


def read_extensions(args: argparse.Namespace) -> dict[str, str]:
    """The extensions that the options give. Raises InputError CLI-001."""
    return dict(map(_parse_pair, args.extension))


def _parse_pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise issues.USAGE.error(
            problem=f"--extension {text!r} is not NAME=VALUE", usage="as in --extension pp_role=web"
        )
    return name, value
