"""The net kernel: a deadlock found before it happens, and a rolling upgrade whose end is known before it begins."""

from pathlib import Path

from demo.stage import Stage

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def show(stage: Stage) -> None:
    stage.title("The net kernel: find the deadlock before it finds you")
    locks, upgrade = str(EXAMPLES / "two-locks.net"), str(EXAMPLES / "rolling-upgrade.net")
    stage.run("net", "check", locks, shown="net check examples/two-locks.net", expected=1)
    found = stage.ask("net", "check", locks, expected=1)
    codes = {finding["code"] for finding in found["findings"]}
    stage.claim("backup and restore would have waited for each other for ever, and we know it", "NET-107" in codes)
    stage.run("net", "simulate", upgrade, shown="net simulate examples/rolling-upgrade.net")
    before = stage.ask("net", "simulate", upgrade)["makespan_ms"]
    after = stage.ask("net", "simulate", upgrade, "--limit", "batch=3")["makespan_ms"]
    stage.claim(f"with three jobs at a time it would end {(before - after) // 1000} s sooner", after < before)
    stage.run("net", "draw", upgrade, "-o", "upgrade.svg", shown="net draw examples/rolling-upgrade.net -o upgrade.svg")
