"""Assembles the parts of a boot on a machine or below a root: evidence, sources, modules, state."""

import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from precast.agent.applying.machine import Machine as Managed
from precast.base.clock import Clock, SystemClock
from precast.boot import configuration, image, source_choice
from precast.boot.capabilities import Capability
from precast.boot.configuration import Configuration
from precast.boot.loop import BootParts
from precast.boot.module_runs import ModuleRunner
from precast.boot.modules import registry
from precast.boot.modules.contract import Stage
from precast.boot.settings import BootSettings
from precast.boot.sources import answer_cache, evidence
from precast.boot.sources.contract import Evidence
from precast.boot.sources.machine import Machine
from precast.boot.state import State


class BootTarget(NamedTuple):
    """The root that a boot configures, and how."""

    root: Path = Path("/")
    is_dry_run: bool = False
    user_data: bytes | None = None  # given by the operator: sources are not asked for it
    bring_up: Callable[[], Awaitable[bool]] | None = None
    stage: Stage | None = (
        None  # the answers of a stage are cached for the later stages of the boot; None runs all stages
    )


def assemble(target: BootTarget, settings: BootSettings, clock: Clock | None = None) -> BootParts:
    """Make everything the loop needs. Raises InputError BOOT-004, BOOT-005 for settings, and what `image.read` raises."""
    root, clock = target.root, clock or SystemClock()
    base = image.read(root)
    known_evidence = evidence.collect(root, image.read_source_settings(base))
    state = State(root, target.is_dry_run)
    choice = _add_answer_cache(
        source_choice.choose_sources(settings, known_evidence, root, base), target, state, known_evidence
    )
    managed = Managed(
        "" if root == Path("/") else str(root),
        str(state.directory),
        clock,
        is_chroot=root != Path("/") and has_programs(root),
    )
    return BootParts(
        access=Machine(root, known_evidence, clock),
        choice=choice,
        modules=registry.list_modules(),
        state=state,
        runner=ModuleRunner(state, managed, state.log, target.is_dry_run),
        clock=clock,
        configure=partial(_configure, state, base, target.is_dry_run),
        given=_read_given(target.user_data, base, root),
        bring_up=target.bring_up if _needs_network(choice) else None,
    )


def _add_answer_cache(
    choice: source_choice.SourceChoice, target: BootTarget, state: State, known_evidence: Evidence
) -> source_choice.SourceChoice:
    """Wrap the chosen sources with the answer cache; only a machine that was booted has stages that share answers."""
    start = answer_cache.identify_start(target.root, state.boot_id(), known_evidence)
    if not start or target.is_dry_run:
        return choice
    is_continued, is_last = target.stage not in (None, Stage.LOCAL), target.stage in (None, Stage.FINAL)
    answers = answer_cache.AnswerCache(state.directory, start, is_continued, is_last)
    return choice._replace(
        chosen=[chosen._replace(source=answer_cache.CachingSource(chosen.source, answers)) for chosen in choice.chosen]
    )


def _needs_network(choice: source_choice.SourceChoice) -> bool:
    """Whether to bring the network up before it is configured: only for a confirmed source, not for one that is merely possible."""
    return any(chosen.is_confirmed and chosen.source.needs_network for chosen in choice.chosen)


def has_programs(root: Path) -> bool:
    """Whether commands can run inside the root: it has a shell, and this process may chroot into it."""
    return os.geteuid() == 0 and any((root / path / "sh").exists() for path in ("bin", "usr/bin"))


def _configure(
    state: State, base: Mapping[str, Any], is_dry_run: bool, values: Mapping[Capability, Any], instance_id: str
) -> Configuration:
    once = None if is_dry_run else state.instance(instance_id) / "once"
    return configuration.make(values, base, once, configuration.read_system(state.root))


def _read_given(user_data: bytes | None, base: Mapping[str, Any], root: Path) -> Configuration | None:
    if user_data is None:
        return None
    return configuration.make({Capability.USER_DATA: user_data}, base, None, configuration.read_system(root))
