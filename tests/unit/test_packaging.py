"""Files that a package installs beside the program: systemd units, the man page, log rotation."""

import itertools
import re
import subprocess
from pathlib import Path

import pytest

from precast.agent.settings import AgentSettings
from precast.base.settings import declared
from precast.cli.main import build_parser

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
STAGES = ["local", "network", "config", "final"]
# The exposure in tenths that `systemd-analyze security` may find at most. Agent and boot manage the whole machine as root.
EXPOSURES = {
    "precast-server.service": 12,
    "precast-signer.service": 5,
    "precast-agent.service": 95,
    **{f"precast-boot-{stage}.service": 95 for stage in STAGES},
}
UNITS = list(EXPOSURES)
MAN = PACKAGING / "man" / "precast-agent.8"


def run(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize("name", UNITS)
def test_unit_is_what_systemd_takes(tmp_path: Path, name: str) -> None:
    unit = tmp_path / name
    # Only the path of the program is replaced, because it is not installed here.
    unit.write_text((PACKAGING / "systemd" / name).read_text().replace("/usr/bin/precast ", "/bin/true "))
    done = run("systemd-analyze", "verify", "--man=no", unit)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize(("name", "tenths"), EXPOSURES.items())
def test_unit_exposes_no_more_than_it_needs(name: str, tenths: int) -> None:
    unit = PACKAGING / "systemd" / name
    done = run("systemd-analyze", "security", "--offline=true", f"--threshold={tenths}", "--no-pager", unit)
    assert done.returncode == 0, done.stdout.splitlines()[-1]


def test_units_run_as_users_that_the_package_creates() -> None:
    users = re.findall(r"^u +(\S+)", (PACKAGING / "sysusers.d/precast.conf").read_text(), re.MULTILINE)
    for name in UNITS:
        for user in re.findall(r"^(?:User|Group)=(.+)$", (PACKAGING / "systemd" / name).read_text(), re.MULTILINE):
            assert user in users, name


@pytest.mark.needs("systemd-sysusers")
def test_users_of_the_package_can_be_created(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    done = run("systemd-sysusers", f"--root={tmp_path}", PACKAGING / "sysusers.d/precast.conf")
    assert done.returncode == 0, done.stderr
    created = {line.split(":")[0]: line.split(":") for line in (tmp_path / "etc/passwd").read_text().splitlines()}
    assert set(created) == {"precast", "precast-agent", "precast-signer"}
    assert all(fields[6].endswith("nologin") for fields in created.values())
    groups = (tmp_path / "etc/group").read_text().splitlines()
    assert next(line for line in groups if line.startswith("precast:")).endswith(":precast-signer")


@pytest.mark.needs("systemd-tmpfiles")
def test_directories_of_the_package_can_be_created(tmp_path: Path) -> None:
    done = run("systemd-tmpfiles", "--create", f"--root={tmp_path}", PACKAGING / "tmpfiles.d/precast.conf")
    assert (done.returncode, done.stderr) == (0, "")
    assert oct((tmp_path / "var/lib/precast").stat().st_mode) == "0o40755"


@pytest.mark.parametrize("name", UNITS)
def test_unit_starts_a_command_that_exists(name: str) -> None:
    found = re.search(r"^ExecStart=/usr/bin/precast (.+)$", (PACKAGING / "systemd" / name).read_text(), re.MULTILINE)
    assert found is not None
    words = found[1].split()
    assert callable(build_parser(words[:1]).parse_args(words).run)


@pytest.mark.needs("systemd-analyze")
def test_stages_of_a_boot_come_one_after_the_other(tmp_path: Path) -> None:
    """Loaded together with the target that wants them: systemd finds an order, and no cycle in it."""
    names = [name for name in UNITS if "-boot-" in name]
    for name in (*names, "precast-boot.target"):
        text = (PACKAGING / "systemd" / name).read_text().replace("/usr/bin/precast ", "/bin/true ")
        wants = "".join(f"Wants={unit}\n" for unit in names)
        (tmp_path / name).write_text(text + (wants if name.endswith(".target") else ""))
    done = run("systemd-analyze", "verify", "--man=no", *(tmp_path / name for name in ("precast-boot.target", *names)))
    assert (done.returncode, done.stderr) == (0, "")
    for before, after in itertools.pairwise(names):
        (ordered,) = re.findall(rf"^After=.*{re.escape(before)}.*$", (tmp_path / after).read_text(), re.MULTILINE)
        assert ordered


def generated(tmp_path: Path, **files: str) -> bool:
    """Whether the generator wants the boot below a root with these files (a _ is a slash, two are a dash)."""
    root, normal = tmp_path / "root", tmp_path / "normal"
    normal.mkdir()
    for name, text in files.items():
        path = root / name.replace("__", "-").replace("_", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    generator = PACKAGING / "systemd" / "precast-boot-generator"
    done = run("env", f"PRECAST_BOOT_ROOT={root}", "sh", generator, normal, normal, normal)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    link = normal / "multi-user.target.wants" / "precast-boot.target"
    return link.is_symlink()


@pytest.mark.parametrize(
    ("files", "is_wanted"),
    [
        ({}, False),
        ({"proc_cmdline": "ro quiet"}, False),
        ({"proc_cmdline": "ro precast.boot=enabled quiet"}, True),
        ({"var_lib_cloud_seed_nocloud_meta__data": "instance-id: i\n"}, True),
        ({"var_lib_cloud_seed_nocloud_meta__data": "x", "etc_precast_boot.disabled": ""}, False),
        ({"var_lib_cloud_seed_nocloud_meta__data": "x", "proc_cmdline": "precast.boot=disabled"}, False),
        ({"etc_precast_boot.disabled": "", "proc_cmdline": "precast.boot=enabled"}, True),
        ({"proc_cmdline": "root=/dev/sda1 ds=nocloud;s=http://192.0.2.1/"}, True),
        ({"etc_precast_boot.toml": 'sources = ["ec2"]\n'}, True),
        ({"etc_precast_boot.toml": "# nothing\n"}, False),
        ({"dev_disk_by__label_cidata": ""}, True),
    ],
)
def test_generator_wants_the_boot_only_where_something_names_data(
    tmp_path: Path, files: dict[str, str], is_wanted: bool
) -> None:
    assert generated(tmp_path, **files) is is_wanted


@pytest.mark.parametrize(
    ("name", "text", "is_wanted"),
    [
        ("sys_vendor", "Amazon EC2", True),
        ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", True),
        ("chassis_asset_tag", "OracleCloud.com", True),
        ("product_name", "Google Compute Engine", True),
        ("product_name", "OpenStack Nova", True),
        ("sys_vendor", "Hetzner", True),
        ("product_serial", "ds=nocloud;s=http://192.0.2.1/", True),
        ("sys_vendor", "LENOVO", False),
        ("sys_vendor", "QEMU", False),
    ],
)
def test_generator_knows_clouds_by_their_firmware(tmp_path: Path, name: str, text: str, is_wanted: bool) -> None:
    place = tmp_path / "root/sys/class/dmi/id"
    place.mkdir(parents=True)
    (place / name).write_text(f"{text}\n")
    assert generated(tmp_path) is is_wanted


@pytest.mark.needs("groff")
def test_man_page_has_no_mistakes() -> None:
    done = run("groff", "-man", "-ww", "-z", MAN)
    assert (done.returncode, done.stderr) == (0, "")


def test_man_page_names_every_command_and_only_options_that_exist() -> None:
    text = MAN.read_text().replace("\\-", "-")
    for command in ("run", "status", "enrol", "renew", "facts"):
        assert re.search(rf"^\.B {command}$", text, re.MULTILINE), command
    known = {one.flag for one in declared(AgentSettings)} | {"--config", "--root", "--json", "--help", "--now"}
    known |= {"--token", "--name", "--if-due", "--spool"}
    assert set(re.findall(r"--[a-z][a-z-]+", text)) <= known


@pytest.mark.needs("logrotate")
def test_rotation_is_what_logrotate_takes() -> None:
    done = run("logrotate", "--debug", PACKAGING / "logrotate" / "precast")
    assert done.returncode == 0, done.stderr
