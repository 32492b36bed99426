"""apt: configures mirrors, package sources with their keys, settings and proxies, before any module installs packages.

The image's own sources stay unless the configuration names mirrors or sources. A key is trusted for its own source only if the source
refers to it (`signed-by=$KEY_FILE`); otherwise apt trusts it for all sources.
"""

import re
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from precast.base.errors import PrecastError
from precast.boot.modules import issues
from precast.boot.modules.apt_keys import install_key
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, Predecessor
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Either, Fields, Flag, Items, Number, Table, Text, Unsupported
from precast.boot.modules.user_entries import read_os_release
from precast.resources.commands import has_program

_MIRRORS = {
    "debian": ("http://deb.debian.org/debian", "http://deb.debian.org/debian-security"),
    "ubuntu": ("http://archive.ubuntu.com/ubuntu", "http://security.ubuntu.com/ubuntu"),
}
_COMPONENTS = {"debian": "main", "ubuntu": "main restricted universe multiverse"}
_PROXIES = {"proxy": "http", "http_proxy": "http", "https_proxy": "https", "ftp_proxy": "ftp"}
_DIRECTORY = "/etc/apt/apt.conf.d"
_ADD_REPOSITORY_PATTERN = r"^[\w-]+:\w"


def merge_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the key apt, with the older keys merged in."""
    settings: dict[str, Any] = {}
    if "apt_mirror" in config:
        settings["primary"] = [{"arches": ["default"], "uri": config["apt_mirror"]}]
    for old, new in (("apt_proxy", "proxy"), ("apt_conf", "conf"), ("apt_preserve_sources_list", "preserve_sources_list"),
                     ("apt_custom_sources_list", "sources_list")):  # fmt: skip
        if old in config:
            settings[new] = config[old]
    sources = config.get("apt_sources")
    if isinstance(sources, list):
        settings["sources"] = {f"source-{number}": source for number, source in enumerate(sources, 1)}
    elif isinstance(sources, dict):
        settings["sources"] = sources
    return {**settings, **config.get("apt", {})}


def run(context: ModuleContext) -> ModuleOutcome:
    settings = merge_settings(context.config)
    if not context.exists("/etc/apt") and not has_program("apt-get", context.machine.root):
        context.outcome.remark = "apt is not installed"
        return context.outcome
    variables = _find_variables(context, settings)
    _write_configuration(context, settings)
    _write_mirrors(context, settings, variables)
    failures: list[str] = []
    pattern = _compile_pattern(context, settings.get("add_apt_repo_match", _ADD_REPOSITORY_PATTERN))
    for name, source in settings.get("sources", {}).items():
        try:
            _write_source(context, name, source, variables, pattern)
        except (PrecastError, OSError) as error:
            failures.append(f"{name}: {error}")
    _preseed_debconf(context, settings.get("debconf_selections", {}))
    if failures:
        raise issues.SOME_FAILED.error(what="apt.sources", failures="; ".join(failures))
    return context.outcome


# Variables in sources, such as $MIRROR


def _find_variables(context: ModuleContext, settings: Mapping[str, Any]) -> dict[str, str]:
    release = read_os_release(context.root)
    name = "ubuntu" if "ubuntu" in (release.get("ID", ""), release.get("ID_LIKE", "")) else "debian"
    primary, security = _MIRRORS[name]
    primary = _choose_mirror(context, settings.get("primary"), primary)
    security = _choose_mirror(context, settings.get("security"), security)
    codename = release.get("VERSION_CODENAME", "stable")
    return {"MIRROR": primary, "PRIMARY": primary, "SECURITY": security, "RELEASE": codename, "ID": name}


def _choose_mirror(context: ModuleContext, entries: Any, default: str) -> str:
    """Return the address of the mirror for this machine's architecture, or of the default entry."""
    entries = entries or []
    architecture = _find_architecture(context)
    chosen = next((entry for entry in entries if architecture in entry["arches"]), None)
    chosen = chosen or next((entry for entry in entries if "default" in entry["arches"]), None)
    if chosen is None:
        return default
    if "uri" in chosen:
        return str(chosen["uri"])
    mirror = next((str(uri) for uri in chosen.get("search", []) if _is_resolvable(str(uri))), None)
    if mirror is None:
        context.warn(f"apt: the name of none of the mirrors in search can be resolved, so {default} is used")
    return mirror or default


def _find_architecture(context: ModuleContext) -> str:
    if context.has_programs and has_program("dpkg", context.machine.root):
        return context.query(["dpkg", "--print-architecture"]).output.strip()
    return "default"


def _is_resolvable(uri: str) -> bool:
    try:
        socket.getaddrinfo(urlsplit(uri).hostname, None)
    except (OSError, ValueError, UnicodeError):
        return False
    return True


