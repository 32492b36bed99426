"""Completes a directory before it is deployed as an environment: the modules that its Puppetfile names must be in it."""

from pathlib import Path

from precast.base.spans import Source
from precast.lang.ruby.declarations.puppetfile import read_puppetfile
from precast.services.code import issues
from precast.services.code.git_program import Git
from precast.services.code.modules.git import GitRepositories
from precast.services.code.modules.installation import ModuleInstallation
from precast.services.code.modules.tarballs import Tarballs

PUPPETFILE = "Puppetfile"
MAX_PUPPETFILE_BYTES = 1024 * 1024
MAX_MODULES = 1_000


def check_modules(place: Path) -> None:
    """Raises InputError ENV-023 if the Puppetfile names modules and none are installed. The directory of a user is never changed."""
    if not (place / PUPPETFILE).is_file():
        return
    roots = [path for path in place.glob("*modules") if path.is_dir()]
    if not any(next(root.iterdir(), None) for root in roots):
        raise issues.MODULES_MISSING.error(place=place)


def install_modules(place: Path, cache: Path, git: Git) -> int:
    """Install the modules of a temporary directory; returns how many. It evaluates the Puppetfile, and waits for the network.

    Raises what reading a Puppetfile and installing raise, InputError ENV-020.
    """
    path = place / PUPPETFILE
    if not path.is_file() or path.is_symlink():
        return 0
    if path.stat().st_size > MAX_PUPPETFILE_BYTES:
        raise issues.BAD_TREE.error(reason=f"the Puppetfile has more than {MAX_PUPPETFILE_BYTES} bytes")
    try:
        puppetfile = read_puppetfile(Source(PUPPETFILE, path.read_text(encoding="utf-8")))
    except UnicodeDecodeError:
        raise issues.BAD_TREE.error(reason="the Puppetfile is not UTF-8 text") from None
    if len(puppetfile.modules) > MAX_MODULES:
        raise issues.BAD_TREE.error(reason=f"the Puppetfile names more than {MAX_MODULES} modules")
    ModuleInstallation(place, GitRepositories(git, cache, place.resolve()), Tarballs(None)).run(puppetfile)
    return len(puppetfile.modules)
