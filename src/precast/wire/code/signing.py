"""Bodies of the API about signed code."""

import msgspec


class SigningBody(msgspec.Struct, frozen=True):
    """What must be signed: none, commit or tag; an allowed-signers file of ssh, and public keys of GPG in their text form."""

    required: str
    signers: str = ""
    gpg_keys: str = ""


class SigningView(msgspec.Struct, frozen=True):
    """What an environment requires to be signed, and the keys that it allows."""

    environment: str
    required: str
    signers: str = ""
    gpg_keys: str = ""
