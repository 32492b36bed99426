"""What can go wrong while a config module runs. Codes 200 to 249."""

from precast.base.errors import Issue, Kind

NO_PROGRAMS = Issue(
    "BOOT-200",
    Kind.INPUT,
    "{what} cannot be done below {root}: it holds no programs",
    "give a root that holds a whole system, or leave this key out",
)
FAILED = Issue(
    "BOOT-201",
    Kind.UNAVAILABLE,
    "{command} failed with exit code {code}: {output}",
    "run it by hand to see more",
)
NO_TYPE = Issue(
    "BOOT-202",
    Kind.INTERNAL,
    "a module asked for a resource of type {type}, which cannot be applied",
    "report it",
)
SOME_FAILED = Issue(
    "BOOT-203",
    Kind.UNAVAILABLE,
    "of {what} some failed, the others were done: {failures}",
    "what commands printed is in the log of this boot",
)
BAD_CONTENT = Issue(
    "BOOT-204",
    Kind.INPUT,
    "the content of {path} is not {encoding}: {reason}",
    "encode it again, or leave the encoding out",
)
NOT_FETCHED = Issue(
    "BOOT-205",
    Kind.UNAVAILABLE,
    "{url} cannot be fetched: {reason}",
    "check the address, and that the machine can reach it",
)
NO_USER = Issue(
    "BOOT-206",
    Kind.NOT_FOUND,
    "there is no user {user}",
    "make one with the key users, or name one who is there",
)
BAD_DELAY = Issue(
    "BOOT-207",
    Kind.INPUT,
    "power_state cannot wait for {delay}",
    "write now, a number of minutes, or a time as 23:30",
)
NO_PROGRAM = Issue(
    "BOOT-208",
    Kind.UNAVAILABLE,
    "{what} needs {program}, which is not here",
    "install it in the image, or do it another way",
)
NO_DEVICE = Issue(
    "BOOT-209",
    Kind.NOT_FOUND,
    "there is no device {device}",
    "name one that `lsblk` shows",
)
BAD_FINGERPRINT = Issue(
    "BOOT-210",
    Kind.INPUT,
    "{fingerprint} is no SHA-256 fingerprint",
    "`precast server init` printed it: 64 hexadecimal digits",
)
NO_RSA_KEY = Issue(
    "BOOT-211",
    Kind.INPUT,
    "a password can only be encrypted for an RSA key, and the machine was started with {kinds}",
    "start it with a key of type ssh-rsa, or set a password with chpasswd",
)
