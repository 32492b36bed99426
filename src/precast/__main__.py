"""Where the `precast` command begins.

The composition root is imported only by the commands that run a server: every other one starts without it. What imports make stays to
the end, so nobody looks for garbage in it; the command line turns the collector on again when the command is known.
"""

import gc
import sys


def main() -> None:
    """The `precast` command."""
    gc.disable()
    from precast.cli.main import main as run_command_line

    sys.exit(run_command_line(sys.argv[1:], _app))


def _app() -> object:
    from precast.app.root import App

    return App()


if __name__ == "__main__":
    main()
