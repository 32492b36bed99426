"""What can go wrong when modules are put in place."""

from precast.base.errors import Issue, Kind

NO_PUPPETFILE = Issue(
    "MODULE-020",
    Kind.NOT_FOUND,
    "{path} is not there",
    "write one line for each module: mod 'AUTHOR/NAME', :git => 'URL'",
)
NOT_READ = Issue("MODULE-034", Kind.INPUT, "{path} cannot be read: {reason}", "it is a text in UTF-8")
NO_GIT = Issue("MODULE-021", Kind.UNAVAILABLE, "git cannot be started: {reason}", "install git")
NOT_FETCHED = Issue(
    "MODULE-022",
    Kind.UNAVAILABLE,
    "module {name}: cannot fetch {url}: {reason}",
    "check the address and that you may read it; nothing was changed",
)
NO_REFERENCE = Issue(
    "MODULE-023",
    Kind.NOT_FOUND,
    "module {name}: {url} has no {kind} {reference}",
    "look at its tags and branches; nothing was changed",
)
NO_FORGE = Issue(
    "MODULE-024",
    Kind.INPUT,
    "module {name} comes from a forge, and none is at hand",
    "give --forge DIR with its tarball ({full_name}-VERSION.tar.gz), or take it with :git",
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
    "module {name}: {path} cannot be taken: {reason}",
    "make the tarball anew from a clean module; nothing was changed",
)
LEADS_OUT = Issue(
    "MODULE-027",
    Kind.DENIED,
    "module {name}: {path} leads out of it",
    "a module may hold links inside of itself only; nothing was changed",
)
PLACE_LEADS_OUT = Issue(
    "MODULE-028",
    Kind.DENIED,
    "{path} is a link or leads out of the environment",
    "make it a directory of the environment; nothing was changed",
)
CHANGED_HERE = Issue(
    "MODULE-029",
    Kind.CONFLICT,
    "module {name} in {path} was not put there from the Puppetfile, or was changed since",
    "save what you need, then run again with --force; or mark it :local => true",
)
NOT_LOCAL = Issue(
    "MODULE-030",
    Kind.NOT_FOUND,
    "module {name} is :local, and {path} is not there",
    "put it there, or say where it comes from",
)
BAD_LOCK = Issue(
    "MODULE-031", Kind.INPUT, "{path} cannot be read: {reason}", "take it from version control again, or remove it"
)
BUSY = Issue("MODULE-032", Kind.UNAVAILABLE, "modules of {path} are being installed already", "wait for it to end")
NOT_PLACED = Issue(
    "MODULE-033",
    Kind.UNAVAILABLE,
    "cannot put modules into {path}: {reason}",
    "check its rights and the space left, then run again: what is half done is repaired",
)
