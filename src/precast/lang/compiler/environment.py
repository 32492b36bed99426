"""The settings that an environment's own `environment.conf` gives: where its modules and its first manifest stand.

Paths may be relative to the environment, absolute, or with `*` in them. A path that leads out of the environment is named in full, so
that whoever answers can tell it from the environment's own files.
"""

import fnmatch
import posixpath
import re

import msgspec

from precast.lang.inputs import ABSENT, Constant, Inputs
from precast.lang.issues import compiler as issues
from precast.lang.settings import Settings

FILE = "environment.conf"
_LINE = re.compile(r"\s*([\w-]+)\s*=\s*(.*?)\s*\Z")
# What Puppet knows there and a compile has no use for, with the reason.
_WITHOUT_EFFECT = {
    "config_version": "no command is run: the version of a catalog is its digest",
    "environment_timeout": "a deployed version never changes, so nothing gets old",
    "environment_data_provider": "data comes from hiera.yaml",
    "static_catalogs": "every catalog pins the content of its files",
    "rich_data": "catalogs always hold rich data",
}
_USED = ("modulepath", "manifest")


def with_environment(inputs: Inputs, settings: Settings) -> Settings:
    """The settings with what the environment says of its own; `$basemodulepath` is the module path that they had."""
    found = inputs.text(FILE)
    if found is None:
        return settings
    values = dict(_values(found[1]))
    if values.get("modulepath"):
        paths = _module_path(inputs, settings, values["modulepath"])
        settings = msgspec.structs.replace(settings, module_path=paths)
    if values.get("manifest"):
        settings = msgspec.structs.replace(settings, manifest=_manifest(inputs, settings, values["manifest"]))
    return settings


def remarks(inputs: Inputs) -> list[tuple[str, str]]:
    """What is to be said of the file, with its level: settings without effect, and those that nobody knows."""
    found = inputs.text(FILE)
    said: list[tuple[str, str]] = []
    for name, _ in _values(found[1]) if found is not None else ():
        if name in _WITHOUT_EFFECT:
            said.append(("info", f"{FILE}: {name} has no effect: {_WITHOUT_EFFECT[name]}"))
        elif name not in _USED:
            said.append(("warning", f"{FILE}: {name} is no setting of an environment"))
    return said


def _values(text: str) -> list[tuple[str, str]]:
    """`name = value` line by line; a line that begins with # is a comment, as is what follows a blank and #."""
    lines = (re.sub(r"(?:^|\s)#.*", "", line) for line in text.splitlines())
    return [(match[1], match[2].strip("'\"")) for line in lines if (match := _LINE.match(line)) is not None]


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
    """A path relative to the environment if it is in there, else in full."""
    if not path.startswith("/"):
        plain = posixpath.normpath(path)
        if plain != ".." and not plain.startswith("../"):
            return plain
    answer = inputs.ask(Constant("environment_path"))
    base = "" if answer is ABSENT else str(answer)
    whole = posixpath.normpath(posixpath.join(base, path))
    return posixpath.relpath(whole, base) if base and whole.startswith(f"{base}/") else whole


def _expanded(inputs: Inputs, path: str) -> list[str]:
    """The directories that a path with `*` means, in order."""
    found = ["/" if path.startswith("/") else ""]
    for step in path.strip("/").split("/"):
        if "*" not in step:
            found = [f"{before}{step}/" for before in found]
            continue
        found = [
            before + name
            for before in found
            for name in inputs.listing(before.rstrip("/"))
            if name.endswith("/") and fnmatch.fnmatchcase(name.rstrip("/"), step)
        ]
    return [each.rstrip("/") for each in found]


def _manifest(inputs: Inputs, settings: Settings, given: str) -> str:
    path = _inside(inputs, _interpolated(given, settings))
    if path.startswith(("/", "../")):
        raise issues.MANIFEST_OUTSIDE.error(path=given)
    return path
