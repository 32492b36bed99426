"""Sizes and shares as text, in facter's form, because manifests compare these texts."""

import math

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def human_bytes(count: int) -> str:
    """1536 is "1.50 KiB"."""
    number, unit = float(count), 0
    while number >= 1024 and unit < len(_UNITS) - 1:
        number, unit = number / 1024, unit + 1
    if unit == 0:
        return f"{count} bytes"
    number = math.floor(number * 100 + 0.5) / 100
    if number == 1024 and unit < len(_UNITS) - 1:  # rounded up to the next unit
        number, unit = 1.0, unit + 1
    return f"{number:.2f} {_UNITS[unit]}"


def human_hertz(count: int) -> str:
    """2793000000 is "2.79 GHz"."""
    number, prefixes = float(count), iter(("", "k", "M", "G", "T"))
    prefix = next(prefixes)
    while number >= 1000 and (larger := next(prefixes, None)) is not None:
        number, prefix = number / 1000, larger
    return f"{number:.2f} {prefix}Hz"


def percent(part: int, whole: int) -> str:
    return f"{part / whole * 100:.2f}%" if whole else "0.00%"


def mebibytes(count: int) -> float:
    return count / 1024 / 1024
