"""Bodies of the API about exported resources."""

import msgspec


class ExportsSetting(msgspec.Struct, frozen=True):
    """Which exports the nodes of an environment collect: released, staged, or everywhere."""

    exports: str
