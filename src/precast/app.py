"""The composition root: the only place that joins services to adapters."""

import sys

from precast.cli.main import main as run_command_line


def main() -> None:
    """The `precast` command."""
    sys.exit(run_command_line(sys.argv[1:]))
