"""Real runs of dnf, zypper and pip on a copy of this machine, with a repository built by the test. (apt: tests/differential/apply.)"""

import json
import sys
import zipfile
from pathlib import Path

import pytest

from lab.overlay import OverlayRoot, why_not

_NOT_HERE = why_not()
pytestmark = [
    pytest.mark.skipif(_NOT_HERE is not None, reason=_NOT_HERE or ""),
    pytest.mark.timeout(300),
]

SPEC = """\
Name: {name}
Version: {version}
Release: 1
Summary: a package for tests
License: none
BuildArch: noarch
%description
A package for tests.
%files
"""
REPOSITORY = "[tiny]\nname=tiny\nbaseurl=file:///root/repository\ngpgcheck=0\nenabled=1\n"
BUILD = """
set -e
for spec in /root/*.spec; do
    rpmbuild -bb --quiet --define '_topdir /root/build' --define '_rpmdir /root/repository' $spec
done
createrepo_c -q /root/repository
"""


@pytest.fixture
def root(tmp_path: Path) -> OverlayRoot:
    tmp_path.chmod(0o755)
    return OverlayRoot(tmp_path)


def steps(root: OverlayRoot, provider: str, name: str, values: list[str], more: str = "") -> list[str]:
    """Apply a package resource with each of these values, one after the other. Returns the messages of each run."""
    precast = f"{sys.executable} -m precast apply --json"
    script = ""
    for at, ensure in enumerate(values):
        root.write(f"/root/{at}.pp", f"package {{ '{name}': ensure => '{ensure}', provider => {provider}{more} }}\n")
        script += f"{precast} /root/{at}.pp > /root/{at}.json;"
    output = root.run(["sh", "-c", script], timeout_s=250).stdout
    messages = []
    for at in range(len(values)):
        text = root.read(f"/root/{at}.json")
        assert text, output
        events = [event for resource in json.loads(text)["resources"] for event in resource.get("events", ())]
        messages.append("; ".join(event["message"] for event in events))
    return messages


@pytest.mark.needs("rpmbuild")
@pytest.mark.needs("createrepo_c")
@pytest.mark.parametrize("provider", [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("dnf", "zypper")])
def test_rpm_packages_are_installed_changed_and_removed(root: OverlayRoot, provider: str) -> None:
    for name, version in (("pc-rpm", "1.0"), ("pc-rpm", "1.1"), ("pc-other", "1.0")):
        root.write(f"/root/{name}-{version}.spec", SPEC.format(name=name, version=version))
    # Debian's rpm has its database in root's home, where dnf and zypper do not look for it.
    root.write("/etc/rpm/macros", "%_dbpath /var/lib/rpm\n")
    for place in ("/etc/yum.repos.d", "/etc/zypp/repos.d"):
        root.write(f"{place}/tiny.repo", REPOSITORY)
    built = root.run(["sh", "-c", BUILD])
    assert built.returncode == 0, built.stdout
    assert steps(root, provider, "pc-other", ["present"]) == ["created"]
    values = ["1.0", "1.0-1", "latest", "latest", "1.0-1", ">=1.1 <2", "absent", "absent", "latest", "absent"]
    assert steps(root, provider, "pc-rpm", values) == [
        "created",
        "",
        "ensure changed '1.0-1' to '1.1-1'",
        "",
        "ensure changed '1.1-1' to '1.0-1'",
        "ensure changed '1.0-1' to '1.1-1'",
        "removed",
        "",
        "created",
        "removed",
    ]
    (failed,) = steps(root, provider, "pc-none", ["present"])
    assert failed.startswith("change from 'absent' to 'present' failed: ")


def test_python_packages_are_installed_changed_and_removed(root: OverlayRoot) -> None:
    for version in ("1.0", "1.1"):
        _wheel(root.written("/root/wheels"), "pc_wheel", version)
    made = root.run([sys.executable, "-m", "venv", "/opt/tiny"])
    assert made.returncode == 0, made.stdout
    root.write("/opt/tiny/pip.conf", "[global]\nno-index = true\nfind-links = /root/wheels\n")
    values = ["1.0", "present", "latest", "latest", "1.0", "absent", "absent"]
    assert steps(root, "pip", "PC.wheel", values, ", command => '/opt/tiny/bin/pip'") == [
        "created",
        "",
        "ensure changed '1.0' to '1.1'",
        "",
        "ensure changed '1.1' to '1.0'",
        "removed",
        "",
    ]


def _wheel(place: Path, name: str, version: str) -> None:
    """Write the smallest package that pip can install."""
    place.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(place / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(path, text)
