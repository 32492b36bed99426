"""Code of modules that is written in Ruby, and modules as a whole, beside real Puppet.

    .venv/bin/python bench/modules.py [--quick]

`modules-compile`: some classes and defines of each of Debian's modules, on machines of several systems; each is compiled twice
by real Puppet and by Precast in one process, and the second, warm compile counts: CPU time of all that both compile.
`modules-functions`: functions that these modules write in Ruby, called repeatedly with generated arguments, in our Ruby subset and in
Ruby 3 with Puppet; CPU time of the calls.
`bridge-start`: the Ruby process that applies types in Ruby, until it answers, beside `puppet apply -e ''` without modules; CPU time.
`bridge-resource`: what the bridge adds to a provider's own time for a resource in sync; CPU time of all processes.

Real Puppet and the modules are Debian's packages; without them the goals have no value, and a reason. All goals are of the full run, which
writes bench/results/modules.json; the quick one compiles a few modules and writes nothing.
"""

from typing import Any

from bench.modules_cases import bridge, compiling, functions
from bench.report import Goal, finish, parse_quick

CASES = (compiling, functions, bridge)


def main() -> None:
    is_quick = parse_quick(__doc__)
    figures: dict[str, Any] = {}
    goals: list[Goal] = []
    for case in CASES:
        measured, reached = case.measure(is_quick=is_quick)
        figures |= measured
        goals += reached
    finish("modules", is_quick, figures, goals)


if __name__ == "__main__":
    main()
