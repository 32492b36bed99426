"""Errors of data sources. Codes 100 to 149."""

from precast.base.errors import Issue, Kind

NO_ANSWER = Issue(
    "BOOT-100",
    Kind.UNAVAILABLE,
    "{url} does not answer: {reason}",
    "see `precast boot explain`; if this is another platform, exclude the source (sources in boot.toml)",
)
TOO_LARGE = Issue(
    "BOOT-101",
    Kind.INPUT,
    "{where} is larger than {limit} bytes",
    "a data source may not send more; check which server answers at its address",
)
REDIRECT = Issue(
    "BOOT-102",
    Kind.INPUT,
    "{url} answers with a redirect to {target}, which is not followed",
    "configure the target's address: `addresses` in boot.toml, or seedfrom",
)
BAD_HTTP = Issue(
    "BOOT-103",
    Kind.INPUT,
    "{url} does not speak HTTP: {reason}",
    "check which server listens there",
)
BAD_DOCUMENT = Issue(
    "BOOT-104",
    Kind.INPUT,
    "{where} cannot be read: {reason}",
    "correct it in the platform's settings or in the image",
)
WRONG_TYPE = Issue(
    "BOOT-105",
    Kind.INPUT,
    "{where} should be {wanted}, but is {got}",
    "correct it in the platform's settings or in the image",
)
BAD_PATH = Issue(
    "BOOT-106",
    Kind.INPUT,
    "{where} names the file {path}, which is outside its directory",
    "a name in a data source is relative, without `..`; a target is absolute, without `..`",
)
BAD_ADDRESS = Issue(
    "BOOT-107",
    Kind.INPUT,
    "{url} is not a valid address of a data source: {reason}",
    "give http://HOST[:PORT]/PATH or https://…",
)
LATE = Issue(
    "BOOT-108",
    Kind.UNAVAILABLE,
    "{source} had not answered after {seconds} s",
    "if the platform needs longer, raise its deadline: `deadlines` in boot.toml",
)
CANNOT_MOUNT = Issue(
    "BOOT-109",
    Kind.UNAVAILABLE,
    "{device} cannot be mounted: {reason}",
    "run it as root; iso9660 and vfat images are read without mounting",
)
UNREADABLE = Issue(
    "BOOT-110",
    Kind.UNAVAILABLE,
    "{path} cannot be read: {reason}",
    "check its permissions",
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
    "{url} was sent {what}, and responded with status {status}",
    "see the platform's own log; `precast boot run --retry` sends it again",
)
NO_PROGRAM = Issue(
    "BOOT-113",
    Kind.UNAVAILABLE,
    "{what} need the program {program}, which {reason}",
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
    "{source} reports the instance {now}, but earlier in this boot it reported {before}",
    "reboot the machine; if that does not help, check which server answers at its address",
)
HAS_PASSWORD = Issue(
    "BOOT-116",
    Kind.CONFLICT,
    "{url} already has a password for this machine, and accepts only the first",
    "if that password is lost, log in with a key and set another with passwd",
)
