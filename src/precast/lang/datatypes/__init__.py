"""Puppet's data types: parameters, instances, assignability, inference, text, and descriptions of mismatches."""

from precast.lang.datatypes import mismatch
from precast.lang.datatypes.base import ANY, Type
from precast.lang.datatypes.callables import CallableType
from precast.lang.datatypes.composites import TypeType
from precast.lang.datatypes.construction.access import index
from precast.lang.datatypes.construction.definitions import named_type
from precast.lang.datatypes.construction.notation import parse_type
from precast.lang.datatypes.core_types import core
from precast.lang.datatypes.inference import common, infer, infer_generalized, infer_reduced
from precast.lang.datatypes.library import DEFERRED, ERROR
from precast.lang.datatypes.objects import ObjectType
from precast.lang.datatypes.references import ClassType, ResourceType, TypeAlias, TypeReference
from precast.lang.datatypes.scalars import EnumType, IntegerType, PatternType, RegexpType
from precast.lang.datatypes.typesets import TypeSetType

__all__ = [
    "ANY", "DEFERRED", "ERROR", "CallableType", "ClassType", "EnumType", "IntegerType", "ObjectType", "PatternType", "RegexpType",
    "ResourceType", "Type", "TypeAlias", "TypeReference", "TypeSetType", "TypeType", "common", "core", "index", "infer",
    "infer_generalized", "infer_reduced", "mismatch", "named_type", "parse_type",
]  # fmt: skip
