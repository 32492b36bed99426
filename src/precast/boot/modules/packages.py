"""Packages: the lists of what is offered, newer versions, and what the user wants installed; then a reboot if one is needed.

All packages are installed by one command, which is much faster than one by one; if that fails they are tried one by one, so that one
that nobody offers does not cost the others.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from precast.base.errors import PrecastError
from precast.boot.modules import issues, users
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Config, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Either, Fields, Flag, Items, Text
from precast.boot.modules.user_commands import SCRIPTS
from precast.resources.commands import has_program
from precast.resources.package import managers
from precast.resources.package.manager import InstallRequest, Manager, last_lines

LOCK = "apt"
# Of every module that installs something: packages make users too, and what is offered must be settled before.
LOCKS = (LOCK, users.LOCK)
AFTER = (
    After("bootcmd", "bootcmd comes before everything that configures"),
    After("write_files", "package sources may be files of the user's"),
    After("apt", "what is offered comes from the sources"),
    After("yum_repos", "what is offered comes from the repositories"),
    After("zypper", "what is offered comes from the repositories"),
    After("ca_certs", "sources may be behind an authority of the user's own"),
    After("resolv_conf", "names of mirrors are looked up"),
    After("etc_hosts", "names of mirrors are looked up"),
    After("mounts", "what is installed may lie on what is mounted"),
)
_DEADLINE_S = 3600.0
_QUIET = {"DEBIAN_FRONTEND": "noninteractive"}
_APT = ("apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=120", "-o", "DPkg::Options::=--force-confold")
# Manager: how to fetch the lists, and how to bring everything to its newest version.
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


def wanted(config: Config) -> tuple[list[tuple[str, str | None]], list[list[str]]]:
    """Packages with their versions, and snaps with their options."""
    packages: list[tuple[str, str | None]] = []
    snaps: list[list[str]] = []
    for each in config.get("packages", []):
        if isinstance(each, dict):
            for kind, names in each.items():
                if kind == "snap":
                    snaps += [_words(name) for name in names if _words(name)]
                else:
                    packages += [_package(name) for name in names if _words(name)]
        elif _words(each):
            packages.append(_package(each))
    return list(dict.fromkeys(packages)), snaps


def _words(given: Any) -> list[str]:
    return [each for each in given if each] if isinstance(given, list) else [given] if given else []


def _package(given: Any) -> tuple[str, str | None]:
    words = _words(given)
    name, _, version = words[0].partition("=")
    return name.strip(), words[1] if len(words) > 1 else version.strip() or None


def run(context: Context) -> Outcome:
    config = context.config
    packages, snaps = wanted(config)
    upgrades = _any(config, _UPGRADE)
    if not (packages or snaps or upgrades or _any(config, _UPDATE)):
        context.outcome.not_run = "nothing is to be updated or installed"
        return context.outcome
    context.check_programs("installing packages")
    manager = managers.default(context.machine)
    update, upgrade = _UPDATES[manager.name]
    missing = [(name, version) for name, version in packages if not _is_installed(manager, name, version)]
    failures: list[str] = []
    if missing or upgrades or _any(config, _UPDATE):
        failures += _try(context, update)
    if upgrades:
        failures += _try(context, upgrade)
    failures += _install(context, manager, missing)
    for snap in snaps:
        failures += _install_snap(context, snap)
    if failures:
        raise issues.SOME_FAILED.error(what="packages", failures="; ".join(failures))
    return context.outcome


def need(context: Context, name: str) -> None:
    """Have a package that a module works with. Raises PrecastError if it is not there and cannot be installed."""
    context.check_programs(f"installing {name}")
    manager = managers.default(context.machine)
    if _is_installed(manager, name, None):
        return
    failures = [*_try(context, _UPDATES[manager.name][0]), *_install(context, manager, [(name, None)])]
    if not context.is_dry_run and not _is_installed(manager, name, None):
        raise issues.SOME_FAILED.error(what=f"installing {name}", failures="; ".join(failures))


def _try(context: Context, argv: Sequence[str]) -> list[str]:
    """Run a command of the package manager; why it failed. One source that is away must not cost what others offer."""
    done = context.run(argv, deadline_s=_DEADLINE_S, environment=_QUIET)
    return [] if done.is_success else [f"{' '.join(argv)}: {last_lines(done.output)}"]


def _any(config: Config, keys: Sequence[str]) -> bool:
    return any(config.get(key) is True for key in keys)


def _is_installed(manager: Manager, name: str, version: str | None) -> bool:
    found = manager.find(name)
    if found is None or found.version == "absent":
        return False
    return version is None or manager.is_version(found.version, version)


def _install(context: Context, manager: Manager, packages: Sequence[tuple[str, str | None]]) -> list[str]:
    """Install all at once, or if that fails one by one; what could not be installed, and why."""
    requests = [InstallRequest(name, version) for name, version in packages]
    for request in requests:
        version = f" {request.version}" if request.version else ""
        context.changed(f"Package[{request.name}]: installed{version}")
    if context.is_dry_run or not requests:
        return []
    failures: list[str] = []
    try:
        manager.install_all(requests)
    except PrecastError as error:
        if len(requests) == 1:
            return [f"{requests[0].name}: {error.message}"]
        for request in requests:
            try:
                manager.install(request)
            except PrecastError as reason:
                failures.append(f"{request.name}: {reason.message}")
    finally:
        context.machine.snapshots.forget(None)
    return failures


def _install_snap(context: Context, words: Sequence[str]) -> list[str]:
    if not has_program("snap", context.machine.root):
        return [f"snap {words[0]}: there is no snap on this system"]
    done = context.run(["snap", "install", *words], deadline_s=_DEADLINE_S)
    return [] if done.is_success else [f"snap {words[0]}: {' '.join(done.output.split())}"]


def reboot(context: Context) -> Outcome:
    """Reboot at the end if what was installed needs it; never below a root."""
    from precast.boot.modules.power import shut_down

    if not any(context.is_there(path) for path in ("/run/reboot-required", "/var/run/reboot-required")):
        context.outcome.not_run = "nothing that was installed needs a reboot"
    elif context.machine.root:
        context.outcome.not_run = "a root is not rebooted"
    else:
        shut_down(context, "reboot", "now", "packages that were installed need it")
    return context.outcome


_LIST = Items(Either(Text(), Items(Text())), takes_one=True)
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
            After("packages", "only then is it known whether a reboot is needed"),
            *(After(name, "the user's commands come first") for name in SCRIPTS),
            After("final_message", "the boot is over then"),
            After("phone_home", "who is called at home must hear of it before"),
            After("precast", "the machine enrols before it goes down"),
        ),
        is_wanted=lambda config: _any(config, _REBOOT),
    ),
)
