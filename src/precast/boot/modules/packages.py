"""Updates the package lists, upgrades packages, installs the user's packages, and reboots the machine if that is needed.

One command installs all packages, which is much faster than one command per package. If it fails, the packages are installed one by one,
so that a package that no source offers does not prevent the others.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from precast.base.errors import PrecastError
from precast.boot.modules import issues, users
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Config, Module, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Either, Fields, Flag, Items, Text
from precast.boot.modules.user_commands import SCRIPTS
from precast.resources.commands import has_program
from precast.resources.package import managers
from precast.resources.package.manager import InstallRequest, Manager, last_lines

LOCK = "apt"
# The locks and predecessors of every module that installs packages: packages create users, and their sources must be configured.
LOCKS = (LOCK, users.LOCK)
AFTER = (
    Predecessor("bootcmd", "bootcmd runs before every module that configures something"),
    Predecessor("write_files", "the user's files may be package sources"),
    Predecessor("apt", "packages come from the configured sources"),
    Predecessor("yum_repos", "packages come from the configured repositories"),
    Predecessor("zypper", "packages come from the configured repositories"),
    Predecessor("ca_certs", "a source's certificate may come from the user's own authority"),
    Predecessor("resolv_conf", "the package manager resolves names of mirrors"),
    Predecessor("etc_hosts", "the package manager resolves names of mirrors"),
    Predecessor("mounts", "packages may be installed on a mounted file system"),
)
_DEADLINE_S = 3600.0
_QUIET = {"DEBIAN_FRONTEND": "noninteractive"}
_APT = ("apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=120", "-o", "DPkg::Options::=--force-confold")
# For each package manager: the command that fetches the package lists, and the command that upgrades all packages.
_UPDATES: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "apt": ((*_APT, "update"), (*_APT, "dist-upgrade")),
    "dnf": (("dnf", "-q", "-y", "makecache"), ("dnf", "-q", "-y", "upgrade")),
    "yum": (("yum", "-q", "-y", "makecache"), ("yum", "-q", "-y", "upgrade")),
    "zypper": (("zypper", "--non-interactive", "refresh"), ("zypper", "--non-interactive", "update")),
    "apk": (("apk", "update"), ("apk", "upgrade")),
}
_UPDATE = ("package_update", "apt_update")
_UPGRADE = ("package_upgrade", "apt_upgrade")
_REBOOT = ("package_reboot_if_required", "apt_reboot_if_required")


def list_packages(config: Config) -> tuple[list[tuple[str, str | None]], list[list[str]]]:
    """Return the requested packages with their versions, and the requested snaps with their options."""
    packages: list[tuple[str, str | None]] = []
    snaps: list[list[str]] = []
    for entry in config.get("packages", []):
        if isinstance(entry, dict):
            for kind, names in entry.items():
                if kind == "snap":
                    snaps += [_split_entry(name) for name in names if _split_entry(name)]
                else:
                    packages += [_parse_package(name) for name in names if _split_entry(name)]
        elif _split_entry(entry):
            packages.append(_parse_package(entry))
    return list(dict.fromkeys(packages)), snaps


def _split_entry(entry: Any) -> list[str]:
    return [word for word in entry if word] if isinstance(entry, list) else [entry] if entry else []


def _parse_package(entry: Any) -> tuple[str, str | None]:
    words = _split_entry(entry)
    name, _, version = words[0].partition("=")
    return name.strip(), words[1] if len(words) > 1 else version.strip() or None


def run(context: ModuleContext) -> ModuleOutcome:
    config = context.config
    packages, snaps = list_packages(config)
    upgrades = _is_any_set(config, _UPGRADE)
    if not (packages or snaps or upgrades or _is_any_set(config, _UPDATE)):
        context.outcome.not_run = "no package needs to be updated or installed"
        return context.outcome
    context.require_programs("installing packages")
    manager = managers.default(context.machine)
    update, upgrade = _UPDATES[manager.name]
    missing = [(name, version) for name, version in packages if not _is_installed(manager, name, version)]
    failures: list[str] = []
    if missing or upgrades or _is_any_set(config, _UPDATE):
        failures += _try(context, update)
    if upgrades:
        failures += _try(context, upgrade)
    failures += _install(context, manager, missing)
    for snap in snaps:
        failures += _install_snap(context, snap)
    if failures:
        raise issues.SOME_FAILED.error(what="packages", failures="; ".join(failures))
    return context.outcome


def ensure_installed(context: ModuleContext, name: str) -> None:
    """Install a package that a module needs, unless it is installed. Raises PrecastError if the installation fails."""
    context.require_programs(f"installing {name}")
    manager = managers.default(context.machine)
    if _is_installed(manager, name, None):
        return
    failures = [*_try(context, _UPDATES[manager.name][0]), *_install(context, manager, [(name, None)])]
    if not context.is_dry_run and not _is_installed(manager, name, None):
        raise issues.SOME_FAILED.error(what=f"installing {name}", failures="; ".join(failures))


def _try(context: ModuleContext, argv: Sequence[str]) -> list[str]:
    """Run a command of the package manager and return why it failed. An unreachable source must not stop the boot."""
    result = context.run(argv, deadline_s=_DEADLINE_S, environment=_QUIET)
    return [] if result.is_success else [f"{' '.join(argv)}: {last_lines(result.output)}"]


def _is_any_set(config: Config, keys: Sequence[str]) -> bool:
    return any(config.get(key) is True for key in keys)


def _is_installed(manager: Manager, name: str, version: str | None) -> bool:
    package = manager.find(name)
    if package is None or package.version == "absent":
        return False
    return version is None or manager.is_version(package.version, version)


def _install(context: ModuleContext, manager: Manager, packages: Sequence[tuple[str, str | None]]) -> list[str]:
    """Install all packages at once, or one by one if that fails. Returns which packages failed, and why."""
    requests = [InstallRequest(name, version) for name, version in packages]
    failures: dict[InstallRequest, str] = {}
    if requests and not context.is_dry_run:
        try:
            failures = _install_requests(manager, requests)
        finally:
            context.machine.snapshots.forget(None)
    for request in requests:
        if request not in failures:
            version = f" {request.version}" if request.version else ""
            context.record_change(f"Package[{request.name}]: installed{version}")
    return [f"{request.name}: {reason}" for request, reason in failures.items()]


def _install_requests(manager: Manager, requests: Sequence[InstallRequest]) -> dict[InstallRequest, str]:
    failures: dict[InstallRequest, str] = {}
    try:
        manager.install_all(requests)
    except PrecastError as error:
        if len(requests) == 1:
            return {requests[0]: error.message}
        for request in requests:
            try:
                manager.install(request)
            except PrecastError as reason:
                failures[request] = reason.message
    return failures


def _install_snap(context: ModuleContext, words: Sequence[str]) -> list[str]:
    if not has_program("snap", context.machine.root):
        return [f"snap {words[0]}: snap is not installed"]
    result = context.run(["snap", "install", *words], deadline_s=_DEADLINE_S)
    return [] if result.is_success else [f"snap {words[0]}: {' '.join(result.output.split())}"]


def reboot(context: ModuleContext) -> ModuleOutcome:
    """Reboot the machine at the end of the boot if an installed package requires it; never below a root."""
    from precast.boot.modules.power import shut_down

    if not any(context.exists(path) for path in ("/run/reboot-required", "/var/run/reboot-required")):
        # It counts as run: a package of a later boot must not reboot a machine that is in use.
        context.outcome.remark = "no installed package needs a reboot"
    elif context.machine.root:
        context.outcome.not_run = "a root is not rebooted"
    else:
        shut_down(context, "reboot", "now", "installed packages need a reboot")
    return context.outcome


_LIST = Items(Either(Text(), Items(Text())), accepts_single=True)
MODULES = (
    Module(
        "packages",
        run,
        {
            "packages": Items(Either(Text(), Items(Text()), Fields({"apt": _LIST, "snap": _LIST}))),
            **{key: Flag() for key in (*_UPDATE, *_UPGRADE)},
        },
        locks=LOCKS,
        stage=Stage.CONFIG,
        after=AFTER,
    ),
    Module(
        "reboot_if_required",
        reboot,
        {key: Flag() for key in _REBOOT},
        stage=Stage.FINAL,
        after=(
            Predecessor("packages", "the installed packages decide whether a reboot is needed"),
            *(Predecessor(name, "the user's commands run first") for name in SCRIPTS),
            Predecessor("final_message", "the message marks the end of the boot"),
            Predecessor("phone_home", "the called server must be notified before the reboot"),
            Predecessor("precast", "the machine enrols before it reboots"),
        ),
        has_work=lambda config: _is_any_set(config, _REBOOT),
    ),
)
