"""No code of `resources` and `boot` opens or examines a file by its path, except through the walk of `safe_paths` and `safe_reads`.

A path that a user can influence leads wherever that user wants. The files listed here work only below directories that no other user can
change, and the reason is given for each.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from precast import __file__ as package

SOURCE = Path(package).parent
OF_PATHS = frozenset(
    [
        "chmod",
        "exists",
        "glob",
        "hardlink_to",
        "is_dir",
        "is_file",
        "is_symlink",
        "iterdir",
        "lstat",
        "mkdir",
        "open",
        "read_bytes",
        "read_text",
        "readlink",
        "rglob",
        "rmdir",
        "samefile",
        "stat",
        "symlink_to",
        "touch",
        "unlink",
        "write_bytes",
        "write_text",
    ]
)
OF_OS = frozenset(
    [
        "access",
        "chmod",
        "chown",
        "lchown",
        "link",
        "listdir",
        "lstat",
        "makedirs",
        "mkdir",
        "open",
        "readlink",
        "remove",
        "rename",
        "replace",
        "rmdir",
        "scandir",
        "stat",
        "symlink",
        "truncate",
        "unlink",
        "utime",
        "walk",
    ]
)
# Objects whose methods of these names go through the walk, or read no file.
SAFE_OBJECTS = frozenset({"context", "documents", "network", "safe_reads", "self", "source", "_source", "opener"})

STATE = "the state directory, which only root may enter (0700)"
SYSTEM = "files of the system below directories of root"
DEVICE = "a device or an image that the source names, not a managed file"
KERNEL = "files of the kernel in /proc and /sys"
WALK = "the walk itself"
ALLOWED = {
    "boot/assembly.py": SYSTEM,
    "boot/modules/enrolment.py": STATE,
    "boot/modules/passwords.py": STATE,
    "boot/modules/platform_credentials.py": STATE,
    "boot/modules/random_seed.py": "the device /dev/urandom",
    "boot/modules/root_growth.py": KERNEL,
    "boot/modules/ssh.py": STATE,
    "boot/network/devices/links.py": KERNEL,
    "boot/network/devices/temporary_network.py": KERNEL,
    "boot/sources/answer_cache.py": STATE,
    "boot/sources/azure_fabric.py": "a temporary directory of its own (0700)",
    "boot/sources/fat.py": DEVICE,
    "boot/sources/iso9660.py": DEVICE,
    "boot/sources/labels.py": DEVICE,
    "boot/state.py": STATE,
    "boot/userdata/reader.py": STATE,
    "resources/bridge/installation.py": "the packages and gems of the system's own Puppet, whose code root runs anyway",
    "resources/bridge/library.py": STATE,
    "resources/commands.py": "looks for programs; whoever may change the search path is trusted",
    "resources/contents.py": "the agent's cache, or the environment whose code root applies; each file is checked by its digest",
    "resources/filebucket.py": STATE,
    "resources/files/owners.py": "the system's own /etc/passwd, /etc/group and /etc/nsswitch.conf",
    "resources/files/permissions.py": "changes an entry through its open handle",
    "resources/files/remote.py": "an unnamed temporary file, through its open handle",
    "resources/files/safe_paths.py": WALK,
    "resources/files/safe_reads.py": WALK,
    "resources/files/validation.py": "a temporary directory of its own (0700)",
    "resources/package/debian.py": SYSTEM,
    "resources/service/handler.py": KERNEL,
    "resources/service/init_systems.py": SYSTEM,
    "resources/service/scripts.py": SYSTEM,
}


def find_calls(path: Path) -> Iterator[tuple[int, str]]:
    """The calls that open or examine a file by its path, with their lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and (name := _name_of(node)):
            yield node.lineno, name


def _name_of(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Name):
        return "open" if function.id == "open" else ""
    if not isinstance(function, ast.Attribute):
        return ""
    owner = function.value
    owner_name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
    if owner_name == "os":
        is_relative = any(word.arg in ("dir_fd", "src_dir_fd") for word in call.keywords)
        return f"os.{function.attr}" if function.attr in OF_OS and not is_relative else ""
    if owner_name == "path" and isinstance(owner, ast.Attribute):
        return f"os.path.{function.attr}" if function.attr in ("exists", "isdir", "isfile", "islink", "lexists") else ""
    if owner_name in SAFE_OBJECTS or function.attr not in OF_PATHS:
        return ""
    return f".{function.attr}"


MODULES = sorted(path for room in ("resources", "boot") for path in (SOURCE / room).rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_managed_paths_are_opened_only_by_the_walk(path: Path) -> None:
    if str(path.relative_to(SOURCE)) not in ALLOWED:
        assert list(find_calls(path)) == [], "use safe_reads (or, in a module of boot, its context)"


def test_every_exception_is_still_needed() -> None:
    assert [name for name in ALLOWED if not list(find_calls(SOURCE / name))] == []


def test_plain_reads_are_found(tmp_path: Path) -> None:
    """The search itself: each of these would follow a user's link."""
    module = tmp_path / "module.py"
    lines = ["open(p)", "Path(p).read_text()", "os.open(p, 0)", "os.stat(p)", "Path(p).exists()", "os.path.exists(p)"]
    module.write_text("\n".join([*lines, "os.open(n, 0, dir_fd=d)", "safe_reads.exists(q, p)"]))
    assert [line for line, _ in find_calls(module)] == [1, 2, 3, 4, 5, 6]
