"""What `precast server check` says about the signer: its user, its socket, and whether its keys are encrypted."""

from typing import NamedTuple

from precast.app.settings import ServerSettings
from precast.base.confinement.confine import Measure
from precast.base.errors import PrecastError
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.connection import SocketConnection
from precast.services.identity.signer.signer import own_user_name


class SignerCheck(NamedTuple):
    """Whether the keys are out of reach of the server's user, and how; and whether a configured signer answers."""

    measure: Measure
    answers: bool


async def describe_signer(settings: ServerSettings) -> SignerCheck:
    if settings.signer is None:
        return _describe_child(settings)
    client = SignerClient(SocketConnection(settings.signer))
    try:
        await client.refresh()
    except PrecastError as error:
        return SignerCheck(Measure("keys", False, f"{settings.signer}: {error.message}"), False)
    finally:
        await client.close()
    described = client.description
    how = f"a signer of the user {described.user} at {settings.signer}; {_words(described.is_encrypted)}"
    return SignerCheck(Measure("keys", described.user != own_user_name(), how), True)


def _describe_child(settings: ServerSettings) -> SignerCheck:
    files = AuthorityFiles(settings.data / "authority")
    try:
        words = _words(files.is_encrypted)
    except PrecastError as error:
        words = error.message
    text = f"a signer that is a child of the server, of the same user; {words}"
    return SignerCheck(Measure("keys", False, text), True)


def _words(is_encrypted: bool) -> str:
    return "its keys are encrypted at rest" if is_encrypted else "its keys are not encrypted at rest"
