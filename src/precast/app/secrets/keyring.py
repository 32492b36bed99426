"""Builds the keyring of a server, and the services that need it."""

import socket

from precast.app.settings import ServerSettings
from precast.app.shared_services import build_audit_log
from precast.services.secrets.key_source import KeyCommand, KeyFile, KeySource
from precast.services.secrets.keyring import Keyring
from precast.services.secrets.rotation import KeyRotation
from precast.services.secrets.values import SecretValues
from precast.store.engine.database import Database
from precast.store.secrets.keys import SecretKeys
from precast.store.secrets.secrets import Secrets


def key_source(settings: ServerSettings) -> KeySource:
    """Where this server's master keys come from."""
    if settings.secrets_key_command:
        return KeyCommand(settings.secrets_key_command)
    return KeyFile(settings.secrets_key_file)


def build_keyring(database: Database, settings: ServerSettings) -> Keyring:
    return Keyring(database, SecretKeys(database), key_source(settings))


def build_key_rotation(database: Database, keyring: Keyring, server_id: str) -> KeyRotation:
    name = socket.gethostname()
    return KeyRotation(database, SecretKeys(database), keyring, build_audit_log(database), server_id, name)


def build_secret_values(database: Database, keyring: Keyring) -> SecretValues:
    return SecretValues(database, Secrets(database), keyring)
