"""Services that must read their configuration again. Below a root nothing runs, and nothing is to be told."""

from collections.abc import Sequence

from precast.boot.modules.context import Context


def reload(context: Context, *names: str) -> None:
    """Have the first of these services that there is read its configuration again, if it runs."""
    _tell(context, "try-reload-or-restart", names)


def _tell(context: Context, verb: str, names: Sequence[str]) -> None:
    if not _has_systemd(context):
        return
    for name in names:
        known = context.ask(["systemctl", "list-unit-files", f"{name}.service", "--no-legend"])
        if known.output.strip():
            context.run(["systemctl", verb, "--no-block", f"{name}.service"], deadline_s=60)
            return


def restart(context: Context, *names: str) -> None:
    """Start anew the first of these services that there is, if it runs: some read their configuration only then."""
    _tell(context, "try-restart", names)


def reread_units(context: Context) -> None:
    """Have systemd look at its units, and at fstab, again."""
    if _has_systemd(context):
        context.run(["systemctl", "daemon-reload"], deadline_s=60)


def settle_devices(context: Context) -> None:
    """Wait until udev has given new devices their names."""
    if not context.machine.root and context.is_there("/run/udev/control"):
        context.ask(["udevadm", "settle", "--timeout=30"], deadline_s=60)


def _has_systemd(context: Context) -> bool:
    return not context.machine.root and context.is_there("/run/systemd/system")
