"""Modules that write system files: apt, repositories, ntp, time zone, locale, keyboard, certificates, resolv.conf, mounts."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.boot.modules import scratch


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = scratch.make_root(tmp_path)
    for name in ("apt/apt.conf.d", "default", "yum.repos.d", "zypp/repos.d", "systemd", "chrony"):
        (directory / "etc" / name).mkdir(parents=True)
    return directory


def run(root: Path, config: dict[str, Any], *only: str) -> scratch.ScratchRun:
    return scratch.run(config, root, only=only)


def read(root: Path, path: str) -> str:
    return (root / path.lstrip("/")).read_text()


def mode(root: Path, path: str) -> int:
    return (root / path.lstrip("/")).stat().st_mode & 0o777


def test_apt_sources_have_their_variables_substituted_and_their_keys(root: Path) -> None:
    config = {
        "apt": {
            "sources": {
                "own": {"source": "deb [signed-by=$KEY_FILE] $MIRROR $RELEASE main", "key": "-----BEGIN PGP-----"},
                "all.list": {
                    "source": "deb http://x/ $RELEASE main",
                    "key": "-----BEGIN PGP-----",
                    "filename": "other.list",
                },
                "ppa": {"source": "ppa:some/one"},
                "by-id": {"source": "deb http://y/ a b", "keyid": "F430 BBA5"},
            }
        }
    }
    ran = run(root, config, "apt")
    key = "/etc/apt/keyrings/precast-boot-own.asc"
    line = f"deb [signed-by={key}] http://deb.debian.org/debian bookworm main\n"
    assert read(root, "/etc/apt/sources.list.d/own.list") == line
    assert read(root, key).startswith("-----BEGIN PGP")
    assert read(root, "/etc/apt/sources.list.d/other.list") == "deb http://x/ bookworm main\n"
    assert (root / "etc/apt/trusted.gpg.d/precast-boot-all.asc").exists()
    # Each source that needs programs is reported.
    assert "add-apt-repository" in ran.errors["apt"].message
    assert "F430BBA5" in ran.errors["apt"].message


def test_apt_mirrors_suites_and_configuration(root: Path) -> None:
    (root / "etc/apt/sources.list").write_text("deb http://image/ x y\n")
    config: dict[str, Any] = {
        "apt": {
            "primary": [{"arches": ["default"], "uri": "http://mirror/debian"}],
            "disable_suites": ["updates"],
            "conf": 'A "b";',
            "http_proxy": "http://me:secret@proxy:1/",
            "https_proxy": "http://proxy:2/",
        },
        "apt_pipelining": False,
    }
    run(root, config, "apt")
    text = read(root, "/etc/apt/sources.list")
    assert "deb http://mirror/debian bookworm main\n" in text
    assert "# suite disabled by Precast: deb http://mirror/debian bookworm-updates" in text
    assert read(root, "/etc/apt/apt.conf.d/94precast-boot-config") == 'A "b";\n'
    assert mode(root, "/etc/apt/apt.conf.d/90precast-boot-proxy") == 0o600
    assert 'Pipeline-Depth "0"' in read(root, "/etc/apt/apt.conf.d/90precast-boot-pipelining")


def test_image_keeps_its_sources_unless_the_configuration_names_others(root: Path) -> None:
    (root / "etc/apt/sources.list").write_text("image\n")
    run(root, {"apt": {"sources": {"a": {"source": "deb http://x/ y z"}}}}, "apt")
    run(root, {"apt": {"preserve_sources_list": True, "sources_list": "mine"}}, "apt")
    assert read(root, "/etc/apt/sources.list") == "image\n"
    run(root, {"apt": {"sources_list": "deb $MIRROR $RELEASE main"}}, "apt")
    assert read(root, "/etc/apt/sources.list") == "deb http://deb.debian.org/debian bookworm main\n"


def test_older_keys_of_apt_are_still_read(root: Path) -> None:
    config = {"apt_sources": [{"source": "deb http://x/ y z"}], "apt_mirror": "http://m/", "apt_proxy": "http://p/"}
    run(root, config, "apt")
    assert read(root, "/etc/apt/sources.list.d/source-1.list") == "deb http://x/ y z\n"
    assert "deb http://m/ bookworm main" in read(root, "/etc/apt/sources.list")
    assert "http://p/" in read(root, "/etc/apt/apt.conf.d/90precast-boot-proxy")


def test_repositories_of_yum_and_zypper_are_written(root: Path) -> None:
    config = {
        "yum_repos": {
            "epel/x": {"baseurl": ["http://a", "http://b"], "enabled": False, "gpgcheck": True},
            "bad": {"name": "x"},
        },
        "zypper": {
            "repos": [{"id": "opensuse", "name": "n", "baseurl": "http://c"}, {"id": "no"}],
            "config": {"a": "b"},
        },
    }
    ran = run(root, config, "yum_repos", "zypper")
    text = read(root, "/etc/yum.repos.d/epel_x.repo")
    assert "[epel_x]\nname=epel/x\nbaseurl=http://a\n    http://b\nenabled=0\ngpgcheck=1\n" in text
    assert any("bad" in warning for warning in ran.warnings)
    assert "baseurl=http://c" in read(root, "/etc/zypp/repos.d/opensuse.repo")
    assert "a = b" in read(root, "/etc/zypp/zypp.conf")


@pytest.mark.parametrize(
    ("client", "path", "line"),
    [
        ("chrony", "/etc/chrony/chrony.conf", "pool p.example iburst"),
        ("ntp", "/etc/ntp.conf", "server s.example iburst"),
        ("systemd-timesyncd", "/etc/systemd/timesyncd.conf.d/cloud-init.conf", "NTP=s.example p.example"),
    ],
)
def test_time_servers_are_written_for_the_client(root: Path, client: str, path: str, line: str) -> None:
    run(root, {"ntp": {"ntp_client": client, "servers": ["s.example"], "pools": ["p.example"]}}, "ntp")
    assert line in read(root, path).splitlines()


def test_key_ntp_without_a_value_asks_for_the_default_servers(root: Path) -> None:
    run(root, {"ntp": None}, "ntp")
    assert "pool 0.debian.pool.ntp.org iburst" in read(root, "/etc/chrony/chrony.conf").splitlines()


def test_users_own_template_is_rendered(root: Path) -> None:
    template = "## template:jinja\n{% for name in servers %}\nserver {{ name }}\n{% endfor %}\n"
    own = {"template": template, "confpath": "/etc/mine.conf"}
    run(root, {"ntp": {"ntp_client": "ntp", "servers": ["a", "b"], "config": own}}, "ntp")
    assert read(root, "/etc/mine.conf") == "server a\nserver b\n\n"  # cloud-init adds the line break at the end too


def test_time_zone_locale_and_keyboard(root: Path) -> None:
    (root / "usr/share/zoneinfo/Europe").mkdir(parents=True)
    (root / "usr/share/zoneinfo/Europe/Berlin").touch()
    (root / "etc/locale.gen").write_text("# de_DE.UTF-8 UTF-8\n# x\n")
    config = {
        "timezone": "Europe/Berlin",
        "locale": "de_DE.UTF-8",
        "keyboard": {"layout": "de", "variant": "nodeadkeys"},
    }
    ran = run(root, config, "timezone", "locale", "keyboard")
    assert (root / "etc/localtime").readlink() == Path("/usr/share/zoneinfo/Europe/Berlin")
    assert read(root, "/etc/timezone") == "Europe/Berlin\n"
    assert read(root, "/etc/default/locale") == "LANG=de_DE.UTF-8\n"
    assert read(root, "/etc/locale.gen") == "de_DE.UTF-8 UTF-8\n# x\n"
    assert 'XKBLAYOUT="de"\nXKBVARIANT="nodeadkeys"\n' in read(root, "/etc/default/keyboard")
    assert any("locale-gen" in warning for warning in ran.warnings)
    again = run(root, {"timezone": "Mars/Base", "keyboard": {"layout": 'x"y'}}, "timezone", "keyboard")
    assert len(again.warnings) == 2
    assert read(root, "/etc/timezone") == "Europe/Berlin\n"


def test_certificates_are_written_and_defaults_disabled(root: Path) -> None:
    (root / "etc/ca-certificates.conf").write_text("# c\nmozilla/a.crt\n!mozilla/b.crt\n")
    ran = run(root, {"ca_certs": {"trusted": ["-----BEGIN A", "-----BEGIN B"], "remove_defaults": True}}, "ca_certs")
    assert read(root, "/usr/local/share/ca-certificates/precast-boot-2.crt") == "-----BEGIN B\n"
    assert read(root, "/etc/ca-certificates.conf") == "# c\n!mozilla/a.crt\n!mozilla/b.crt\n"
    assert any("update-ca-certificates" in warning for warning in ran.warnings)


def test_resolv_conf_is_written_only_if_it_is_to_be_managed(root: Path) -> None:
    given = {"nameservers": ["192.0.2.1"], "searchdomains": ["a", "b"], "options": {"rotate": True, "timeout": 1}}
    run(root, {"resolv_conf": given}, "resolv_conf")
    assert not (root / "etc/resolv.conf").exists()
    run(root, {"resolv_conf": given, "manage_resolv_conf": True}, "resolv_conf")
    text = "search a b\nnameserver 192.0.2.1\noptions rotate timeout:1\n"
    assert read(root, "/etc/resolv.conf").endswith(text)


def test_lines_of_fstab_are_replaced_and_others_stay(root: Path) -> None:
    (root / "etc/fstab").write_text("# mine\nUUID=1 / ext4 defaults 0 1\n/dev/sdx /gone ext4 defaults 0 0\n")
    config: dict[str, Any] = {
        "mounts": [
            ["ephemeral0", "/mnt/a b", None, "noexec"], ["sdx", None], ["LABEL=x", "/x", "auto", "defaults", "0", "0"],
            ["sdc"], "a b c d e f g",
        ],
        "device_aliases": {"ephemeral0": "/dev/vdb"},
        "mount_default_fields": [None, None, "xfs", "defaults", "0", "2"],
    }  # fmt: skip
    for _ in range(2):
        ran = run(root, config, "mounts")
    assert read(root, "/etc/fstab") == (
        "# mine\nUUID=1 / ext4 defaults 0 1\n/dev/sdx /gone ext4 defaults 0 0\n"
        "/dev/vdb\t/mnt/a\\040b\txfs\tnoexec,x-precast-boot\t0\t2\n"
        "LABEL=x\t/x\tauto\tdefaults,x-precast-boot\t0\t0\n"
    )
    assert ran.outcomes["mounts"].changes == []
    assert (root / "mnt/a b").is_dir()
    # A line that cannot be written is a failure, not a silent omission.
    assert "line 5 of mounts is not a list of up to six fields, so it is not written" in ran.errors["mounts"].message


def test_share_of_another_machine_waits_for_the_network_by_default(root: Path) -> None:
    run(root, {"mounts": [["nas:/export", "/a"], ["//nas/b", "/b", "cifs"], ["sdb", "/c"]]}, "mounts")
    options = [line.split("\t")[3] for line in read(root, "/etc/fstab").splitlines()]
    assert options == ["defaults,nofail,_netdev,x-precast-boot"] * 2 + ["defaults,nofail,x-precast-boot"]


def test_seed_is_written_to_its_file(root: Path) -> None:
    run(
        root,
        {"random_seed": {"file": "/var/seed", "data": "aGk=", "encoding": "base64", "command": ["none-such"]}},
        "random_seed",
    )
    assert (read(root, "/var/seed"), mode(root, "/var/seed")) == ("hi", 0o600)


def test_root_is_neither_shut_down_nor_grown(root: Path) -> None:
    config = {"power_state": {"mode": "poweroff"}, "package_reboot_if_required": True}
    ran = run(root, config, "power_state", "root_growth", "reboot_if_required")
    assert all(outcome.not_run or outcome.remark for outcome in ran.outcomes.values())
    assert not any(outcome.changes for outcome in ran.outcomes.values())
    assert ran.errors == {}


def test_remotes_of_rsyslog_are_sorted_by_name(root: Path) -> None:
    scratch.run({"rsyslog": {"remotes": {"zulu": "192.0.2.1", "alpha": "192.0.2.2"}}}, root, only=("rsyslog",))
    lines = read(root, "/etc/rsyslog.d/20-cloud-config.conf").splitlines()
    assert [line for line in lines if "@" in line] == ["*.* @192.0.2.2 # alpha", "*.* @192.0.2.1 # zulu"]


def test_time_servers_come_from_the_template_of_the_image(root: Path) -> None:
    (root / "etc/cloud/templates").mkdir(parents=True)
    template = "## template:jinja\n{% for pool in pools -%}\npool {{pool}} mine\n{% endfor %}\nrtcsync\n"
    (root / "etc/cloud/templates/chrony.conf.debian.tmpl").write_text(template)
    scratch.run({"ntp": {"ntp_client": "chrony", "pools": ["p.example"]}}, root, only=("ntp",))
    assert read(root, "/etc/chrony/chrony.conf") == "pool p.example mine\nrtcsync\n"
