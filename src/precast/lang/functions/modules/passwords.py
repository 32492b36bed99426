"""Functions that hash passwords in the formats of operating systems, databases and web servers."""

import base64
import hashlib
import hmac
import re
from typing import Any, Final

from precast.lang.functions.modules.declaration import argument_error, declare, declare_legacy
from precast.lang.functions.modules.deprecation import declare_renamed
from precast.lang.issues import functions as issues
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.ruby.stdlib.crypts import crypt
from precast.lang.values.base import Hash, Sensitive

_KINDS: Final = {"md5": "1", "sha-256": "5", "sha-512": "6"}
_BCRYPT: Final = ("bcrypt", "bcrypt-a", "bcrypt-x", "bcrypt-y")
_SALT: Final = re.compile(r"[a-zA-Z0-9./]+")


def _unwrap(value: Any) -> Any:
    return value.unwrap() if isinstance(value, Sensitive) else value


@declare_legacy(
    "pw_hash",
    "Any password, Any type, Any salt",
    "Hashes a password with a salt in the format of /etc/shadow: MD5, SHA-256 or SHA-512.",
)
def _pw_hash(*given: Any) -> str | None:
    password, kind, salt = map(_unwrap, given)
    for position, value in (("first", password), ("second", kind), ("third", salt)):
        if not isinstance(value, str):
            raise argument_error("pw_hash", f"{position} argument must be a string")
    if kind.lower() in _BCRYPT:
        raise issues.NO_BCRYPT.error(type=kind)
    if kind.lower() not in _KINDS:
        raise argument_error("pw_hash", f"{kind} is not a valid hash type")
    if not _SALT.fullmatch(salt):
        raise argument_error(
            "pw_hash", "the salt must consist of the characters a-z, A-Z, 0-9, . and /, and must not be empty"
        )
    return crypt(password, _KINDS[kind.lower()], salt) if password else None


_MIN_ITERATIONS, _MAX_ITERATIONS = 40_000, 70_000


@declare_legacy(
    "str2saltedpbkdf2",
    "Any password, Any salt, Any iterations",
    "Hashes a password for macOS: returns hash and salt in hexadecimal, and the iterations.",
)
def _str2saltedpbkdf2(*given: Any) -> Hash:
    password, salt, iterations = map(_unwrap, given)
    if not isinstance(password, str) or not isinstance(salt, str):
        raise argument_error("str2saltedpbkdf2", "the first two arguments must be strings")
    if len(salt.encode()) < 8:
        raise argument_error("str2saltedpbkdf2", "second argument must be at least 8 bytes long")
    if not isinstance(iterations, int) or not _MIN_ITERATIONS < iterations < _MAX_ITERATIONS:
        raise argument_error("str2saltedpbkdf2", "third argument must be an integer between 40,000 and 70,000")
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt.encode(), iterations, 128)
    return Hash.of([("password_hex", digest.hex()), ("salt_hex", salt.encode().hex()), ("iterations", iterations)])


@declare_legacy(
    "str2saltedsha512",
    "String password",
    "Returns the salted SHA-512 of a password for macOS; the salt is derived from the password, so that every compile gives the "
    "same.",
)
def _str2saltedsha512(password: str) -> str:
    salt = hashlib.sha256(b"str2saltedsha512" + password.encode()).digest()[:4]
    return (salt + hashlib.sha512(salt + password.encode()).digest()).hex()


def _mysql(password: str) -> str:
    if not password or re.search(r"\*[A-F0-9]{40}$", password, re.MULTILINE):
        return password
    inner = hashlib.sha1(password.encode(), usedforsecurity=False).digest()
    return "*" + hashlib.sha1(inner, usedforsecurity=False).hexdigest().upper()


@declare(
    "mysql::password",
    "Variant[String, Sensitive[String]] password, Boolean sensitive? >> Variant[String, Sensitive[String]]",
    "Hashes a password for MySQL; a hash stays as it is. The result is Sensitive if the second argument is true.",
    module="mysql",
)
def _mysql_password(password: Any, sensitive: bool = False) -> Any:
    hashed = _mysql(_unwrap(password))
    return Sensitive(hashed) if sensitive else hashed


@declare_legacy("mysql_password", "Any password", "The old name of mysql::password.", module="mysql")
def _mysql_password_older(password: Any) -> str:
    if not isinstance(password, str | tuple | Hash) or (password and not isinstance(password, str)):
        raise argument_error("mysql_password", "expects a string")
    return _mysql(password) if isinstance(password, str) else ""


@declare(
    "mysql::strip_hash",
    "Hash hash >> Hash",
    "Removes entries with empty texts from a hash and from the hashes in it.",
    module="mysql",
)
def _strip_hash(value: Hash) -> Hash:
    return Hash.of(
        (key, _without_empty(item) if isinstance(item, Hash) else item) for key, item in value.items() if item != ""
    )


