"""Services that must read their configuration again. Below a root nothing runs, and nothing is to be told."""

from precast.boot.modules.context import Context


def reload(context: Context, *names: str) -> None:
    """Have the first of these services that there is read its configuration again, if it runs."""
    if context.machine.root or not context.is_there("/run/systemd/system"):
        return
    for name in names:
        known = context.ask(["systemctl", "list-unit-files", f"{name}.service", "--no-legend"])
        if known.output.strip():
            context.run(["systemctl", "try-reload-or-restart", "--no-block", f"{name}.service"], deadline_s=60)
            return
