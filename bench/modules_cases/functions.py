"""Functions that modules write in Ruby: calls in our Ruby subset, beside calls in Ruby 3 with Puppet."""

import os
import shutil
from typing import Any

from bench.report import Goal, print_rows
from lab.differential.module_declarations import MODULES
from lab.differential.module_functions import measure as measure_calls

TARGET = 5.0
CALLS, QUICK_CALLS = 300, 20
FULL_ONLY = "only the full run makes so many calls"
NO_PUPPET = "real Puppet or Debian's modules are not installed"


def measure(*, is_quick: bool) -> tuple[dict[str, Any], list[Goal]]:
    if shutil.which("ruby") is None or shutil.which("puppet") is None or not (MODULES / "stdlib").is_dir():
        return {}, [Goal("modules-functions", None, TARGET, None, NO_PUPPET)]
    measured = measure_calls(repeat=QUICK_CALLS if is_quick else CALLS)
    here, there = sum(each.here_s for each in measured), sum(each.in_ruby_s for each in measured)
    ratio = here / there
    worst = sorted(measured, key=lambda each: each.here_s / each.in_ruby_s, reverse=True)
    middle = worst[len(worst) // 2]
    heads = ["calls of Ruby functions", "functions", "CPU s here", "CPU s in Ruby", "ratio"]
    print_rows(heads, [["in all", len(measured), here, there, ratio]])
    shown = ", ".join(f"{each.name} {each.here_s / each.in_ruby_s:.1f}" for each in worst[:3])
    print(f"median ratio {middle.here_s / middle.in_ruby_s:.2f}; highest: {shown}\n")
    figures = {
        "functions": {
            "functions": len(measured),
            "cpu_here_s": round(here, 3),
            "cpu_ruby_s": round(there, 3),
            "ratio": round(ratio, 2),
            "median_ratio": round(middle.here_s / middle.in_ruby_s, 2),
            "highest": {each.name: round(each.here_s / each.in_ruby_s, 1) for each in worst[:5]},
            "load": round(os.getloadavg()[0], 1),
        }
    }
    if is_quick:
        return figures, [Goal("modules-functions", None, TARGET, None, FULL_ONLY)]
    return figures, [Goal("modules-functions", round(ratio, 2), TARGET, ratio <= TARGET)]
