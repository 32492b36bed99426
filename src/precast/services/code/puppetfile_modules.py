"""Completes a directory before it is deployed as an environment: the modules that its Puppetfile names must be in it."""

from pathlib import Path

from precast.base.spans import Source
from precast.lang.ruby.declarations.puppetfile import read_puppetfile
from precast.services.code import issues
from precast.services.code.git_sources import check_remote
from precast.services.code.modules.git import GitRepositories
from precast.services.code.modules.installation import ModuleInstallation
from precast.services.code.modules.tarballs import Tarballs

PUPPETFILE = "Puppetfile"


def check_modules(place: Path) -> None:
    """Raises InputError ENV-023 if the Puppetfile names modules and none are installed. The directory of a user is never changed."""
    if not (place / PUPPETFILE).is_file():
        return
    roots = [path for path in place.glob("*modules") if path.is_dir()]
    if not any(next(root.iterdir(), None) for root in roots):
        raise issues.MODULES_MISSING.error(place=place)


def install_modules(place: Path, cache: Path, *, is_remote_only: bool) -> int:
    """Install the modules of a temporary directory; returns how many. It waits for the network, so it runs in a thread.

    With `is_remote_only`, as on a server, only repositories on the network are allowed: a person who may push to a repository must
    not be able to read files of the server. Raises what reading a Puppetfile and installing raise, InputError ENV-020.
    """
    path = place / PUPPETFILE
    if not path.is_file():
        return 0
    try:
        puppetfile = read_puppetfile(Source(PUPPETFILE, path.read_text(encoding="utf-8")))
    except UnicodeDecodeError:
        raise issues.BAD_TREE.error(reason="the Puppetfile is not UTF-8 text") from None
    for module in puppetfile.modules:
        if is_remote_only and module.origin == "git":
            check_remote(module.url)
    ModuleInstallation(place, GitRepositories(cache, place.resolve()), Tarballs(None)).run(puppetfile)
    return len(puppetfile.modules)
