"""Exchanges credentials with the platform: posts a password for the administrator, and installs the platform's certificates.

A password is generated only if the key `post_password` requests it. It is encrypted for the key with which the machine was started, so only
the owner of that key can read it. Until the platform has received it, a file that only root can read holds it: if the boot is interrupted,
the next one posts the same password. Certificates are written where the platform's programs look for them, and not trusted: `ca_certs`
configures trust.
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
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Config, Module, ModulePart, Predecessor
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.passwords import generate_password
from precast.boot.modules.schema import Either, Fields, Flag
from precast.boot.modules.user_entries import find_default_user
from precast.boot.modules.users import LOCK, NAME, format_user_place, set_password
from precast.resources import accounts

# Azure's own agent uses this directory; no other platform defines one.
_DIRECTORIES = {"azure": "/var/lib/waagent"}
_DIRECTORY = "/var/lib/cloud/certificates"


def find_administrator(config: Config) -> str | None:
    """Return the user who gets the password: the configured user, or the default user."""
    setting = config.get("post_password")
    if isinstance(setting, dict) and "user" in setting:
        return str(setting["user"])
    default = find_default_user(config)
    return default.name if default is not None else None


def post_password(context: ModuleContext) -> ModuleOutcome:
    """Generate a password, set it, and post it to the platform.

    Raises NotFoundError BOOT-206, InputError BOOT-211, ConflictError BOOT-116, UnavailableError BOOT-100, BOOT-112.
    """
    user = find_administrator(context.config)
    if user is None:
        context.outcome.not_run = "the machine has no default user: write post_password: {user: NAME}"
        return context.outcome
    if accounts.find_user(context.machine, user, is_local=False) is None and not context.is_dry_run:
        raise issues.NO_USER.error(user=user)
    key = _find_rsa_key(context.get_value(Capability.PUBLIC_KEYS))
    path = context.instance_directory / "passwords" / "to-post"
    earlier_password = _read_unposted(path)
    password = earlier_password or generate_password()
    if not context.is_dry_run:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.write_private(path, password.encode())
    set_password(context, user, password, is_hash=False)
    context.record_change(f"post the password of {user} to the platform, encrypted for the machine's key")
    if not context.is_dry_run:
        post: Callable[[bytes], None] = context.get_value(Capability.PASSWORD_POST)
        try:
            post(encrypt_password(key, password))
        except ConflictError as error:
            path.unlink()
            if not earlier_password:
                raise
            context.warn(f"{error.message}; an interrupted boot has probably posted the same password")
        else:
            path.unlink()
    return context.outcome


def _read_unposted(path: Path) -> str:
    """Return the password of a run that was interrupted before the platform received it; empty if there is none."""
    with contextlib.suppress(OSError):
        return path.read_text()
    return ""


def _find_rsa_key(lines: Sequence[str]) -> str:
    """Return the first RSA key: keys of other types can only sign. Raises InputError BOOT-211."""
    key = next((line for line in lines if line.split()[:1] == ["ssh-rsa"]), None)
    if key is None:
        raise issues.NO_RSA_KEY.error(kinds=", ".join(dict.fromkeys(line.split()[0] for line in lines)) or "none")
    return key


def encrypt_password(key: str, password: str) -> bytes:
    """Encrypt as `nova get-password` expects: RSA with PKCS #1 v1.5 padding, in base64. Raises InputError BOOT-211."""
    # cryptography is slow to import, and most boots do not use it.
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import padding, rsa
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    try:
        public_key = load_ssh_public_key(key.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise issues.NO_RSA_KEY.error(kinds="an invalid key") from None
    assert isinstance(public_key, rsa.RSAPublicKey)
    return base64.b64encode(public_key.encrypt(password.encode(), padding.PKCS1v15()))


def install_certificates(context: ModuleContext) -> ModuleOutcome:
    """Write each certificate to a file named after its thumbprint, by which the platform refers to it."""
    directory = _DIRECTORIES.get(str(context.get_value(Capability.PLATFORM, "")), _DIRECTORY)
    certificates: Sequence[str] = context.get_value(Capability.CERTIFICATES)
    if not certificates:
        context.outcome.not_run = "the platform has no certificates for this machine"
        return context.outcome
    context.make_directories(directory, 0o700)
    for text in certificates:
        try:
            thumbprint = hashlib.sha1(ssl.PEM_cert_to_DER_cert(text), usedforsecurity=False).hexdigest().upper()
        except ValueError:
            context.warn("the platform sent an invalid certificate, which is skipped")
            continue
        context.write(f"{directory}/{thumbprint}.crt", f"{text.strip()}\n".encode())
    return context.outcome


def _make_parts(config: Config) -> Sequence[ModulePart]:
    user = find_administrator(config)
    places = () if user is None else (format_user_place(user),)
    return (ModulePart("post_password", post_password, waits_for=places),)


MODULES = (
    Module(
        "post_password",
        post_password,
        {"post_password": Either(Flag(), Fields({"user": NAME}))},
        needs=frozenset({Capability.PASSWORD_POST, Capability.PUBLIC_KEYS}),
        locks=(LOCK,),
        after=(Predecessor("passwords", "the posted password replaces a password from the configuration"),),
        has_work=lambda config: config.get("post_password", False) is not False,
        parts=_make_parts,
    ),
    Module(
        "platform_certificates",
        install_certificates,
        {},
        needs=frozenset({Capability.CERTIFICATES}),
        uses=frozenset({Capability.PLATFORM}),
        has_work=lambda _: True,
    ),
)
