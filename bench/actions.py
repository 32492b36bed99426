"""Actions over a fleet: how fast a command returns from every node, beside Salt; memory for each node; schedules that wait; backpressure.

    .venv/bin/python bench/actions.py [--quick]

A real server with its database orders a command on 1,000 connected light agents: real sessions, five flushes on each agent's own file,
and a proof from each that is checked. The time is that of the whole `precast exec` command. The full run also measures Salt, installed by
`make peers`, with 50 minions on this machine, and writes bench/results/actions.json; the quick one (under a minute) writes nothing. The
comparison of limits is simulated, so it does not depend on the machine.
"""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from bench.actions_cases import limits
from bench.actions_cases.fleet_actions import measure_fleet, measure_idle
from bench.report import Goal, finish, parse_quick, print_rows

ROOT = Path(__file__).resolve().parent.parent
SALT = ROOT / ".venv-peers" / "bin" / "salt-master"
AGENTS, SCHEDULES, MINIONS = 1_000, 10_000, 50
QUICK_ROUNDS, ROUNDS, SALT_ROUNDS = 2, 5, 5
QUICK_IDLE_S, IDLE_S = 8.0, 20.0
PROCESSES = 2
TARGET_TIMES, TARGET_MEMORY, TARGET_S, TARGET_IDLE_PCT = 100, 0.1, 3.0, 1.0
FULL_ONLY = "only the full run measures it"
NO_SALT = "Salt is not installed: `make peers` installs it"


def measure_salt(directory: Path) -> dict[str, Any] | None:
    """What Salt does on this machine; None if it is not installed, and cannot be."""
    if not SALT.exists() and subprocess.run(["make", "peers"], cwd=ROOT).returncode:
        return None
    script = ROOT / "bench" / "peers" / "returns_salt.py"
    done = subprocess.run(
        [SALT.with_name("python"), script, directory / "salt", str(MINIONS), str(SALT_ROUNDS)],
        capture_output=True,
        text=True,
        timeout=1_200,
    )
    if done.returncode:
        print(f"Salt: {done.stderr.strip()[-500:]}")
        return None
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main() -> None:
    is_quick = parse_quick(__doc__)
    with tempfile.TemporaryDirectory(prefix="precast-actions-") as name:
        directory = Path(name)
        compared = limits.compare()
        salt = None if is_quick else measure_salt(directory)
        ours = measure_fleet(directory, AGENTS, QUICK_ROUNDS if is_quick else ROUNDS, PROCESSES)
        idle = measure_idle(directory, SCHEDULES, QUICK_IDLE_S if is_quick else IDLE_S)
    figures: dict[str, Any] = {
        "agents": AGENTS,
        "rounds_s": [round(each, 2) for each in ours.rounds_s],
        "returns_per_s": AGENTS / min(ours.rounds_s),
        "server_kb_each": ours.kb_each,
        "schedules": SCHEDULES,
        **idle,
        "salt": salt,
        "flow": compared,
    }
    print_rows(list(compared[0]), [list(row.values()) for row in compared])
    print()
    _print_fleet(figures, salt)
    finish("actions", is_quick, figures, _goals(figures, salt, is_quick))


def _print_fleet(figures: dict[str, Any], salt: dict[str, Any] | None) -> None:
    beside = salt or {}
    print_rows(
        ["what", "ours", "Salt"],
        [
            ["nodes", figures["agents"], beside.get("minions")],
            ["returns a second, by the command", figures["returns_per_s"], beside.get("returns_per_s")],
            ["returns a second, by a client that is loaded", None, beside.get("client_returns_per_s")],
            ["command over all nodes, seconds", min(figures["rounds_s"]), None],
            ["server memory for each node, KB", figures["server_kb_each"], beside.get("master_kb_each")],
            ["10,000 schedules that wait, % of a core", figures["idle_cpu_pct"], None],
            ["no schedule, % of a core", figures["idle_cpu_without_pct"], None],
        ],
    )
    print("each is the best of its rounds; memory is the proportional set size of all processes of the server\n")


def _goals(figures: dict[str, Any], salt: dict[str, Any] | None, is_quick: bool) -> list[Goal]:
    took_s, idle_pct = min(figures["rounds_s"]), figures["idle_cpu_pct"]
    return [
        *_beside_salt(figures, salt, FULL_ONLY if is_quick else NO_SALT),
        Goal("actions-1000", took_s, TARGET_S, took_s <= TARGET_S),
        Goal("actions-idle", round(idle_pct, 2), TARGET_IDLE_PCT, idle_pct <= TARGET_IDLE_PCT),
    ]


def _beside_salt(figures: dict[str, Any], salt: dict[str, Any] | None, why: str) -> list[Goal]:
    if salt is None:
        return [
            Goal("actions-vs-salt", None, TARGET_TIMES, None, why),
            Goal("actions-memory", None, TARGET_MEMORY, None, why),
        ]
    times = figures["returns_per_s"] / salt["returns_per_s"]
    part = figures["server_kb_each"] / salt["master_kb_each"]
    return [
        Goal("actions-vs-salt", round(times, 1), TARGET_TIMES, times >= TARGET_TIMES),
        Goal("actions-memory", round(part, 3), TARGET_MEMORY, part <= TARGET_MEMORY),
    ]


if __name__ == "__main__":
    main()
