"""Runs config modules in a scratch root, one after the other, in an order that their declarations allow.

The product's loop runs them concurrently; the results of a module must not depend on that.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from precast.agent.applying.machine import Machine
from precast.base.clock import SystemClock
from precast.base.errors import PrecastError
from precast.boot.capabilities import Capability
from precast.boot.modules import registry, user_entries
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, ModulePart
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Finding
from precast.boot.userdata.documents import Script

_LINES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nsys:x:3:3:sys:/dev:/usr/sbin/nologin\n",
    "etc/group": "root:x:0:\nsys:x:3:\nusers:x:100:\nsudo:x:27:\n",
    "etc/shadow": "root:*:19000:0:99999:7:::\nsys:*:19000:0:99999:7:::\n",
    "etc/gshadow": "root:*::\nsys:*::\nusers:*::\nsudo:*::\n",
    "etc/os-release": "ID=debian\nVERSION_CODENAME=bookworm\n",
}


def make_root(path: Path) -> Path:
    """Create a root with account files and without programs."""
    for name, text in _LINES.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (path / "etc/shadow").chmod(0o640)
    (path / "root").mkdir(mode=0o700)
    (path / "home").mkdir()
    shutil.copy("/etc/login.defs", path / "etc/login.defs")
    return path


class ScratchRun(NamedTuple):
    """The results of all module parts that ran, by their names."""

    order: list[str]
    outcomes: dict[str, ModuleOutcome]
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
) -> ScratchRun:
    """Run the modules that apply to a configuration. Without a root they change the machine itself: only use that in an overlay."""
    prepared, findings = registry.clean(user_entries.add_default_user(config, root or Path("/")))
    machine = Machine(str(root or ""), str(state or "/var/lib/precast"), SystemClock(), is_chroot=is_chroot)
    directory = state or (root or Path("/")) / "var/lib/precast/boot/instance"
    ran = ScratchRun([], {}, {}, findings, [])
    for module, part in order_parts(prepared, only):
        name = part.name if part.name == module.name else f"{module.name}[{part.name}]"
        context = ModuleContext(
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
            ran.outcomes[name] = ModuleOutcome(
                not_run=f"it needs {', '.join(sorted(capability.value for capability in missing))}"
            )
            continue
        try:
            ran.outcomes[name] = part.run(context)
        except PrecastError as error:
            ran.outcomes[name], ran.errors[name] = context.outcome, error
    machine.finish()
    return ran


def order_parts(config: Mapping[str, Any], only: tuple[str, ...] = ()) -> list[tuple[Module, ModulePart]]:
    """Return the parts in an order that respects the predecessors of their modules and the places for which they wait."""
    modules = registry.list_modules()
    chosen = [module for module in modules if module.applies_to(config) and (not only or module.name in only)]
    waiting = [(module, part) for module in chosen for part in module.split(config)]
    done: list[tuple[Module, ModulePart]] = []
    while waiting:
        remaining = {module.name for module, _ in waiting}
        missing_places = {place for _, part in waiting for place in part.provides}
        ready = [
            (module, part)
            for module, part in waiting
            if not any(earlier.module in remaining and earlier.module != module.name for earlier in module.after)
            and not any(place in missing_places for place in part.waits_for)
        ]
        assert ready, f"none of the parts {[part.name for _, part in waiting]} can run"
        first = min(ready, key=lambda item: item[0].stage)
        done.append(first)
        waiting.remove(first)
    return done