def _substitute(text: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\$\{?([A-Z_]+)\}?", lambda match: variables.get(match[1], match[0]), text)


# Files


def _write_configuration(context: ModuleContext, settings: Mapping[str, Any]) -> None:
    if "conf" in settings:
        context.write(f"{_DIRECTORY}/94precast-boot-config", f"{settings['conf'].rstrip()}\n".encode())
    lines = {kind: f'Acquire::{kind}::Proxy "{settings[key]}";' for key, kind in _PROXIES.items() if key in settings}
    if lines:
        text = "\n".join(lines.values()) + "\n"
        # The address of a proxy may contain a password.
        context.write(f"{_DIRECTORY}/90precast-boot-proxy", text.encode(), 0o600 if "@" in text else 0o644)
    depth = context.config.get("apt_pipelining")
    if depth is not None and depth not in ("os", "unchanged", True):
        number = depth if isinstance(depth, int) and depth is not False else 0
        path = f"{_DIRECTORY}/90precast-boot-pipelining"
        context.write(path, f'Acquire::http::Pipeline-Depth "{number}";\n'.encode())


def _write_mirrors(context: ModuleContext, settings: Mapping[str, Any], variables: Mapping[str, str]) -> None:
    """Write sources.list: the user's own template, or the distribution's default list with the chosen mirrors."""
    if settings.get("preserve_sources_list") or not {"primary", "security", "sources_list", "disable_suites"} & set(
        settings
    ):
        return
    template = settings.get("sources_list")
    text = f"{_substitute(template, variables).rstrip()}\n" if template else _render_default_list(variables)
    for suite in settings.get("disable_suites", []):
        text = _disable_suite(text, _expand_suite(suite, variables["RELEASE"]))
    context.write("/etc/apt/sources.list", text.encode())
    for name in ("debian", "ubuntu"):
        if context.exists(f"/etc/apt/sources.list.d/{name}.sources"):
            # This file lists the same suites in the newer format; with both files apt would warn about duplicates.
            context.remove(f"/etc/apt/sources.list.d/{name}.sources")


def _render_default_list(variables: Mapping[str, str]) -> str:
    release, components = variables["RELEASE"], _COMPONENTS[variables["ID"]]
    return (
        f"deb {variables['PRIMARY']} {release} {components}\n"
        f"deb {variables['PRIMARY']} {release}-updates {components}\n"
        f"deb {variables['SECURITY']} {release}-security {components}\n"
    )


def _expand_suite(suite: str, release: str) -> str:
    return {"updates": f"{release}-updates", "backports": f"{release}-backports", "security": f"{release}-security",
            "proposed": f"{release}-proposed", "release": release}.get(suite, suite.replace("$RELEASE", release))  # fmt: skip


def _disable_suite(text: str, suite: str) -> str:
    lines = []
    for line in text.splitlines():
        words = re.sub(r"\[[^]]*\]", "", line).split()
        is_disabled = words[:1] in (["deb"], ["deb-src"]) and words[2:3] == [suite]
        lines.append(f"# suite disabled by Precast: {line}" if is_disabled else line)
    return "\n".join(lines) + "\n"


def _compile_pattern(context: ModuleContext, pattern: str) -> re.Pattern[str]:
    """Compile the pattern of the sources that add-apt-repository adds, such as a PPA."""
    try:
        return re.compile(pattern)
    except re.error as error:
        context.warn(f"apt.add_apt_repo_match: {pattern!r} is not a valid regular expression ({error})")
        return re.compile(_ADD_REPOSITORY_PATTERN)


def _write_source(
    context: ModuleContext, name: str, entry: Mapping[str, Any], variables: Mapping[str, str], pattern: re.Pattern[str]
) -> None:
    key = install_key(context, name.removesuffix(".list"), entry)
    source = entry.get("source")
    if source is None:
        return
    text = _substitute(source, {**variables, "KEY_FILE": key or ""}).strip()
    if pattern.search(text):
        if not context.has_programs or not has_program("add-apt-repository", context.machine.root):
            raise issues.NO_PROGRAM.error(program="add-apt-repository", what=text)
        context.must_run(["add-apt-repository", "--no-update", "--yes", text], deadline_s=300)
        return
    file = str(entry.get("filename", name))
    file = file if file.startswith("/") else f"/etc/apt/sources.list.d/{file}"
    suffix = ".sources" if text.startswith("Types:") else ".list"
    file = file if file.endswith((".list", ".sources")) else f"{file}{suffix}"
    present = context.read_text(file) if entry.get("append", True) else ""
    if text not in present:
        context.write(file, f"{present}{text}\n".encode())


def _preseed_debconf(context: ModuleContext, selections: Mapping[str, str]) -> None:
    """Preseed the answers to debconf's questions. They may contain passwords, so only their number is recorded."""
    if selections:
        text = "\n".join(selections.values()) + "\n"
        what = f"debconf-set-selections ({len(selections)} sets)"
        context.must_run(["debconf-set-selections"], stdin=text.encode(), what=what, deadline_s=60)


_SOURCE = Fields(
    {
        "source": Text(), "keyid": Text(), "key": Text(), "keyserver": Text(), "filename": Text(), "append": Flag(),
    }
)  # fmt: skip
_KEYS = "put the key into a source in apt.sources"
_MIRROR = Items(
    Fields(
        {
            "arches": Items(Text()), "uri": Text(), "search": Items(Text()), "search_dns": Unsupported("name the mirrors in search"),
            "keyid": Unsupported(_KEYS),
            "key": Unsupported(_KEYS), "keyserver": Unsupported(_KEYS),
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
            Predecessor("bootcmd", "bootcmd runs before every module that configures something"),
            Predecessor("write_files", "sources may refer to the user's files"),
        ),
    ),
)  # fmt: skip
