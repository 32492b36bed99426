"""Runs config modules over a scratch root, one after the other, in an order that their declarations allow.

The loop of the product runs them beside each other; what a module does must not depend on that.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from precast.agent.applying.machine import Machine
from precast.base.clock import SystemClock
from precast.base.errors import PrecastError
from precast.boot.capabilities import Capability
from precast.boot.modules import people, registry
from precast.boot.modules.context import Context
from precast.boot.modules.contract import Module, Part
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Finding
from precast.boot.userdata.documents import Script

_LINES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nsys:x:3:3:sys:/dev:/usr/sbin/nologin\n",
    "etc/group": "root:x:0:\nsys:x:3:\nusers:x:100:\nsudo:x:27:\n",
    "etc/shadow": "root:*:19000:0:99999:7:::\nsys:*:19000:0:99999:7:::\n",
    "etc/gshadow": "root:*::\nsys:*::\nusers:*::\nsudo:*::\n",
    "etc/os-release": "ID=debian\nVERSION_CODENAME=bookworm\n",
}


def make_root(path: Path) -> Path:
    """A root with accounts and no programs."""
    for name, text in _LINES.items():
        place = path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    (path / "etc/shadow").chmod(0o640)
    (path / "root").mkdir(mode=0o700)
    (path / "home").mkdir()
    shutil.copy("/etc/login.defs", path / "etc/login.defs")
    return path


class CommandResult(NamedTuple):
    order: list[str]
    outcomes: dict[str, Outcome]
    errors: dict[str, PrecastError]
    findings: list[Finding]
    logs: list[str]

    def changes(self, name: str) -> list[str]:
        return self.outcomes[name].changes

    @property
    def warnings(self) -> list[str]:
        return [text for outcome in self.outcomes.values() for text in outcome.warnings]


def run(
    config: Mapping[str, Any],
    root: Path | None,
    *,
    values: Mapping[Capability, Any] | None = None,
    scripts: tuple[Script, ...] = (),
    only: tuple[str, ...] = (),
    is_dry_run: bool = False,
    state: Path | None = None,
    is_chroot: bool = False,
) -> CommandResult:
    """Run what concerns a configuration. Without a root it is the machine itself: only in an overlay."""
    prepared, findings = registry.clean(people.with_defaults(config, root or Path("/")))
    machine = Machine(str(root or ""), str(state or "/var/lib/precast"), SystemClock(), is_chroot=is_chroot)
    directory = state or (root or Path("/")) / "var/lib/precast/boot/instance"
    ran = CommandResult([], {}, {}, findings, [])
    for module, part in ordered(prepared, only):
        name = part.name if part.name == module.name else f"{module.name}[{part.name}]"
        context = Context(
            machine,
            prepared,
            values or {},
            directory,
            lambda level, text: ran.logs.append(f"{level}: {text}"),
            is_dry_run=is_dry_run,
            scripts=scripts,
        )
        ran.order.append(name)
        if missing := module.needs - set(values or {}):
            ran.outcomes[name] = Outcome(not_run=f"it needs {', '.join(sorted(one.value for one in missing))}")
            continue
        try:
            ran.outcomes[name] = part.run(context)
        except PrecastError as error:
            ran.outcomes[name], ran.errors[name] = context.outcome, error
    machine.finish()
    return ran


def ordered(config: Mapping[str, Any], only: tuple[str, ...] = ()) -> list[tuple[Module, Part]]:
    """Every part after what its module comes after and what it waits for."""
    wanted = [each for each in registry.modules() if each.concerns(config) and (not only or each.name in only)]
    waiting = [(module, part) for module in wanted for part in module.split(config)]
    done: list[tuple[Module, Part]] = []
    while waiting:
        left = {module.name for module, _ in waiting}
        closed = {place for _, part in waiting for place in part.gives}
        ready = [
            (module, part)
            for module, part in waiting
            if not any(after.module in left and after.module != module.name for after in module.after)
            and not any(place in closed for place in part.waits)
        ]
        assert ready, f"nothing of {[part.name for _, part in waiting]} can run"
        first = min(ready, key=lambda each: each[0].stage)
        done.append(first)
        waiting.remove(first)
    return done
