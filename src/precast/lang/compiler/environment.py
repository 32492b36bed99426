"""The settings in an environment's own `environment.conf`: its module path, its first manifest, and what a missing fact of a module means.

Paths may be relative to the environment, absolute, or contain `*`. A path outside the environment becomes absolute, so that the
answering side can tell it from the environment's own files.
"""

import fnmatch
import posixpath
import re
from typing import get_args

import msgspec

from precast.lang.inputs import ABSENT, Constant, Inputs
from precast.lang.issues import compiler as issues
from precast.lang.settings import MissingFacts, Settings

FILE = "environment.conf"
_NAME = re.compile(r"[\w-]+")
# Settings that Puppet accepts and a compile ignores, with the reason.
_WITHOUT_EFFECT = {
    "config_version": "no command is run: the version of a catalog is its digest",
    "environment_timeout": "a deployed version never changes, so no cache expires",
    "environment_data_provider": "data comes from hiera.yaml",
    "static_catalogs": "every catalog pins the content of its files",
    "rich_data": "catalogs always hold rich data",
}
_USED = ("modulepath", "manifest", "missing_module_facts", "types_without_puppet")


def with_environment(inputs: Inputs, settings: Settings) -> Settings:
    """The settings with those of the environment applied; `$basemodulepath` is the module path in `settings`."""
    text = inputs.text(FILE)
    if text is None:
        return settings
    values = dict(_values(text[1]))
    if values.get("modulepath"):
        paths = _module_path(inputs, settings, values["modulepath"])
        settings = msgspec.structs.replace(settings, module_path=paths)
    if values.get("manifest"):
        settings = msgspec.structs.replace(settings, manifest=_manifest(inputs, settings, values["manifest"]))
    if values.get("missing_module_facts"):
        settings = msgspec.structs.replace(
            settings, missing_module_facts=_parse_word("missing_module_facts", values["missing_module_facts"])
        )
    if values.get("types_without_puppet"):
        settings = msgspec.structs.replace(
            settings, types_without_puppet=_parse_word("types_without_puppet", values["types_without_puppet"])
        )
    return settings


def _parse_word(name: str, value: str) -> MissingFacts:
    words: tuple[MissingFacts, ...] = get_args(MissingFacts)
    for word in words:
        if value == word:
            return word
    raise issues.BAD_ENVIRONMENT_VALUE.error(name=name, value=value, words=", ".join(words))


def remarks(inputs: Inputs) -> list[tuple[str, str]]:
    """Log lines about the file, each with its level: settings without effect, and unknown settings."""
    text = inputs.text(FILE)
    lines: list[tuple[str, str]] = []
    for name, _ in _values(text[1]) if text is not None else ():
        if name in _WITHOUT_EFFECT:
            lines.append(("info", f"{FILE}: {name} has no effect: {_WITHOUT_EFFECT[name]}"))
        elif name not in _USED:
            lines.append(("warning", f"{FILE}: {name} is not a setting of an environment"))
    return lines


def _values(text: str) -> list[tuple[str, str]]:
    """The pairs of `name = value` lines; a comment begins with # at the start of a line or after a blank."""
    pairs = (re.sub(r"(?:^|\s)#.*", "", line).partition("=") for line in text.splitlines())
    return [
        (name.strip(), value.strip().strip("'\""))
        for name, sign, value in pairs
        if sign and _NAME.fullmatch(name.strip())
    ]


def _module_path(inputs: Inputs, settings: Settings, given: str) -> tuple[str, ...]:
    paths: list[str] = []
    for part in given.split(":"):
        name = part.strip()
        if name == "$basemodulepath":
            paths += settings.module_path
        elif name:
            paths += _expanded(inputs, _inside(inputs, _interpolated(name, settings)))
    return tuple(dict.fromkeys(paths))


def _interpolated(text: str, settings: Settings) -> str:
    """Raises for a variable other than `$environment`, which would need Puppet's own configuration."""
    text = re.sub(r"\$\{?environment\b\}?", settings.environment, text)
    variable = re.search(r"\$\{?(\w+)", text)
    if variable is not None:
        raise issues.ENVIRONMENT_VARIABLE.error(name=variable[1], text=text)
    return text


def _inside(inputs: Inputs, path: str) -> str:
    """A path relative to the environment if it is inside it, else an absolute path."""
    if not path.startswith("/"):
        plain = posixpath.normpath(path)
        if plain != ".." and not plain.startswith("../"):
            return plain
    answer = inputs.ask(Constant("environment_path"))
    base = "" if answer is ABSENT else str(answer)
    whole = posixpath.normpath(posixpath.join(base, path))
    return posixpath.relpath(whole, base) if base and whole.startswith(f"{base}/") else whole


def _expanded(inputs: Inputs, path: str) -> list[str]:
    """The directories that match a path with `*`, in order."""
    directories = ["/" if path.startswith("/") else ""]
    for step in path.strip("/").split("/"):
        if "*" not in step:
            directories = [f"{parent}{step}/" for parent in directories]
            continue
        directories = [
            parent + name
            for parent in directories
            for name in inputs.listing(parent.rstrip("/"))
            if name.endswith("/") and fnmatch.fnmatchcase(name.rstrip("/"), step)
        ]
    return [directory.rstrip("/") for directory in directories]


def _manifest(inputs: Inputs, settings: Settings, given: str) -> str:
    path = _inside(inputs, _interpolated(given, settings))
    if path.startswith(("/", "../")):
        raise issues.MANIFEST_OUTSIDE.error(path=given)
    return path
