"""sysctl and sysctl_runtime: the file of kernel parameters, and their values now."""

from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import InputError, NotFoundError, UnavailableError
from precast.resources.contract import DesiredResource
from precast.resources.sysctl_runtime import SysctlRuntime
from tests.unit.resources.applied_resource import apply_resource, handler, machine
from tests.unit.resources.recorded import RecordedMachine

TEXT = "# first\nvm.swappiness = 60\n\n#kernel.sysrq=1\nkernel.x=a=b\nvm.swappiness = 50\n"


@pytest.mark.parametrize(
    ("title", "given", "after"),
    [
        ("vm.swappiness", {"val": "50"}, TEXT),
        ("vm.swappiness", {"val": 10}, TEXT.replace("vm.swappiness = 50", "vm.swappiness=10")),
        ("kernel.x", {"val": "a=b"}, TEXT),
        ("kernel.sysrq", {"val": "1"}, TEXT + "kernel.sysrq=1\n"),
        ("vm.swappiness", {"ensure": "absent"}, "# first\n\n#kernel.sysrq=1\nkernel.x=a=b\n"),
    ],
)
def test_parameter_is_written(tmp_path: Path, title: str, given: dict[str, Any], after: str) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/sysctl.conf").write_text(TEXT)
    messages = apply_resource(machine(tmp_path), "sysctl", title, **given)
    assert (tmp_path / "etc/sysctl.conf").read_text() == after
    assert bool(messages) == (after != TEXT)


@pytest.mark.parametrize(("title", "value"), [("two words", "1"), ("a=b", "1"), ("a", "1\nb=2"), ("#a", "1")])
def test_invalid_parameter_fails_when_it_is_made(tmp_path: Path, title: str, value: str) -> None:
    with pytest.raises(InputError):
        handler(machine(tmp_path), "sysctl", title, val=value)


class RunningMachine(RecordedMachine):
    """The machine itself: its root is not another one."""

    def __init__(self, root: Path, answers: dict[str, tuple[int, str]]) -> None:
        super().__init__(root, answers)
        self.root = ""


def runtime(tmp_path: Path, **given: Any) -> tuple[SysctlRuntime, RunningMachine]:
    answers = {
        "sysctl -n vm.swappiness": (0, "60\n"),
        "sysctl -n vm.none": (255, "cannot stat\n"),
        "sysctl vm.swappiness=no": (255, "invalid argument\n"),
    }
    node = RunningMachine(tmp_path, answers)
    return SysctlRuntime(DesiredResource("sysctl_runtime", given.pop("name", "vm.swappiness"), given), node), node


def test_value_is_set_in_the_kernel(tmp_path: Path) -> None:
    made, node = runtime(tmp_path, val=10)
    (change,) = made.compare(made.read())
    assert change.message == "val changed '60' to '10'"
    made.apply(change)
    assert node.ran[-1] == "sysctl vm.swappiness=10"


def test_value_that_is_set_already_is_in_sync(tmp_path: Path) -> None:
    made, _ = runtime(tmp_path, val="60")
    assert made.compare(made.read()) == ()


def test_what_the_kernel_refuses_fails(tmp_path: Path) -> None:
    made, _ = runtime(tmp_path, val="no")
    (change,) = made.compare(made.read())
    with pytest.raises(UnavailableError, match="invalid argument"):
        made.apply(change)
    made, _ = runtime(tmp_path, name="vm.none", val="1")
    with pytest.raises(NotFoundError, match=r"no parameter vm\.none"):
        made.read()


def test_kernel_of_another_root_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="below"):
        handler(machine(tmp_path), "sysctl_runtime", "vm.swappiness", val="1")
