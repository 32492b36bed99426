"""Compiles the classes and defines of a directory of modules with real Puppet and with Precast, and tells what differs, by cause.

    python -m lab.corpus [--modules DIR] [--also DIR…] [--only MODULE…] [--machines N] [--seed N] [--keep DIR] [--json FILE] [--show N]

`--modules` is the directory whose modules are compiled, by default that of Debian's packages; `--also` has modules that they need.
With --keep Puppet's answers stay in a directory and are reused. `wrong by a function of ours` counts catalogs that become equal if the
Ruby of the module runs instead of an implementation of ours: there must be none.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from lab.corpus import comparing
from lab.corpus.cases import cases
from lab.differential.module_declarations import MODULES

DEBIAN = (MODULES, Path("/usr/share/puppet/modules.available"))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="lab.corpus", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--modules", type=Path, default=MODULES)
    parser.add_argument("--also", type=Path, action="append", default=[])
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--machines", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--show", type=int, default=40, help="causes shown")
    options = parser.parse_args(arguments)
    roots = [options.modules.resolve(), *(each.resolve() for each in options.also)]
    others = [*roots[1:], *(each for each in DEBIAN if each != roots[0] and each.is_dir())]
    with tempfile.TemporaryDirectory(prefix="corpus-") as temporary:
        place = options.keep or Path(temporary)
        made = list(cases(roots[0], others, options.seed, options.machines, tuple(options.only)))
        result = comparing.compare(place, made, (roots[0], *others))
    comparing.print_result(result, options.show)
    if options.json is not None:
        options.json.write_text(json.dumps(comparing.as_data(result), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
