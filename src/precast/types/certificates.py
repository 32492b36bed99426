"""Types about keys and certificates, which the module openssl declares."""

from typing import Final

from precast.types.declaration import AutoRelation, ManagedType

_ENSURE: Final = "present or absent"
_SIGNED: Final = {
    "path": "absolute path; the title if not given",
    "private_key": "path of the private key, if not that of the file with the end .key",
    "template": "path of the configuration for openssl, if not that of the file with the end .cnf",
    "password": "password of the private key",
    "authentication": "rsa or dsa",
    "force": "replace it if the private key is another one",
    "provider": "which implementation to use",
}

SSL_PKEY: Final = ManagedType(
    "ssl_pkey",
    "A private key.",
    properties={"ensure": _ENSURE},
    parameters={
        "path": "absolute path; the title if not given",
        "authentication": "rsa or dsa",
        "size": "its size in bits (2048)",
        "password": "password that protects it",
        "provider": "which implementation to use",
    },
    namevars=("path",),
    providers=("openssl",),
    module="openssl",
)

X509_CERT: Final = ManagedType(
    "x509_cert",
    "A self-signed certificate.",
    properties={"ensure": _ENSURE},
    parameters={
        **_SIGNED,
        "days": "how long it is valid (3650)",
        "req_ext": "false leaves out the extensions in the section req_ext of the template",
    },
    namevars=("path",),
    relations=(
        AutoRelation("file", ("template", "private_key"), "path"),
        AutoRelation("ssl_pkey", ("private_key",), "path"),
    ),
    providers=("openssl",),
    module="openssl",
)

X509_REQUEST: Final = ManagedType(
    "x509_request",
    "A request for a certificate.",
    properties={"ensure": _ENSURE},
    parameters=_SIGNED,
    namevars=("path",),
    relations=(AutoRelation("file", ("private_key",), "path"),),
    providers=("openssl",),
    module="openssl",
)

TYPES: Final = (SSL_PKEY, X509_CERT, X509_REQUEST)
