"""Root reads and writes in a directory of a user who attacks: nothing that she could not read reaches her, a report or a backup.

Every resource type and every module of boot that reads or writes a file at a path of the user's choice has a row here, and the last test
checks that no type is missing.
"""

import os
import pwd
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from precast.agent.applying.machine import Machine
from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.boot.capabilities import Capability
from precast.boot.modules import outputs
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Stage
from precast.boot.modules.registry import list_modules
from precast.boot.sources.contract import InjectedFile
from precast.resources import registry
from precast.resources.contract import DesiredResource
from precast.types.declaration import ConfigFileType, Syntax
from tests.component.resources.hostile_home import (
    AS_ROOT,
    EVE,
    SECRET,
    Act,
    HostileHome,
    apply_all,
    hostile_home,
    no_hang,
)

KEY = "AAAAB3NzaC1yc2EAAAADAQABAAAAgQ"


def resource(type_name: str, title: str = "kim", /, path_as: str = "path", **parameters: Any) -> Act:
    """Apply one resource whose parameter `path_as` is the attacked path."""

    def act(home: HostileHome, path: str) -> list[str]:
        desired = DesiredResource(type_name, title, {path_as: path, **parameters})
        return apply_all(home.machine(desired), desired)

    return act


def from_source(**parameters: Any) -> Act:
    """Copy the attacked path to a file that Eve may read."""

    def act(home: HostileHome, path: str) -> list[str]:
        desired = DesiredResource(
            "file", "/home/eve/copy", {"source": path, "owner": EVE, "mode": "0644", **parameters}
        )
        return apply_all(home.machine(desired), desired)

    return act


def from_directory(**parameters: Any) -> Act:
    """Copy the directory of the attacked path with everything in it."""

    def act(home: HostileHome, path: str) -> list[str]:
        values = {"source": path.rpartition("/")[0], "recurse": True, "owner": EVE, "mode": "0644", **parameters}
        desired = DesiredResource("file", "/home/eve/copies", values)
        return apply_all(home.machine(desired), desired)

    return act


def whole_directory(**parameters: Any) -> Act:
    """Manage the directory of the attacked path with everything in it."""

    def act(home: HostileHome, path: str) -> list[str]:
        values = {"ensure": "directory", "recurse": True, "owner": EVE, "mode": "0644", **parameters}
        desired = DesiredResource("file", path.rpartition("/")[0], values)
        return apply_all(home.machine(desired), desired)

    return act


def concat(home: HostileHome, path: str) -> list[str]:
    fragment = DesiredResource("concat_fragment", "kim", {"target": "/home/eve/joined", "source": path})
    desired = DesiredResource("concat_file", "/home/eve/joined", {"owner": EVE, "mode": "0644"})
    return apply_all(home.machine(desired, fragment), desired)


def concat_target(home: HostileHome, path: str) -> list[str]:
    fragment = DesiredResource("concat_fragment", "kim", {"target": path, "content": "new\n"})
    desired = DesiredResource("concat_file", path, {"owner": EVE, "backup": "puppet"})
    return apply_all(home.machine(desired, fragment), desired)


def purged_keys(home: HostileHome, path: str) -> list[str]:
    desired = DesiredResource("user", "eve", {"ensure": "present", "purge_ssh_keys": path})
    return apply_all(home.machine(desired), desired)


def crontab(home: HostileHome, path: str) -> list[str]:
    """The crontab is the attacked file: the spool is in Eve's directory."""
    spool = home.base / "var/spool/cron"
    spool.mkdir(parents=True)
    (spool / "crontabs").symlink_to(path.rpartition("/")[0])
    os.lchown(spool / "crontabs", EVE, EVE)
    parameters = {"user": path.rpartition("/")[2], "command": "/bin/true", "minute": 5}
    desired = DesiredResource("cron", "job", parameters)
    return apply_all(home.machine(desired), desired)


def audited(home: HostileHome, path: str) -> list[str]:
    desired = DesiredResource("file", path, {}, metaparameters={"audit": "all"})
    return apply_all(home.machine(desired), desired)


