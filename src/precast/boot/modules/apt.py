"""apt: mirrors, sources with their keys, configuration and proxies, before anything is installed.

The image's own sources stay unless somebody says where packages come from. A key belongs to its source where the source says so
(`signed-by=$KEY_FILE`); else it is trusted for all, as apt has it.
"""

import re
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from precast.base.errors import PrecastError
from precast.boot.modules import issues
from precast.boot.modules.apt_keys import key_file
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Module
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.people import os_release
from precast.boot.modules.shapes import Either, Fields, Flag, Items, Number, Table, Text, Unused
from precast.resources.commands import has_program

_MIRRORS = {
    "debian": ("http://deb.debian.org/debian", "http://deb.debian.org/debian-security"),
    "ubuntu": ("http://archive.ubuntu.com/ubuntu", "http://security.ubuntu.com/ubuntu"),
}
_COMPONENTS = {"debian": "main", "ubuntu": "main restricted universe multiverse"}
_PROXIES = {"proxy": "http", "http_proxy": "http", "https_proxy": "https", "ftp_proxy": "ftp"}
_DIRECTORY = "/etc/apt/apt.conf.d"
_ADDED = r"^[\w-]+:\w"


def settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What is wanted, older keys included."""
    found: dict[str, Any] = {}
    if "apt_mirror" in config:
        found["primary"] = [{"arches": ["default"], "uri": config["apt_mirror"]}]
    for old, new in (("apt_proxy", "proxy"), ("apt_conf", "conf"), ("apt_preserve_sources_list", "preserve_sources_list"),
                     ("apt_custom_sources_list", "sources_list")):  # fmt: skip
        if old in config:
            found[new] = config[old]
    sources = config.get("apt_sources")
    if isinstance(sources, list):
        found["sources"] = {f"source-{at}": each for at, each in enumerate(sources, 1)}
    elif isinstance(sources, dict):
        found["sources"] = sources
    return {**found, **config.get("apt", {})}


def run(context: Context) -> Outcome:
    wanted = settings(context.config)
    if not context.is_there("/etc/apt") and not has_program("apt-get", context.machine.root):
        context.outcome.not_run = "there is no apt here"
        return context.outcome
    words = _words(context, wanted)
    _write_configuration(context, wanted)
    _write_mirrors(context, wanted, words)
    failures: list[str] = []
    pattern = _pattern(context, wanted.get("add_apt_repo_match", _ADDED))
    for name, source in wanted.get("sources", {}).items():
        try:
            _write_source(context, name, source, words, pattern)
        except (PrecastError, OSError) as error:
            failures.append(f"{name}: {error}")
    _answer(context, wanted.get("debconf_selections", {}))
    if failures:
        raise issues.SOME_FAILED.error(what="apt.sources", failures="; ".join(failures))
    return context.outcome


# Words that stand for something in sources


def _words(context: Context, wanted: Mapping[str, Any]) -> dict[str, str]:
    release = os_release(context.root)
    name = "ubuntu" if "ubuntu" in (release.get("ID", ""), release.get("ID_LIKE", "")) else "debian"
    primary, security = _MIRRORS[name]
    primary = _mirror(context, wanted.get("primary"), primary)
    security = _mirror(context, wanted.get("security"), security)
    codename = release.get("VERSION_CODENAME", "stable")
    return {"MIRROR": primary, "PRIMARY": primary, "SECURITY": security, "RELEASE": codename, "ID": name}


def _mirror(context: Context, entries: Any, default: str) -> str:
    """The address of the entry for this machine: the one of its architecture, else the default one."""
    entries = entries or []
    here = _architecture(context)
    chosen = next((each for each in entries if here in each["arches"]), None)
    chosen = chosen or next((each for each in entries if "default" in each["arches"]), None)
    if chosen is None:
        return default
    if "uri" in chosen:
        return str(chosen["uri"])
    found = next((str(uri) for uri in chosen.get("search", []) if _resolves(str(uri))), None)
    if found is None:
        context.warn(f"apt: none of the mirrors to search can be found, so {default} is used")
    return found or default


def _architecture(context: Context) -> str:
    if context.has_programs and has_program("dpkg", context.machine.root):
        return context.ask(["dpkg", "--print-architecture"]).output.strip()
    return "default"


def _resolves(uri: str) -> bool:
    try:
        socket.getaddrinfo(urlsplit(uri).hostname, None)
    except (OSError, ValueError, UnicodeError):
        return False
    return True


def _filled(text: str, words: Mapping[str, str]) -> str:
    return re.sub(r"\$\{?([A-Z_]+)\}?", lambda found: words.get(found[1], found[0]), text)


# Files


def _write_configuration(context: Context, wanted: Mapping[str, Any]) -> None:
    if "conf" in wanted:
        context.write(f"{_DIRECTORY}/94precast-boot-config", f"{wanted['conf'].rstrip()}\n".encode())
    lines = {kind: f'Acquire::{kind}::Proxy "{wanted[key]}";' for key, kind in _PROXIES.items() if key in wanted}
    if lines:
        text = "\n".join(lines.values()) + "\n"
        # A proxy's address may have a password in it.
        context.write(f"{_DIRECTORY}/90precast-boot-proxy", text.encode(), 0o600 if "@" in text else 0o644)
    depth = context.config.get("apt_pipelining")
    if depth is not None and depth not in ("os", "unchanged", True):
        number = depth if isinstance(depth, int) and depth is not False else 0
        path = f"{_DIRECTORY}/90precast-boot-pipelining"
        context.write(path, f'Acquire::http::Pipeline-Depth "{number}";\n'.encode())


def _write_mirrors(context: Context, wanted: Mapping[str, Any], words: Mapping[str, str]) -> None:
    """Where the system itself comes from: a list of the user's own, or the usual one with these mirrors."""
    if wanted.get("preserve_sources_list") or not {"primary", "security", "sources_list", "disable_suites"} & set(
        wanted
    ):
        return
    given = wanted.get("sources_list")
    text = f"{_filled(given, words).rstrip()}\n" if given else _usual(words)
    for suite in wanted.get("disable_suites", []):
        text = _without(text, _suite(suite, words["RELEASE"]))
    context.write("/etc/apt/sources.list", text.encode())
    for name in ("debian", "ubuntu"):
        if context.is_there(f"/etc/apt/sources.list.d/{name}.sources"):
            # The same suites in the newer form: both together would name everything twice.
            context.remove(f"/etc/apt/sources.list.d/{name}.sources")