def _without_empty(value: Hash) -> Hash:
    return Hash.of(entry for entry in value.items() if entry[1] != "")


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


@declare_legacy("mongodb_password", "Any user, Any password", "Hashes a password for MongoDB.", module="mongodb")
def _mongodb_password(user: Any, password: Any) -> str:
    return _md5(f"{ruby_text(user)}:mongo:{ruby_text(password)}")


_NAME: Final = "Variant[String[1], Integer, Sensitive[String[1]], Sensitive[Integer]]"


@declare(
    "postgresql::postgresql_password",
    f"{_NAME} user, {_NAME} password, Boolean sensitive?, Optional[Enum['md5', 'scram-sha-256']] hash?,"
    " Optional[Variant[String[1], Integer]] salt?",
    "Hashes a password for PostgreSQL with md5 or SCRAM. The result is Sensitive if the third argument is true or the password is "
    "Sensitive.",
    module="postgresql",
)
def _postgresql_password(
    user: Any, password: Any, sensitive: bool = False, kind: str | None = None, salt: Any = None
) -> Any:
    name, secret = f"{_unwrap(user)}", f"{_unwrap(password)}"
    hashed = (
        scram(secret, (name if salt is None else f"{salt}").encode())
        if kind == "scram-sha-256"
        else "md5" + _md5(secret + name)
    )
    return Sensitive(hashed) if sensitive or isinstance(password, Sensitive) else hashed


_ITERATIONS: Final = 4096


def scram(password: str, salt: bytes) -> str:
    """Return the text that PostgreSQL stores for a password with SCRAM-SHA-256."""
    key = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS, 32)
    client = hashlib.sha256(hmac.digest(key, b"Client Key", "sha256")).digest()
    parts = (salt, client, hmac.digest(key, b"Server Key", "sha256"))
    salt_text, stored, server = (base64.b64encode(part).decode() for part in parts)
    return f"SCRAM-SHA-256${_ITERATIONS}:{salt_text}${stored}:{server}"


@declare(
    "postgresql::postgresql_escape",
    "String[1] text",
    "Quotes a text as a dollar-quoted constant of SQL.",
    module="postgresql",
)
def _postgresql_escape(text: str) -> str:
    if "$$" not in text and not text.endswith("$"):
        return f"$${text}$$"
    tag = re.sub(r"\d", "", _md5(text)[:6])
    while tag in text:
        tag = re.sub(r"\d", "", _md5(tag)[:6])
    return f"${tag}${text}${tag}$"


@declare(
    "apache::pw_hash", "String[1] password >> String", "Hashes a password with SHA-1 for htpasswd.", module="apache"
)
def _apache_pw_hash(password: str) -> str:
    digest = hashlib.sha1(password.encode(), usedforsecurity=False).digest()
    return "{SHA}" + base64.b64encode(digest).decode()


@declare(
    "apache::bool2httpd",
    "Any value",
    "Converts a boolean, or a text that contains true or false, to On or Off.",
    module="apache",
)
def _bool2httpd(value: Any) -> str:
    text = value.lower() if isinstance(value, str) else ""
    if value is None or value is False or "false" in text:
        return "Off"
    return "On" if value is True or "true" in text else ruby_text(value)


for _old, _new in (
    ("apache_pw_hash", "apache::pw_hash"),
    ("apache::apache_pw_hash", "apache::pw_hash"),
    ("bool2httpd", "apache::bool2httpd"),
    ("postgresql_escape", "postgresql::postgresql_escape"),
    ("postgresql_password", "postgresql::postgresql_password"),
):
    declare_renamed(_old, _new, "method" if _old.startswith("postgresql") else "function")


@declare_legacy(
    "validate_x509_rsa_key_pair",
    "String certificate, String key",
    "Fails unless a certificate is signed by an RSA key, both in PEM.",
)
def _validate_x509_rsa_key_pair(certificate: str, key: str) -> None:
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import padding, rsa
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    name = "validate_x509_rsa_key_pair"
    try:
        parsed = x509.load_pem_x509_certificate(certificate.encode())
        private = load_pem_private_key(key.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise argument_error(name, f"Not a valid x509 certificate or RSA key: {error}") from None
    if not isinstance(private, rsa.RSAPrivateKey) or parsed.signature_hash_algorithm is None:
        raise argument_error(name, "Not a valid RSA key")
    try:
        private.public_key().verify(
            parsed.signature, parsed.tbs_certificate_bytes, padding.PKCS1v15(), parsed.signature_hash_algorithm
        )
    except InvalidSignature:
        raise argument_error(name, "Certificate signature does not match supplied key") from None
