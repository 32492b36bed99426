"""What passes between the machine and its platform besides data: a password for the administrator, and certificates.

A password is made only if the key `post_password` asks for it. It is encrypted for the key that the machine was started with, so nobody on
the way can read it, and it lies on the disk (for root only) just until the platform has it: a boot that is cut off goes on with the same
one. Certificates are put where programs of the platform look for them. They are not trusted for that: `ca_certs` says whom to trust.
"""

import base64
import contextlib
import hashlib
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path

from precast.base import files
from precast.base.errors import ConflictError
from precast.boot.capabilities import Capability
from precast.boot.modules import issues
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Config, Module, Part
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.passwords import random_password
from precast.boot.modules.people import default_user
from precast.boot.modules.shapes import Either, Fields, Flag
from precast.boot.modules.users import LOCK, NAME, exists, set_password
from precast.resources import accounts

# Azure's own agent has them there; no other platform says where.
_DIRECTORIES = {"azure": "/var/lib/waagent"}
_DIRECTORY = "/var/lib/cloud/certificates"


def administrator(config: Config) -> str | None:
    """Who gets the password."""
    given = config.get("post_password")
    if isinstance(given, dict) and "user" in given:
        return str(given["user"])
    default = default_user(config)
    return default.name if default is not None else None


def post_password(context: Context) -> Outcome:
    """Make a password, set it, and tell the platform what it is.

    Raises NotFoundError BOOT-206, InputError BOOT-211, ConflictError BOOT-116, UnavailableError BOOT-100, BOOT-112.
    """
    user = administrator(context.config)
    if user is None:
        context.outcome.not_run = "it is not known who administers the machine: say post_password: {user: NAME}"
        return context.outcome
    if accounts.find_user(context.machine, user, is_local=False) is None and not context.is_dry_run:
        raise issues.NO_USER.error(user=user)
    key = _rsa_key(context.value(Capability.PUBLIC_KEYS))
    place = context.instance_directory / "passwords" / "to-post"
    kept = _kept(place)
    password = kept or random_password()
    if not context.is_dry_run:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.write_private(place, password.encode())
    set_password(context, user, password, is_hash=False)
    context.changed(f"tell the platform the password of {user}, encrypted for its key")
    if not context.is_dry_run:
        post: Callable[[bytes], None] = context.value(Capability.PASSWORD_POST)
        try:
            post(encrypted(key, password))
        except ConflictError as error:
            place.unlink()
            if not kept:
                raise
            context.warn(f"{error.message}; a boot that was cut off has told it this one, most likely")
        else:
            place.unlink()
    return context.outcome


def _kept(place: Path) -> str:
    """The password of a run that was cut off before the platform had it."""
    with contextlib.suppress(OSError):
        return place.read_text()
    return ""


def _rsa_key(lines: Sequence[str]) -> str:
    """The first key that can encrypt: those of other kinds only sign. Raises InputError BOOT-211."""
    found = next((line for line in lines if line.split()[:1] == ["ssh-rsa"]), None)
    if found is None:
        raise issues.NO_RSA_KEY.error(kinds=", ".join(dict.fromkeys(line.split()[0] for line in lines)) or "none")
    return found


def encrypted(key: str, password: str) -> bytes:
    """As platforms take it and `nova get-password` opens it: RSA with PKCS 1 padding, in base64. Raises InputError BOOT-211."""
    # cryptography is large, and most boots have no need of it.
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import padding, rsa
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    try:
        found = load_ssh_public_key(key.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise issues.NO_RSA_KEY.error(kinds="one that cannot be read") from None
    assert isinstance(found, rsa.RSAPublicKey)
    return base64.b64encode(found.encrypt(password.encode(), padding.PKCS1v15()))


def install_certificates(context: Context) -> Outcome:
    """Each under its thumbprint, which is how the platform calls it."""
    directory = _DIRECTORIES.get(str(context.value(Capability.PLATFORM, "")), _DIRECTORY)
    certificates: Sequence[str] = context.value(Capability.CERTIFICATES)
    if not certificates:
        context.outcome.not_run = "the platform has no certificates for this machine"
        return context.outcome
    context.make_directories(directory, 0o700)
    for text in certificates:
        try:
            number = hashlib.sha1(ssl.PEM_cert_to_DER_cert(text), usedforsecurity=False).hexdigest().upper()
        except ValueError:
            context.warn("the platform gives something that is no certificate, so it is left out")
            continue
        context.write(f"{directory}/{number}.crt", f"{text.strip()}\n".encode())
    return context.outcome


def _parts(config: Config) -> Sequence[Part]:
    user = administrator(config)
    waits = () if user is None else (exists(user),)
    return (Part("post_password", post_password, waits=waits),)


MODULES = (
    Module(
        "post_password",
        post_password,
        {"post_password": Either(Flag(), Fields({"user": NAME}))},
        needs=frozenset({Capability.PASSWORD_POST, Capability.PUBLIC_KEYS}),
        locks=(LOCK,),
        after=(After("passwords", "it replaces a password that was set otherwise"),),
        is_wanted=lambda config: config.get("post_password", False) is not False,
        parts=_parts,
    ),
    Module(
        "platform_certificates",
        install_certificates,
        {},
        needs=frozenset({Capability.CERTIFICATES}),
        uses=frozenset({Capability.PLATFORM}),
        is_wanted=lambda _: True,
    ),
)