def mounted(home: HostileHome, path: str) -> list[str]:
    """The type mount works only on the machine itself; it runs no program to define a line."""
    parameters = {"ensure": "defined", "device": "/dev/x", "fstype": "ext4", "target": f"{home.base}{path}"}
    desired = DesiredResource("mount", "/mnt/secret", parameters)
    return apply_all(Machine("", str(home.state), ManualClock()), desired)


def created_by_command(home: HostileHome, path: str) -> list[str]:
    desired = DesiredResource("exec", "/bin/cat /dev/null", {"creates": f"{home.base}{path}", "logoutput": True})
    return apply_all(Machine("", str(home.state), ManualClock()), desired)


def on_this_machine(type_name: str, title: str, /, path_as: str, **parameters: Any) -> Act:
    """As `resource`, for types that refuse another root because they run programs of the machine; "HOME" stands for Eve's home."""

    def act(home: HostileHome, path: str) -> list[str]:
        given = {name: str(value).replace("HOME", str(home.home)) for name, value in parameters.items()}
        desired = DesiredResource(type_name, title, {**given, path_as: f"{home.base}{path}"})
        return apply_all(Machine("", str(home.state), ManualClock()), desired)

    return act


def x509(type_name: str, path_as: str) -> Act:
    """Sign with a key and a template of root, of which the attacked path replaces one."""

    def act(home: HostileHome, path: str) -> list[str]:
        own = home.base / "etc/own"
        own.mkdir()
        key = DesiredResource("ssl_pkey", str(own / "key"), {"ensure": "present", "size": 1024})
        machine = Machine("", str(home.state), ManualClock())
        apply_all(machine, key)
        (own / "template").write_text("[req]\ndistinguished_name = name\nprompt = no\n[name]\nCN = kim\n[req_ext]\n")
        places = {"path": f"{home.home}/new", "private_key": str(own / "key"), "template": str(own / "template")}
        parameters = {**places, path_as: f"{home.base}{path}", "ensure": "present", "force": True}
        return apply_all(machine, DesiredResource(type_name, "kim", parameters))

    return act


def yumrepo(home: HostileHome, path: str) -> list[str]:
    """Eve's directory has repository files, whose names get a suffix."""
    if not home.target.parent.is_symlink():
        home.target.rename(home.target.with_suffix(".repo"))
    (home.base / "etc/yum.conf").write_text(f"[main]\nreposdir={path.rpartition('/')[0]}\n")
    parameters = {"target": f"{path}.repo", "ensure": "present", "descr": "new"}
    desired = DesiredResource("yumrepo", "section", parameters)
    return apply_all(home.machine(desired), desired)


def declared_config(syntax: Syntax) -> Act:
    """A type that the catalog declares, as nova_config: it is in no registry."""

    def act(home: HostileHome, path: str) -> list[str]:
        parameters = {"path": path, "value": "new", "ensure": "present"}
        desired = DesiredResource("declared_config", "section/setting", parameters)
        machine = home.machine(desired)
        known = ConfigFileType(may_move=True, syntax=syntax, attributes=tuple(parameters))
        machine.declare_types({"declared_config": known})
        return apply_all(machine, desired)

    return act


def augeas(home: HostileHome, path: str) -> list[str]:
    """The library reads the attacked file by its path, with a lens that takes any lines."""
    parameters = {"lens": "Simplelines.lns", "incl": path, "changes": "set 1 new"}
    desired = DesiredResource("augeas", "kim", parameters)
    return apply_all(home.machine(desired), desired)


def module(name: str, make_config: Callable[[str], dict[str, Any]], values: Callable[[str], Any] = lambda _: {}) -> Act:
    """Run one module of boot with the attacked path in its configuration."""

    def act(home: HostileHome, path: str) -> list[str]:
        said: list[str] = []

        def log(level: str, text: str) -> None:
            said.append(f"{level} {text}")

        config = make_config(path)
        machine = home.machine()
        found = next(each for each in list_modules() if each.name == name)
        for part in found.split(config):
            context = ModuleContext(machine, config, values(path), home.state / "boot", log)
            try:
                part.run(context)
            except (PrecastError, OSError) as error:
                said.append(str(error))
            said += [*context.outcome.changes, *context.outcome.warnings]
        machine.finish()
        return said

    return act


