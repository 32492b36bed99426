"""`precast plan check` and `draw` as processes: standard input and output, exit codes, one line for each mistake."""

import subprocess
import sys
from pathlib import Path

PRECAST = Path(sys.executable).with_name("precast")


def precast(*arguments: str, given: str) -> subprocess.CompletedProcess[str]:
    command = [str(PRECAST), "plan", *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=120, check=False)


def test_check_of_a_plan_with_a_mistake_prints_its_place_and_exits_1() -> None:
    done = precast("check", "-", given="- id: a\n  type: shel\n  roles: [web]\n")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("-:2:9: error: ")


def test_draw_of_standard_input_writes_to_standard_output() -> None:
    done = precast("draw", "-", given="- {id: a, type: skipped, roles: [web]}\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("<svg ")
