"""Bodies of the API about sessions of browsers."""

import msgspec


class SignIn(msgspec.Struct, frozen=True):
    """A person's token, to be exchanged for a browser session."""

    token: str


class WebSessionView(msgspec.Struct, frozen=True):
    """The person of a session, and the environments they may see; an empty list means all."""

    person: str
    environments: list[str]
