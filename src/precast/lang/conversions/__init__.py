"""`T.new(…)`: makes values of a type from other values by the type's rules and formats."""

from precast.lang.conversions.creation import create
from precast.lang.conversions.formatting import format_value

__all__ = ["create", "format_value"]