def _usual(words: Mapping[str, str]) -> str:
    release, parts = words["RELEASE"], _COMPONENTS[words["ID"]]
    return (
        f"deb {words['PRIMARY']} {release} {parts}\n"
        f"deb {words['PRIMARY']} {release}-updates {parts}\n"
        f"deb {words['SECURITY']} {release}-security {parts}\n"
    )


def _suite(given: str, release: str) -> str:
    return {"updates": f"{release}-updates", "backports": f"{release}-backports", "security": f"{release}-security",
            "proposed": f"{release}-proposed", "release": release}.get(given, given.replace("$RELEASE", release))  # fmt: skip


def _without(text: str, suite: str) -> str:
    lines = []
    for line in text.splitlines():
        words = re.sub(r"\[[^]]*\]", "", line).split()
        is_one = words[:1] in (["deb"], ["deb-src"]) and words[2:3] == [suite]
        lines.append(f"# suite disabled by Precast: {line}" if is_one else line)
    return "\n".join(lines) + "\n"


def _pattern(context: Context, given: str) -> re.Pattern[str]:
    """What sources that a program adds look like."""
    try:
        return re.compile(given)
    except re.error as error:
        context.warn(f"apt.add_apt_repo_match: {given!r} is no pattern ({error})")
        return re.compile(_ADDED)


def _write_source(
    context: Context, name: str, given: Mapping[str, Any], words: Mapping[str, str], pattern: re.Pattern[str]
) -> None:
    key = key_file(context, name.removesuffix(".list"), given)
    source = given.get("source")
    if source is None:
        return
    text = _filled(source, {**words, "KEY_FILE": key or ""}).strip()
    if pattern.search(text):
        if not context.has_programs or not has_program("add-apt-repository", context.machine.root):
            raise issues.NO_PROGRAM.error(program="add-apt-repository", what=text)
        context.must_run(["add-apt-repository", "--no-update", "--yes", text], deadline_s=300)
        return
    file = str(given.get("filename", name))
    file = file if file.startswith("/") else f"/etc/apt/sources.list.d/{file}"
    suffix = ".sources" if text.startswith("Types:") else ".list"
    file = file if file.endswith((".list", ".sources")) else f"{file}{suffix}"
    present = context.read_text(file) if given.get("append", True) else ""
    if text not in present:
        context.write(file, f"{present}{text}\n".encode())


def _answer(context: Context, selections: Mapping[str, str]) -> None:
    """Answers to questions of packages. They may be passwords, so nothing is said of them."""
    if selections:
        text = "\n".join(selections.values()) + "\n"
        what = f"debconf-set-selections ({len(selections)} sets)"
        context.must_run(["debconf-set-selections"], stdin=text.encode(), what=what, deadline_s=60)


_SOURCE = Fields(
    {
        "source": Text(), "keyid": Text(), "key": Text(), "keyserver": Text(), "filename": Text(), "append": Flag(),
    }
)  # fmt: skip
_KEYS = "give the key with a source in apt.sources"
_MIRROR = Items(
    Fields(
        {
            "arches": Items(Text()), "uri": Text(), "search": Items(Text()), "search_dns": Unused("name the mirrors in search"),
            "keyid": Unused(_KEYS),
            "key": Unused(_KEYS), "keyserver": Unused(_KEYS),
        },
        required=("arches",),
    )
)  # fmt: skip
MODULES = (
    Module(
        "apt",
        run,
        {
            "apt": Fields(
                {
                    "preserve_sources_list": Flag(), "disable_suites": Items(Text()), "primary": _MIRROR,
                    "security": _MIRROR, "add_apt_repo_match": Text(), "debconf_selections": Table(Text()),
                    "sources_list": Text(), "conf": Text(), "https_proxy": Text(), "http_proxy": Text(), "proxy": Text(),
                    "ftp_proxy": Text(), "sources": Table(_SOURCE),
                }
            ),
            "apt_pipelining": Either(Flag(), Number(0), Text(("none", "unchanged", "os"))),
            "apt_sources": Either(Items(_SOURCE), Table(_SOURCE)),
            "apt_mirror": Text(),
            "apt_proxy": Text(),
            "apt_conf": Text(),
            "apt_preserve_sources_list": Flag(),
            "apt_custom_sources_list": Text(),
        },
        locks=("apt",),
        after=(
            After("bootcmd", "bootcmd comes before everything that configures"),
            After("write_files", "files of the user's may be what sources refer to"),
        ),
    ),
)  # fmt: skip
