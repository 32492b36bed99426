"""Digest, OpenSSL's digests and HMAC, Base64, `crypt`, and the bytes of texts."""

import base64
import binascii
import hashlib
import hmac
from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import method, of_class, plain_text, to_str
from precast.lang.ruby.objects import Constant, Proc
from precast.lang.ruby.stdlib.crypts import crypt
from precast.lang.ruby.values import Instance, Symbol

Args = list[Any]
_DIGESTS = "Digest::MD5 Digest::SHA1 Digest::SHA256 Digest::SHA384 Digest::SHA512 Digest::SHA2"
_OPENSSL = (
    "OpenSSL::Digest::MD5 OpenSSL::Digest::SHA1 OpenSSL::Digest::SHA256 OpenSSL::Digest::SHA384 OpenSSL::Digest::SHA512"
)
_ALGORITHMS = frozenset(("md5", "sha1", "sha224", "sha256", "sha384", "sha512"))


def to_bytes(text: str) -> bytes:
    """Return the bytes of a text; characters that stand for bytes which are no text become these bytes."""
    return text.encode("utf-8", "surrogateescape")


def to_text(data: bytes) -> str:
    """Return the text of bytes; bytes that are no text stay bytes through the characters that stand for them."""
    return data.decode("utf-8", "surrogateescape")


class RubyDigest(Instance):
    """A digest under construction."""

    kind_name = "Digest"

    def __init__(self, algorithm: str) -> None:
        if algorithm not in _ALGORITHMS:
            raise issues.NOT_IN_SUBSET.error(construct=f"the digest {algorithm}")
        self.algorithm = algorithm
        self.data = b""
        self.key: bytes | None = None  # of an HMAC

    def digest(self) -> bytes:
        if self.key is not None:
            return hmac.digest(self.key, self.data, self.algorithm)
        return hashlib.new(self.algorithm, self.data, usedforsecurity=False).digest()


def _named(constant: Constant) -> str:
    name = constant.name.rpartition("::")[2].lower()
    return "sha256" if name == "sha2" else name


def _of(constant: Constant, args: Args) -> bytes:
    made = RubyDigest(_named(constant))
    made.data = to_bytes(to_str(args[0]))
    return made.digest()


