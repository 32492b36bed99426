"""Lists the errors that a config module can raise. Codes 200 to 249."""

from precast.base.errors import Issue, Kind

NO_PROGRAMS = Issue(
    "BOOT-200",
    Kind.INPUT,
    "{what} is not possible below {root}, because that root contains no programs",
    "use a root that contains a complete system, or remove this key",
)
FAILED = Issue(
    "BOOT-201",
    Kind.UNAVAILABLE,
    "{command} failed with exit code {code}: {output}",
    "run the command by hand to see its complete output",
)
NO_TYPE = Issue(
    "BOOT-202",
    Kind.INTERNAL,
    "a module requested a resource of type {type}, which Precast cannot apply",
    "report this bug",
)
SOME_FAILED = Issue(
    "BOOT-203",
    Kind.UNAVAILABLE,
    "some entries of {what} failed, the others were applied: {failures}",
    "the log of this boot contains the output of all commands",
)
BAD_CONTENT = Issue(
    "BOOT-204",
    Kind.INPUT,
    "the content of {path} is not valid {encoding}: {reason}",
    "encode the content again, or remove the encoding",
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
    "the user {user} does not exist",
    "create the user with the key users, or name an existing user",
)
BAD_DELAY = Issue(
    "BOOT-207",
    Kind.INPUT,
    "power_state.delay has the invalid value {delay}",
    "write now, a number of minutes, or a time such as 23:30",
)
NO_PROGRAM = Issue(
    "BOOT-208",
    Kind.UNAVAILABLE,
    "{what} needs the program {program}, which is not installed",
    "install the program in the image, or replace this key by another one",
)
NO_DEVICE = Issue(
    "BOOT-209",
    Kind.NOT_FOUND,
    "the device {device} does not exist",
    "name a device that `lsblk` lists",
)
BAD_FINGERPRINT = Issue(
    "BOOT-210",
    Kind.INPUT,
    "{fingerprint} is not a SHA-256 fingerprint",
    "use the fingerprint of 64 hexadecimal digits that `precast server init` printed",
)
BEGUN_EARLIER = Issue(
    "BOOT-212",
    Kind.CONFLICT,
    "it did not run: {earlier} began earlier for this instance, and runcmd and the user's scripts count as run together, as in cloud-init",
    "run it by hand, or repeat it with `precast boot run --retry`",
)
NO_RSA_KEY = Issue(
    "BOOT-211",
    Kind.INPUT,
    "a password can only be encrypted for an RSA key, and the machine was started with {kinds}",
    "start the machine with a key of type ssh-rsa, or set a password with chpasswd",
)
