"""Chooses the sources to ask, and states why the others are not asked: by the image's configuration, then by the evidence.

A scratch root is not a machine: it has no firmware, and a metadata service would describe the machine that hosts the directory. So below
another root only sources that read files are asked, and those that the settings name.
"""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from precast.boot import image, issues
from precast.boot.settings import BootSettings
from precast.boot.sources import firmware, registry
from precast.boot.sources.contract import Evidence, Likelihood, Plausibility, Source


class ChosenSource(NamedTuple):
    """A source that will be asked, and the evidence for it."""

    source: Source
    likelihood: Likelihood

    @property
    def is_confirmed(self) -> bool:
        return self.likelihood.plausibility == Plausibility.CONFIRMED


class SourceChoice(NamedTuple):
    """The sources to ask, the likeliest first, and the names of the others with the reason."""

    chosen: Sequence[ChosenSource]
    ruled_out: Sequence[tuple[str, str]]

    @property
    def sources(self) -> list[Source]:
        return [choice.source for choice in self.chosen]

    @property
    def confirmed(self) -> list[str]:
        return [choice.source.name for choice in self.chosen if choice.is_confirmed]


def choose_sources(
    settings: BootSettings, evidence: Evidence, root: Path, said: Mapping[str, Any] | None = None
) -> SourceChoice:
    """Choose and order the sources. `said` is the image's configuration for cloud-init. Raises InputError BOOT-004, BOOT-005."""
    listed = image.read_source_list(said or {})
    addresses = {**image.read_addresses(said or {}), **_parse_pairs(settings.addresses, "addresses")}
    deadlines = _parse_pairs(settings.deadlines, "deadlines")
    wanted = [check_name(name) for name in settings.sources] or list(_translate_names(listed))
    for name in settings.trusted_sources:
        check_name(name)
    named = firmware.find_named_source(evidence)
    forced = registry.OTHER_NAMES.get(named.name, (named.name,)) if named is not None else ()
    chosen, ruled_out = [], []
    for name in registry.SOURCE_CLASSES:
        reason = ""
        if wanted and name not in wanted:
            reason = "the image's configuration does not list it"
        elif named is not None and name not in forced and set(forced) & set(registry.SOURCE_CLASSES):
            reason = f"{named.where} names {named.name}"
        source = None if reason else registry.make_source(name, addresses.get(name, ""))
        if (
            source is not None
            and source.needs_network
            and root != Path("/")
            and name not in {*settings.sources, *addresses}
        ):
            reason = "the network does not describe a machine below another root"
        if source is None or reason:
            ruled_out.append((name, reason))
            continue
        likelihood = _judge_likelihood(source, evidence, is_named=name in forced or wanted == [name])
        if likelihood.plausibility == Plausibility.RULED_OUT:
            ruled_out.append((name, likelihood.reason))
        else:
            if name in deadlines:
                source = SourceWithDeadline(source, _parse_seconds(name, deadlines[name]))
            chosen.append(ChosenSource(source, likelihood))
    chosen.sort(key=lambda choice: (-choice.likelihood.plausibility, -choice.source.rank))
    return SourceChoice(chosen, ruled_out)


def check_name(name: str) -> str:
    """Return the name of a known source. Raises InputError BOOT-004 for an unknown one."""
    if name not in registry.SOURCE_CLASSES:
        near = difflib.get_close_matches(name, registry.SOURCE_CLASSES, n=1)
        guess = f"; did you mean {near[0]}?" if near else ""
        raise issues.NO_SOURCE.error(name=name, guess=guess, names=", ".join(registry.SOURCE_CLASSES))
    return name


def _judge_likelihood(source: Source, evidence: Evidence, is_named: bool) -> Likelihood:
    likelihood = source.likelihood(evidence)
    if is_named and likelihood.plausibility != Plausibility.CONFIRMED:
        return Likelihood(Plausibility.CONFIRMED, "the configuration names it")
    return likelihood


def _translate_names(listed: Sequence[str]) -> list[str]:
    names = [ours for name in listed for ours in registry.OTHER_NAMES.get(name.lower(), (name.lower(),))]
    return [name for name in names if name in registry.SOURCE_CLASSES]


def _parse_pairs(texts: Sequence[str], setting: str) -> Mapping[str, str]:
    pairs = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not value:
            example = "ec2=http://127.0.0.1:8080" if setting == "addresses" else "ec2=5"
            raise issues.BAD_PAIR.error(text=text, setting=setting, example=example)
        pairs[check_name(name)] = value
    return pairs


def _parse_seconds(name: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise issues.BAD_PAIR.error(text=f"{name}={text}", setting="deadlines", example="ec2=5")
    return seconds


class SourceWithDeadline:
    """A source whose deadline was overridden by a setting."""

    def __init__(self, source: Source, deadline_s: float) -> None:
        self.name = source.name
        self.rank = source.rank
        self.capabilities = source.capabilities
        self.needs_network = source.needs_network
        self.likelihood = source.likelihood
        self.find = source.find
        self.deadline_s = deadline_s
