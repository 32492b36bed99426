"""What has to be in a directory before it is the code of an environment: the modules that its Puppetfile names."""

from pathlib import Path

from precast.base.spans import Source
from precast.lang.ruby.code.puppetfile import read_puppetfile
from precast.services.code import issues as issues
from precast.services.code.git_sources import check_remote
from precast.services.code.modules.git import Repositories
from precast.services.code.modules.installation import Installation
from precast.services.code.modules.tarballs import Tarballs

PUPPETFILE = "Puppetfile"


def check_modules(place: Path) -> None:
    """Raises InputError ENV-023 if modules are named and none are there: what is somebody's own directory is not changed."""
    if not (place / PUPPETFILE).is_file():
        return
    roots = [one for one in place.glob("*modules") if one.is_dir()]
    if not any(next(root.iterdir(), None) for root in roots):
        raise issues.MODULES_MISSING.error(place=place)


def install_modules(place: Path, cache: Path, *, is_remote_only: bool) -> int:
    """Put the modules of a directory that is ours in place; how many. It waits for the network: for a thread.

    On a server only what comes over the network is taken: whoever may push to a repository may not read what lies on the server.
    Raises what reading a Puppetfile and installing raise, InputError ENV-020.
    """
    path = place / PUPPETFILE
    if not path.is_file():
        return 0
    try:
        puppetfile = read_puppetfile(Source(PUPPETFILE, path.read_text(encoding="utf-8")))
    except UnicodeDecodeError:
        raise issues.BAD_TREE.error(reason="the Puppetfile is no text in UTF-8") from None
    for module in puppetfile.modules:
        if is_remote_only and module.origin == "git":
            check_remote(module.url)
    Installation(place, Repositories(cache, place.resolve()), Tarballs(None)).run(puppetfile)
    return len(puppetfile.modules)