def boot_keys(home: HostileHome, path: str) -> list[str]:
    """The attacked path is Eve's authorized_keys."""
    config = {"users": [{"name": "eve", "ssh_authorized_keys": [f"ssh-rsa {KEY} kim"]}]}
    return module("users", lambda _: config)(home, path)


def boot_output(home: HostileHome, path: str) -> list[str]:
    context = ModuleContext(
        home.machine(), {"output": {"all": f">> {path}"}}, {}, home.state / "boot", lambda level, text: None
    )
    try:
        outputs.deliver(context, Stage.FINAL, "hello\n")
    except (PrecastError, OSError) as error:
        return [str(error)]
    return [*context.outcome.changes, *context.outcome.warnings]


def boot_apt(home: HostileHome, path: str) -> list[str]:
    """The file of a package source, whose name gets a suffix."""
    if home.target.is_symlink() or home.target.exists():
        named = home.target.with_suffix(".list")
        if not home.target.parent.is_symlink():
            home.target.rename(named)
    (home.base / "etc/apt").mkdir()
    sources = {"new": {"source": "deb http://x y main", "filename": f"{path}.list"}}
    return module("apt", lambda _: {"apt": {"sources": sources}})(home, path)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


# Each act reads or writes the attacked path. The name begins with the resource type, or with "boot" and the module.
ACTS: dict[str, Act] = {
    "file content": resource("file", "x", content="new\n", owner=EVE),
    "file content, group only": resource("file", "x", content="new\n", mode="0644"),
    "file content, backup beside": resource("file", "x", content="new\n", backup=".bak", owner=EVE),
    "file content, backup in the bucket": resource("file", "x", content="new\n", backup="puppet", owner=EVE),
    "file content, links followed": resource("file", "x", content="new\n", links="follow", owner=EVE),
    "file audited": audited,
    "file absent, backup in the bucket": resource("file", "x", ensure="absent", backup="puppet", force=True),
    "file mode only": resource("file", "x", mode="0644", owner=EVE),
    "file mode only, links followed": resource("file", "x", mode="0644", owner=EVE, links="follow"),
    "file from a source": from_source(),
    "file from a source, links followed": from_source(links="follow"),
    "file from a directory": from_directory(),
    "file from a directory, links followed": from_directory(links="follow"),
    "file whole directory": whole_directory(),
    "file whole directory, links followed": whole_directory(links="follow"),
    "file whole directory purged": whole_directory(purge=True, force=True, backup="puppet"),
    "concat_fragment": concat,
    "concat_file": concat_target,
    "file_line": resource("file_line", line="new", after="setting"),
    "file_line absent": resource("file_line", ensure="absent", match="setting", match_for_absence=True),
    "ini_setting": resource("ini_setting", section="section", setting="setting", value="new"),
    "host": resource("host", "secrethost", "target", ip="10.0.0.9"),
    "mount": mounted,
    "sshkey": resource("sshkey", "secret", "target", type="ssh-rsa", key="new"),
    "ssh_authorized_key": resource("ssh_authorized_key", "kim", "target", user="eve", type="ssh-rsa", key=KEY),
    "ssh_authorized_key without user": resource("ssh_authorized_key", "kim", "target", type="ssh-rsa", key=KEY),
    "user purges keys": purged_keys,
    "cron": crontab,
    "exec creates": created_by_command,
    "ini_subsetting": resource("ini_subsetting", section="section", setting="setting", subsetting="new", value="1"),
    "ini_subsetting absent": resource(
        "ini_subsetting", section="section", setting="setting", subsetting=SECRET, ensure="absent"
    ),
    "declared_config": declared_config("single"),
    "declared_config, several values": declared_config("multiple"),
    "mailalias": resource("mailalias", "secretalias", "target", ensure="present", recipient="new"),
    "sysctl": resource("sysctl", "setting", "target", ensure="present", val="new"),
    "yumrepo": yumrepo,
    "augeas": augeas,
    "tidy": resource("tidy", "x"),
    "tidy directories": lambda home, path: resource("tidy", "x", recurse=True, rmdirs=True)(home, _parent(path)),
    "archive": resource("archive", "x", source="/etc/passwd"),
    "archive with another checksum": resource(
        "archive", "x", source="/etc/passwd", checksum="0" * 64, checksum_type="sha256"
    ),
    "archive from a file": resource("archive", "x", "source", path="/home/eve/copy"),
    "archive absent": resource("archive", "x", ensure="absent"),
    "archive extracted": on_this_machine(
        "archive", "x", "path", extract=True, extract_path="HOME", creates="HOME/never", extract_command="cat %s; false"
    ),
    "archive extracted as another user": on_this_machine(
        "archive",
        "x",
        "path",
        extract=True,
        extract_path="HOME",
        creates="HOME/never",
        extract_command="cat %s; false",
        user="nobody",
    ),
    "ssl_pkey": resource("ssl_pkey", "x", ensure="present", size=1024),
    "ssl_pkey absent": resource("ssl_pkey", "x", ensure="absent"),
    "x509_cert": x509("x509_cert", "path"),
    "x509_cert key": x509("x509_cert", "private_key"),
    "x509_cert template": x509("x509_cert", "template"),
    "x509_request": x509("x509_request", "path"),
    "x509_request key": x509("x509_request", "private_key"),
    "x509_request template": x509("x509_request", "template"),
    "x509_request absent": on_this_machine("x509_request", "x", "path", ensure="absent"),
    # Its content is never the key of this fingerprint, so nothing is added to this machine's keys.
    "apt_key": on_this_machine("apt_key", "A" * 40, "source", ensure="present"),
    "boot users": boot_keys,
    "boot write_files": module("write_files", lambda path: {"write_files": [{"path": path, "content": "new"}]}),
    "boot write_files append": module(
        "write_files", lambda path: {"write_files": [{"path": path, "content": "new", "append": True}]}
    ),
    "boot write_files append as eve": module(
        "write_files",
        lambda path: {"write_files": [{"path": path, "content": "n", "append": True, "owner": "eve:eve"}]},
    ),
    "boot write_files_deferred append": module(
        "write_files_deferred",
        lambda path: {"write_files": [{"path": path, "content": "new", "append": True, "defer": True}]},
    ),
    "boot ssh": module("ssh", lambda _: {"users": [{"name": "eve"}], "ssh_authorized_keys": [f"ssh-rsa {KEY} kim"]}),
    "boot apt": boot_apt,
    "boot ntp": module(
        "ntp",
        lambda path: {"ntp": {"ntp_client": "chrony", "config": {"confpath": path, "template": "server x"}}},
    ),
    "boot rsyslog": module("rsyslog", lambda path: {"rsyslog": {"configs": [{"filename": path, "content": "new"}]}}),
    "boot output": boot_output,
    "boot random_seed": module("random_seed", lambda path: {"random_seed": {"file": path, "data": b"abc"}}),
    "boot injected_files": module(
        "injected_files", lambda _: {}, lambda path: {Capability.FILES: (InjectedFile(path, b"new"),)}
    ),
    "boot wireguard": module(
        "wireguard",
        lambda path: {"wireguard": {"interfaces": [{"name": "wg0", "config_path": path, "content": "[Interface]"}]}},
    ),
}


