"""The entry point of the `precast` command.

The garbage collector is off while modules are imported, because the objects that imports create live until the process ends. The
command line enables it again once the command is known.
"""

import gc
import sys


def main() -> None:
    """Run the `precast` command."""
    gc.disable()
    from precast.cli.main import main as run_command_line

    sys.exit(run_command_line(sys.argv[1:]))


if __name__ == "__main__":
    main()
