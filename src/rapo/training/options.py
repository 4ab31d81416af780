"""Options by name: the fields of nested frozen dataclasses, read, checked and replaced.

A record's options are the fields of the record and of the parts it is composed of. An option that no part has
is refused, so that no option is set in vain. Values may be text, as from a command line.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from numbers import Real
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from docstring_parser import parse_from_object

from rapo.errors import InputError, shown, unknown
from rapo.learner.budget import Budget
from rapo.ranges import Within, ranges_of

NOT_LEARNED = {"learned": False}
"""Metadata of a field that does not change what is learned."""

Record = TypeVar("Record")


@dataclass(frozen=True)
class Option:
    """One option of a record."""

    name: str
    value: Any
    kind: Any
    """The type of the option's field."""
    help: str
    """What the option does."""
    owner: str
    """The class of the part that has the option."""
    allowed: str
    """The values that the option may have, in words."""
    learned: bool
    """Whether the option changes what is learned, so that runs that differ in it are different runs."""

    @property
    def shown(self) -> str:
        """The option's value, written as on a command line."""
        value = _plain(self.value)
        if isinstance(self.value, Budget) and isinstance(value, list):
            return ":".join(map(str, value))
        return shown_value(value)


def shown_value(value: Any) -> str:
    """A value of an option, as JSON holds it, as it would be set."""
    if isinstance(value, list | tuple):
        rows = any(isinstance(item, list | tuple) for item in value)
        return json.dumps(value) if rows else ",".join(map(shown_value, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def options(record: Any) -> dict[str, Option]:
    """All options of a record by name, in order; fields of type str are names and not options.

    A record whose parts share a name is refused: setting one of them would set the other too.
    """
    found: dict[str, Option] = {}
    for option in _walk(record):
        if option.name in found:
            raise InputError(
                f"option {option.name} is a field of {found[option.name].owner} and of {option.owner}: "
                "parts of one record must not share a name, so rename one of them"
            )
        found[option.name] = option
    return found


def values(record: Any) -> dict[str, Any]:
    """The values of all options, as JSON can hold them."""
    return {name: _plain(option.value) for name, option in options(record).items()}


def parts(record: Any) -> dict[str, str]:
    """The class names of a record's parts, and of their parts, by the names of the fields that hold them."""
    found: dict[str, str] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if _is_part(value):
            found |= {field.name: type(value).__name__, **parts(value)}
    return found


def with_options(record: Record, what: str, changes: Mapping[str, Any]) -> Record:
    """The record with some options changed; `what` names it in errors."""
    known = options(record)
    for name in changes:
        if name not in known:
            raise unknown(f"option of {what}", name, known)
    return _replaced(record, {name: _read(known[name], value) for name, value in changes.items()})


def _walk(record: Any) -> Iterator[Option]:
    hints, helps, ranges = get_type_hints(type(record)), _docstrings(type(record)), ranges_of(type(record))
    for field in fields(record):
        value = getattr(record, field.name)
        if _is_part(value):
            yield from _walk(value)
        elif hints[field.name] is not str and all(map(_is_simple, _alternatives(hints[field.name]))):
            kind, owner = hints[field.name], type(record).__name__
            allowed = _describe(kind, ranges.get(field.name))
            learned = field.metadata.get("learned", True)
            yield Option(field.name, value, kind, helps.get(field.name, ""), owner, allowed, learned)


def _replaced(record: Any, changes: Mapping[str, Any]) -> Any:
    own = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if _is_part(value):
            own[field.name] = _replaced(value, changes)
        elif field.name in changes:
            own[field.name] = changes[field.name]
    return replace(record, **own)


def _read(option: Option, given: Any) -> Any:
    """A value of the option's type."""
    value = _parse(given) if isinstance(given, str) else given
    for kind in _alternatives(option.kind):
        try:
            return _as(kind, value, given)
        except (TypeError, ValueError, ArithmeticError, RecursionError):
            continue
    raise InputError(f"option {option.name} is {shown(given)}: allowed are {option.allowed}")


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, or nested too deeply
        parts = text.split(",")
        return [_parse(part) for part in parts] if len(parts) > 1 else text


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _is_part(value: Any) -> bool:
    """Whether a field's value has options of its own, and is not one itself."""
    return is_dataclass(value) and not isinstance(value, Budget)


def _is_simple(kind: Any) -> bool:
    return kind in (bool, int, float, str, NoneType, Budget) or get_origin(kind) in (Literal, tuple)


def _as(kind: Any, value: Any, given: Any) -> Any:
    if kind is Budget:
        return _budget(value)
    if get_origin(kind) is Literal:
        return value if value in get_args(kind) else _fail()
    if get_origin(kind) is tuple:
        of, several = get_args(kind)[0], isinstance(value, list | tuple)
        if get_origin(of) is tuple and not (several and all(isinstance(row, list | tuple) for row in value)):
            _fail()  # a single number is a list of one, but no table
        return tuple(_as_one_of(of, item) for item in (value if several else [value]))
    if kind is NoneType:
        return None if value is None or value in ("none", "None") else _fail()
    if kind is bool:
        return value if isinstance(value, bool) else _fail()
    if kind is int:
        return int(value) if _is_number(value) and value == int(value) else _fail()
    if kind is float:
        return float(value) if _is_number(value) else _fail()
    return given if kind is str and isinstance(given, str) else _fail()


def _as_one_of(kind: Any, item: Any) -> Any:
    """One of several values, of the first type that it fits."""
    for each in _alternatives(kind):
        with suppress(TypeError, ValueError, OverflowError):
            return _as(each, item, item)
    return _fail()


def _fail() -> Any:
    raise ValueError


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _budget(value: Any) -> Budget:
    """A number, or start:end or start:end:until, or the same as a list."""
    if isinstance(value, Budget):
        return value
    parts = value.split(":") if isinstance(value, str) else value
    numbers = [float(part) for part in (parts if isinstance(parts, list | tuple) else [parts])]
    if len(numbers) > 3:
        raise ValueError
    return Budget(*numbers)


def _describe(kind: Any, within: Within | None) -> str:
    """Which values a type has, in words."""
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(_describe(each, within) for each in get_args(kind))
    if get_origin(kind) is Literal:
        return ", ".join(map(str, get_args(kind)))
    if get_origin(kind) is tuple and get_origin(get_args(kind)[0]) is tuple:
        return "rows of numbers"
    if get_origin(kind) is tuple:
        return f"{_describe(get_args(kind)[0], within)}, several with commas"
    if kind in (int, float):
        return str(within or Within(whole=kind is int))
    names = {bool: "true, false", NoneType: "none", str: "text"}
    return names.get(kind, "numbers from 0, or start:end, or start:end:share of training")


def _plain(value: Any) -> Any:
    if isinstance(value, Budget):
        return value.start if value.end is None else [value.start, value.end, value.until]
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


@cache
def _docstrings(record: type) -> dict[str, str]:
    """The docstring under each field, those of base classes included."""
    found: dict[str, str] = {}
    for base in filter(is_dataclass, reversed(record.__mro__)):
        with suppress(OSError, TypeError):  # a class from an interactive session has no source to read
            said = parse_from_object(base).params
            found |= {p.arg_name: " ".join((p.description or "").split()) for p in said}
    return found