# Resources that give the file at a path another owner or mode and do not look at its content. Where root itself keeps a file in her
# directory, its owner decides about the name: such a resource hands over what is there, which is also how deployed files are handed over.
HAND_OVER = ("file mode only", "file whole directory")


# The library reads by path and could be led elsewhere, so even her own file is not changed.
REFUSED_IN_A_HOME = ("augeas",)


def plant_link(home: HostileHome, path: Path) -> None:
    home.make_secret(home.private / path.name)
    path.symlink_to(f"../../../etc/private/{path.name}")
    os.lchown(path, home.owner, home.owner)


def plant_hard_link(home: HostileHome, path: Path) -> None:
    home.make_secret(home.private / path.name)
    os.link(home.private / path.name, path)


def plant_directory_link(home: HostileHome, path: Path) -> None:
    home.make_secret(home.private / path.name)
    path.parent.rmdir()
    path.parent.symlink_to("../../etc/private")
    os.lchown(path.parent, home.owner, home.owner)


def plant_pipe(home: HostileHome, path: Path) -> None:
    os.mkfifo(path, 0o644)
    os.chown(path, home.owner, home.owner)


def plant_renamed_file(home: HostileHome, path: Path) -> None:
    """A file that root had put into Eve's home for itself."""
    home.make_secret(home.home / "of-root")
    (home.home / "of-root").rename(path)


