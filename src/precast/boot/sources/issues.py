"""What can go wrong with a data source. Codes 100 to 149."""

from precast.base.errors import Issue, Kind

NO_ANSWER = Issue(
    "BOOT-100",
    Kind.UNAVAILABLE,
    "{url} does not answer: {reason}",
    "see `precast boot explain`; if the machine runs elsewhere, leave the source out (sources in boot.toml)",
)
TOO_LARGE = Issue(
    "BOOT-101",
    Kind.INPUT,
    "{where} is larger than {limit} bytes",
    "a data source is given no more than that; look who answers in its place",
)
REDIRECT = Issue(
    "BOOT-102",
    Kind.INPUT,
    "{url} answers with a redirect to {target}, which is not followed",
    "give the address itself: `addresses` in boot.toml, or seedfrom",
)
BAD_HTTP = Issue(
    "BOOT-103",
    Kind.INPUT,
    "{url} does not speak HTTP: {reason}",
    "look what listens there",
)
BAD_DOCUMENT = Issue(
    "BOOT-104",
    Kind.INPUT,
    "{where} cannot be read: {reason}",
    "correct it where the platform, or who made the image, wrote it",
)
WRONG_TYPE = Issue(
    "BOOT-105",
    Kind.INPUT,
    "{where} should be {wanted}, and is {got}",
    "correct it where the platform, or who made the image, wrote it",
)
BAD_PATH = Issue(
    "BOOT-106",
    Kind.INPUT,
    "{where} names the file {path}, which is not within its place",
    "a name in a data source is relative, without `..`; a target is absolute, without `..`",
)
BAD_ADDRESS = Issue(
    "BOOT-107",
    Kind.INPUT,
    "{url} is no address of a data source: {reason}",
    "give http://HOST[:PORT]/PATH or https://…",
)
LATE = Issue(
    "BOOT-108",
    Kind.UNAVAILABLE,
    "{source} had not answered after {seconds} s",
    "if the platform needs longer, give it more: `deadlines` in boot.toml",
)
CANNOT_MOUNT = Issue(
    "BOOT-109",
    Kind.UNAVAILABLE,
    "{device} cannot be mounted: {reason}",
    "only root can; an image of iso9660 or vfat needs no mounting",
)
UNREADABLE = Issue(
    "BOOT-110",
    Kind.UNAVAILABLE,
    "{path} cannot be read: {reason}",
    "check who may read it",
)
UNFIT = Issue(
    "BOOT-111",
    Kind.INTERNAL,
    "{source} failed with {problem}",
    "report it: this is a bug",
)
NOT_TOLD = Issue(
    "BOOT-112",
    Kind.UNAVAILABLE,
    "{url} was told {what}, and its status is {status}",
    "see the platform's own log; `precast boot run --retry` tells it again",
)
NO_PROGRAM = Issue(
    "BOOT-113",
    Kind.UNAVAILABLE,
    "{what} need the program {program}, and that {reason}",
    "install {program} in the image",
)
ABSENT_BEFORE = Issue(
    "BOOT-114",
    Kind.UNAVAILABLE,
    "{reason}, earlier in this boot",
    "`precast boot run` without --stage asks it again",
)
ANOTHER_NOW = Issue(
    "BOOT-115",
    Kind.CONFLICT,
    "{source} speaks of the instance {now}, and earlier in this boot it spoke of {before}",
    "boot the machine again; if that does not help, look who answers in its place",
)
HAS_PASSWORD = Issue(
    "BOOT-116",
    Kind.CONFLICT,
    "{url} has a password for this machine, and keeps the first that it was told",
    "if nobody knows that one, log in with a key and set another with passwd",
)
