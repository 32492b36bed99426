"""Keeps the downloads of config modules on loopback, as the unit tests of the modules do."""

from tests.unit.boot.modules.conftest import only_loopback

__all__ = ["only_loopback"]