def plant_hard_link_in_open_directory(home: HostileHome, path: Path) -> None:
    plant_hard_link(home, path)
    os.chown(path.parent, 0, 0)
    path.parent.chmod(0o1777)


PLANTS = (
    plant_link,
    plant_hard_link,
    plant_directory_link,
    plant_pipe,
    plant_renamed_file,
    plant_hard_link_in_open_directory,
)


@AS_ROOT
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__.removeprefix("plant_"))
@pytest.mark.parametrize("name", ACTS)
def test_nothing_of_another_users_file_reaches_the_attacker_a_report_or_a_backup(
    name: str, plant: Callable[[HostileHome, Path], None]
) -> None:
    with hostile_home() as home:
        path = home.target
        plant(home, path)
        before = {each.name: (each.stat().st_mode, each.stat().st_uid) for each in home.private.iterdir()}
        with no_hang():
            said = ACTS[name](home, home.inside(path))
        assert said, "the act says what it did or why it failed"
        assert SECRET not in "\n".join(said)
        is_handed_over = name.startswith(HAND_OVER) and plant is plant_renamed_file
        assert is_handed_over or SECRET not in "\n".join(home.readable_by_eve())
        # A file that root itself keeps in her directory may be backed up: only root can read the bucket.
        assert plant is plant_renamed_file or SECRET not in "\n".join(home.backed_up())
        after = {each.name: (each.stat().st_mode, each.stat().st_uid) for each in home.private.iterdir()}
        assert after == before, "nothing is created, changed or removed behind the link"
        for each in home.private.iterdir():
            assert SECRET in each.read_text()


@AS_ROOT
@pytest.mark.parametrize("name", ACTS)
def test_her_own_file_is_read_and_written_as_before(name: str) -> None:
    """The table itself: without an attack each act works, so that a refusal is due to the attack."""
    with hostile_home() as home:
        path = home.target
        path.write_text("[section]\nsetting = mine\n")
        os.chown(path, home.owner, home.owner)
        said = ACTS[name](home, home.inside(path))
        refused = [text for text in said if "belongs to" in text or "hard link" in text or "does not exist" in text]
        assert not refused or name in REFUSED_IN_A_HOME


@AS_ROOT
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__.removeprefix("plant_"))
def test_keys_that_are_written_as_the_user_never_hold_another_users_file(
    plant: Callable[[HostileHome, Path], None],
) -> None:
    """On the machine itself the file is written by a process of the user, here nobody."""
    nobody = pwd.getpwnam("nobody")
    with hostile_home(owner=nobody.pw_uid) as home:
        plant(home, home.target)
        parameters = {"user": "nobody", "target": str(home.target), "type": "ssh-rsa", "key": KEY}
        desired = DesiredResource("ssh_authorized_key", "kim", parameters)
        with no_hang():
            said = apply_all(Machine("", str(home.state), ManualClock()), desired)
        assert SECRET not in "\n".join([*said, *home.readable_by_eve()])


