"""`T.new(…)`: values of a type from other values, as the type's rules and formats say."""

from precast.lang.conversions.creation import create
from precast.lang.conversions.texts import format_value

__all__ = ["create", "format_value"]
