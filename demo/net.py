"""The net kernel: it finds a deadlock before it happens, and computes the duration of a rolling upgrade before it begins."""

from pathlib import Path

from demo.presenter import Presenter

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def show(presenter: Presenter) -> None:
    presenter.title("The net kernel: find a deadlock before it happens")
    locks, upgrade = str(EXAMPLES / "two-locks.net"), str(EXAMPLES / "rolling-upgrade.net")
    presenter.run("net", "check", locks, shown="net check examples/two-locks.net", expected=1)
    report = presenter.ask("net", "check", locks, expected=1)
    codes = {finding["code"] for finding in report["findings"]}
    presenter.claim("the check finds that backup and restore would wait for each other for ever", "NET-107" in codes)
    presenter.run("net", "simulate", upgrade, shown="net simulate examples/rolling-upgrade.net")
    before = presenter.ask("net", "simulate", upgrade)["makespan_ms"]
    after = presenter.ask("net", "simulate", upgrade, "--limit", "batch=3")["makespan_ms"]
    presenter.claim(f"with a batch of three the upgrade would end {(before - after) // 1000} s sooner", after < before)
    presenter.run(
        "net", "draw", upgrade, "-o", "upgrade.svg", shown="net draw examples/rolling-upgrade.net -o upgrade.svg"
    )
