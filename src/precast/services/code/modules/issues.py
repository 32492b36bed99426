"""Issues of installing the modules of a Puppetfile."""

from precast.base.errors import Issue, Kind

NO_PUPPETFILE = Issue(
    "MODULE-020",
    Kind.NOT_FOUND,
    "{path} does not exist",
    "write one line for each module: mod 'AUTHOR/NAME', :git => 'URL'",
)
NO_GIT = Issue("MODULE-021", Kind.UNAVAILABLE, "git cannot be started: {reason}", "install git")
NOT_FETCHED = Issue(
    "MODULE-022",
    Kind.UNAVAILABLE,
    "module {name}: cannot fetch {url}: {reason}",
    "check the address and your access to it; nothing was changed",
)
NO_REFERENCE = Issue(
    "MODULE-023",
    Kind.NOT_FOUND,
    "module {name}: {url} has no {kind} {reference}",
    "check its tags and branches; nothing was changed",
)
NO_FORGE = Issue(
    "MODULE-024",
    Kind.INPUT,
    "module {name} comes from a forge, but no forge directory is given",
    "give --forge DIR with its tarball ({full_name}-VERSION.tar.gz), or name a repository with :git",
)
NOT_ON_FORGE = Issue(
    "MODULE-025",
    Kind.NOT_FOUND,
    "module {name}: {place} has no {full_name} {version}",
    "put {full_name}-VERSION.tar.gz there; nothing was changed",
)
BAD_TARBALL = Issue(
    "MODULE-026",
    Kind.INPUT,
    "module {name}: {path} is not a usable tarball: {reason}",
    "build the tarball again from a clean module; nothing was changed",
)
LINK_ESCAPES_MODULE = Issue(
    "MODULE-027",
    Kind.DENIED,
    "module {name}: {path} points outside the module",
    "the links of a module may only point inside the module; nothing was changed",
)
PATH_ESCAPES_ENVIRONMENT = Issue(
    "MODULE-028",
    Kind.DENIED,
    "{path} is a link or lies outside the environment",
    "make it a directory of the environment; nothing was changed",
)
LOCAL_CHANGES = Issue(
    "MODULE-029",
    Kind.CONFLICT,
    "module {name} in {path} was not installed from the Puppetfile, or was changed since",
    "save what you need, then run again with --force; or mark it :local => true",
)
LOCAL_MODULE_MISSING = Issue(
    "MODULE-030",
    Kind.NOT_FOUND,
    "module {name} is :local, but {path} does not exist",
    "put the module there, or state its source in the Puppetfile",
)
BAD_LOCK = Issue(
    "MODULE-031", Kind.INPUT, "{path} cannot be read: {reason}", "restore it from version control, or remove it"
)
INSTALLATION_RUNNING = Issue(
    "MODULE-032",
    Kind.UNAVAILABLE,
    "another process is installing the modules of {path}",
    "wait until it has finished",
)
CANNOT_INSTALL = Issue(
    "MODULE-033",
    Kind.UNAVAILABLE,
    "cannot install modules in {path}: {reason}",
    "check its permissions and the free disk space, then run again: that repairs an incomplete installation",
)
PUPPETFILE_UNREADABLE = Issue(
    "MODULE-034", Kind.INPUT, "{path} cannot be read: {reason}", "the file must be UTF-8 text"
)