@of_class(f"{_DIGESTS} {_OPENSSL}", "hexdigest")
def _hexdigest(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return _of(this, args).hex()


@of_class(f"{_DIGESTS} {_OPENSSL}", "digest")
def _digest(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return to_text(_of(this, args))


@of_class(f"{_DIGESTS} {_OPENSSL}", "base64digest")
def _base64digest(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return base64.b64encode(_of(this, args)).decode()


@of_class(f"{_DIGESTS} {_OPENSSL}", "new")
def _new(execution: Execution, this: Constant, args: Args, block: Proc | None) -> RubyDigest:
    made = RubyDigest(f"sha{args[0]}" if this.name == "Digest::SHA2" and args else _named(this))
    if args and isinstance(args[0], str):
        made.data = to_bytes(args[0])
    return made


@of_class("OpenSSL::Digest", "new")
def _new_named(execution: Execution, this: Constant, args: Args, block: Proc | None) -> RubyDigest:
    return RubyDigest(to_str(args[0]).lower().replace("-", ""))


@method("Digest", "<<", "update")
def _update(execution: Execution, this: RubyDigest, args: Args, block: Proc | None) -> RubyDigest:
    this.data += to_bytes(to_str(args[0]))
    return this


@method("Digest", "hexdigest", "to_s")
def _instance_hexdigest(execution: Execution, this: RubyDigest, args: Args, block: Proc | None) -> str:
    if args:
        this.data = to_bytes(to_str(args[0]))
    return this.digest().hex()


@method("Digest", "digest")
def _instance_digest(execution: Execution, this: RubyDigest, args: Args, block: Proc | None) -> str:
    if args:
        this.data = to_bytes(to_str(args[0]))
    return to_text(this.digest())


@of_class("OpenSSL::HMAC", "new")
def _new_hmac(execution: Execution, this: Constant, args: Args, block: Proc | None) -> RubyDigest:
    made = RubyDigest(args[1].algorithm if isinstance(args[1], RubyDigest) else to_str(args[1]).lower())
    made.key = to_bytes(to_str(args[0]))
    return made


@of_class("OpenSSL::HMAC", "hexdigest")
def _hmac(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    algorithm = args[0].algorithm if isinstance(args[0], RubyDigest) else to_str(args[0]).lower()
    return hmac.digest(to_bytes(to_str(args[1])), to_bytes(to_str(args[2])), RubyDigest(algorithm).algorithm).hex()


@of_class("OpenSSL::HMAC", "digest")
def _hmac_digest(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return to_text(bytes.fromhex(str(_hmac(execution, this, args, None))))


@of_class("OpenSSL::PKCS5", "pbkdf2_hmac")
def _pbkdf2(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    password, salt, iterations, length, digest = args
    algorithm = digest.algorithm if isinstance(digest, RubyDigest) else to_str(digest).lower()
    if int(iterations) > 200_000:
        raise ValueError("too many iterations")
    key = hashlib.pbkdf2_hmac(
        algorithm, to_bytes(to_str(password)), to_bytes(to_str(salt)), int(iterations), int(length)
    )
    return to_text(key)


@of_class("OpenSSL::KDF", "pbkdf2_hmac")
def _kdf(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    given = args[1]
    words = [args[0], *(given[Symbol(name)] for name in ("salt", "iterations", "length", "hash"))]
    return str(_pbkdf2(execution, this, words, None))


@of_class("Base64", "encode64")
def _encode64(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    data = to_bytes(to_str(args[0]))
    return "".join(base64.b64encode(data[at : at + 45]).decode() + "\n" for at in range(0, len(data), 45))


@of_class("Base64", "strict_encode64")
def _strict_encode64(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return base64.b64encode(to_bytes(to_str(args[0]))).decode()


@of_class("Base64", "urlsafe_encode64")
def _urlsafe_encode64(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return base64.urlsafe_b64encode(to_bytes(to_str(args[0]))).decode()


@of_class("Base64", "decode64")
def _decode64(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    text = "".join(char for char in to_str(args[0]) if char.isascii() and (char.isalnum() or char in "+/"))
    text = text[: len(text) - (len(text) % 4 == 1)]
    return to_text(base64.b64decode(text + "=" * (-len(text) % 4)))


@of_class("Base64", "strict_decode64")
def _strict_decode64(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    try:
        return to_text(base64.b64decode(to_str(args[0]), validate=True))
    except binascii.Error:
        raise ValueError("invalid base64") from None


@of_class("Base64", "urlsafe_decode64")
def _urlsafe_decode64(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    text = to_str(args[0]).replace("-", "+").replace("_", "/")
    return str(_strict_decode64(execution, this, [text + "=" * (-len(text) % 4)], None))


@method("String", "crypt")
def _crypt(execution: Execution, this: str, args: Args, block: Proc | None) -> str:
    salt = plain_text(execution, args[0])
    parts = salt.split("$")
    if len(parts) < 3 or parts[0] or parts[1] not in ("1", "5", "6"):
        raise issues.NOT_IN_SUBSET.error(construct="String#crypt with a salt other than $1$, $5$ or $6$")
    if parts[2].startswith("rounds="):
        raise issues.NOT_IN_SUBSET.error(construct="String#crypt with rounds")
    return crypt(this, parts[1], parts[2])


@method("String", "unpack1")
def _unpack1(execution: Execution, this: str, args: Args, block: Proc | None) -> Any:
    return _unpack(execution, this, args, None)[0]


@method("String", "unpack")
def _unpack(execution: Execution, this: str, args: Args, block: Proc | None) -> list[Any]:
    form, data = to_str(args[0]), to_bytes(this)
    match form:
        case "H*":
            return [data.hex()]
        case "C*":
            return list(data)
        case "U*":
            return [ord(char) for char in this]
        case "m" | "m0" | "m*":
            return [_decode64(execution, Constant("Base64"), [this], None)]
        case "a*" | "A*":
            return [this if form == "a*" else this.rstrip(" \0")]
        case "N*":
            return [int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data) - 3, 4)]
        case "B*":
            return ["".join(f"{byte:08b}" for byte in data)]
    raise issues.NOT_IN_SUBSET.error(construct=f"unpack('{form}')")


@method("Array", "pack")
def _pack(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> str:
    form = to_str(args[0])
    match form:
        case "H*":
            return to_text(bytes.fromhex(to_str(this[0]) + "0" * (len(this[0]) % 2)))
        case "C*" | "c*":
            return to_text(bytes(int(item) & 255 for item in this))
        case "U*":
            return "".join(chr(int(item)) for item in this)
        case "m":
            return str(_encode64(execution, Constant("Base64"), this[:1], None))
        case "m0" | "m*":
            return str(_strict_encode64(execution, Constant("Base64"), this[:1], None))
        case "N" | "N*":
            return to_text(b"".join(int(item).to_bytes(4, "big") for item in this))
        case "a*":
            return to_str(this[0])
    raise issues.NOT_IN_SUBSET.error(construct=f"pack('{form}')")
