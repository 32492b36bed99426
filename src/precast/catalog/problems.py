"""A problem of a catalog that does not prevent its release, found before any node applies it."""

import msgspec

from precast.base.errors import PrecastError


class CatalogProblem(msgspec.Struct, frozen=True):
    """The code of an issue, with its text and its hint."""

    code: str
    text: str
    hint: str

    @staticmethod
    def of_error(error: PrecastError) -> "CatalogProblem":
        return CatalogProblem(error.code, error.message, error.hint)
