"""Makes services read their configuration again. Below a root no services run, so every function here does nothing."""

from collections.abc import Sequence

from precast.boot.modules.context import ModuleContext


def reload(context: ModuleContext, *names: str) -> None:
    """Make the first of these services that is installed read its configuration again, if it runs."""
    _call_systemctl(context, "try-reload-or-restart", names)


def _call_systemctl(context: ModuleContext, verb: str, names: Sequence[str]) -> None:
    if not _has_systemd(context):
        return
    for name in names:
        listing = context.query(["systemctl", "list-unit-files", f"{name}.service", "--no-legend"])
        if listing.output.strip():
            context.run(["systemctl", verb, "--no-block", f"{name}.service"], deadline_s=60)
            return


def restart(context: ModuleContext, *names: str) -> None:
    """Restart the first of these services that is installed, if it runs: some read their configuration only when they start."""
    _call_systemctl(context, "try-restart", names)


def reread_units(context: ModuleContext) -> None:
    """Make systemd read its units and fstab again."""
    if _has_systemd(context):
        context.run(["systemctl", "daemon-reload"], deadline_s=60)


def settle_devices(context: ModuleContext) -> None:
    """Wait until udev has named new devices."""
    if not context.machine.root and context.exists("/run/udev/control"):
        context.query(["udevadm", "settle", "--timeout=30"], deadline_s=60)


def _has_systemd(context: ModuleContext) -> bool:
    return not context.machine.root and context.exists("/run/systemd/system")
