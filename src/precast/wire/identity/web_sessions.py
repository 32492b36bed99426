"""Bodies of the API about sessions of browsers."""

import msgspec


class SignIn(msgspec.Struct, frozen=True):
    """A person's token, to be exchanged."""

    token: str


class WebSessionView(msgspec.Struct, frozen=True):
    """Who looks, and which environments they are held to; none are all."""

    person: str
    environments: list[str]