@AS_ROOT
def test_keys_of_a_user_are_added_to_their_own_file_as_that_user() -> None:
    nobody = pwd.getpwnam("nobody")
    with hostile_home(owner=nobody.pw_uid) as home:
        home.target.write_text("ssh-rsa AAAA old\n")
        os.chown(home.target, nobody.pw_uid, nobody.pw_gid)
        parameters = {"user": "nobody", "target": str(home.target), "type": "ssh-rsa", "key": KEY}
        desired = DesiredResource("ssh_authorized_key", "kim", parameters)
        apply_all(Machine("", str(home.state), ManualClock()), desired)
        assert home.target.read_text() == f"ssh-rsa AAAA old\nssh-rsa {KEY} kim\n"
        assert [each.name for each in home.target.parent.iterdir()] == [home.target.name]
        assert home.target.stat().st_uid == nobody.pw_uid


@AS_ROOT
def test_validation_of_a_file_in_her_directory_reads_nothing_that_she_can_replace() -> None:
    """The command stands for Eve too: it replaces the temporary file by a link, as she would between writing and validating."""
    with hostile_home() as home:
        home.make_secret(home.private / "shadow")
        swap = f"for f in {home.home}/.precast-*; do ln -sf {home.private}/shadow $f; done; cat %; false"
        parameters = {"content": "new", "validate_cmd": swap}
        desired = DesiredResource("file", f"{home.home}/x", parameters)
        said = apply_all(Machine("", str(home.state), ManualClock()), desired)
        assert "new" in said[-1]
        assert SECRET not in "\n".join(said)


# Types that read and write no file at a path of the user's choice.
WITHOUT_PATHS = {
    "alternative_entry": "runs update-alternatives, and reads dpkg's own database",
    "alternatives": "runs update-alternatives, and reads dpkg's own database",
    "anchor": "organises",
    "datacat_collector": "the plan gives its data to another resource",
    "datacat_fragment": "the plan gives its data to another resource",
    "filebucket": "names the agent's own state",
    "group": "runs the programs of the shadow suite",
    "mysql_database": "runs the client, with root's own option file",
    "mysql_grant": "runs the client, with root's own option file",
    "mysql_user": "runs the client, with root's own option file",
    "notify": "writes nothing",
    "package": "runs the package manager",
    "postgresql_psql": "runs psql as the user of the database",
    "promise": "publishes a value",
    "rabbitmq_plugin": "runs RabbitMQ's command line",
    "rabbitmq_vhost": "runs RabbitMQ's command line",
    "resources": "organises",
    "schedule": "organises",
    "service": "runs the init system",
    "sysctl_runtime": "runs sysctl",
}


# Modules of boot that read and write only files of the system below directories of root, or none.
MODULES_WITHOUT_PATHS = {
    "boothooks", "bootcmd", "ca_certs", "disable_ec2_metadata", "disk_setup", "etc_hosts", "final_message",
    "frequencies", "fs_setup", "groups", "group_members", "hostname", "keyboard", "locale", "lxd", "mounts",
    "network", "packages", "passwords", "phone_home", "platform_certificates", "post_password", "power_state",
    "precast", "reboot_if_required", "report_ready", "resolv_conf", "root_growth", "runcmd", "scripts",
    "scripts_after_runcmd", "scripts_boot", "scripts_instance", "scripts_once", "scripts_vendor", "snap",
    "timezone", "zypper",
}  # fmt: skip
# Modules that use the function of another row: the keys of a user; a file in a directory of the site's choice. The swap file of mounts has
# a test of its own beside those of boot's modules.
SAME_AS = {"ssh_import_id": "boot users", "yum_repos": "boot rsyslog"}


def test_every_module_of_boot_has_a_row() -> None:
    covered = {name.split()[1].rstrip(",") for name in ACTS if name.startswith("boot ")} | set(SAME_AS)
    assert covered | MODULES_WITHOUT_PATHS == {each.name for each in list_modules()}
    assert not covered & MODULES_WITHOUT_PATHS


def test_every_resource_type_has_a_row() -> None:
    covered = {name.partition(" ")[0].rstrip(",") for name in ACTS} - {"boot", "declared_config"}
    assert covered | set(WITHOUT_PATHS) == set(registry.names())
    assert not covered & set(WITHOUT_PATHS)
