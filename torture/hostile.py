"""What nobody should give a program, as strategies of hypothesis: options, grid files, damaged files."""

import json
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin

from hypothesis import strategies as st

from rapo.algorithms import ALGORITHMS
from rapo.training.config import Settings
from rapo.training.options import options

Draw = Callable[[st.SearchStrategy[Any]], Any]

LARGE_NUMBERS = st.sampled_from([0, 4, 6, 9, 12, 19, 30, 400]).flatmap(
    lambda digits: st.sampled_from([1, -1]).map(lambda sign: sign * 10**digits)
)
WITHOUT_TEXT = st.just(5_000).map(lambda digits: 10**digits)
"""A number that Python refuses to write."""
ODD_NUMBERS = st.one_of(
    st.floats(), st.integers(), LARGE_NUMBERS, WITHOUT_TEXT, st.fractions(), st.complex_numbers()
)
DIGITS, DEEP = "1" * 5_000, "[" * 100_000
TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["", ",", "1,,2", "1e400", "nan", "-inf", "none", "true", "0:1:2", "::", "{}", "a\0b"]),
    st.sampled_from([DIGITS, DEEP, '{"a":' * 5_000, "../..", "x" * 100_000, "models.csv", "a\nb", "\ud800"]),
)
SCALARS = st.one_of(st.none(), st.booleans(), ODD_NUMBERS, TEXTS, st.binary(max_size=4))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.tuples(inner, inner), st.dictionaries(TEXTS, inner, max_size=2)
    ),
    max_leaves=6,
)
"""Anything that may be given in Python."""
JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), LARGE_NUMBERS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
"""Anything that may stand in a file of JSON or TOML."""
PLAUSIBLE = st.one_of(
    st.integers(0, 4), st.floats(0, 1), st.booleans(), st.sampled_from(["1", "0.5", "0:0.5", "none", "8,4"])
)
"""What an option may be: without such values nothing would ever be accepted."""


@st.composite
def option_dictionaries(draw: Draw) -> tuple[str, dict[Any, Any]]:
    """An algorithm and options for it, most of which no one should give."""
    algo = draw(st.sampled_from(sorted(ALGORITHMS)))
    known = {**options(Settings()), **options(ALGORITHMS[algo])}
    odd = st.one_of(TEXTS, st.none(), st.integers())
    chosen: dict[Any, Any] = {}
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(sorted(known)) if draw(st.integers(0, 15)) else odd)
        usual = PLAUSIBLE
        if name in known and get_origin(known[name].kind) is Literal:
            usual = st.sampled_from(get_args(known[name].kind))
        chosen[name] = draw(usual if draw(st.booleans()) else VALUES)
    return algo, chosen


@st.composite
def grid_texts(draw: Draw) -> str:
    """A grid file: a sound one with some keys or options replaced, damaged as text at times."""
    said: dict[str, Any] = {"tasks": ["hopper"], "algorithms": ["ppo", "rapo"], "seeds": [0], "steps": 64}
    keys = st.sampled_from([*said, "out", "options", "algorithm", "sweep", "search", "tracking", "x"])
    for key in draw(st.lists(keys, max_size=2)):
        said[key] = draw(JSON_VALUES)
    if draw(st.booleans()):
        names = st.sampled_from(["num_envs", "hidden", "models", "epsilon", "clip", "law", "x"])
        said["options"] = draw(
            st.dictionaries(names, st.one_of(JSON_VALUES, st.lists(PLAUSIBLE, max_size=3)), max_size=3)
        )
    text = "\n".join(f"{toml_value(key)} = {toml_value(value)}" for key, value in said.items())
    if draw(st.integers(0, 3)):
        return text
    return draw(damaged(text.encode())).decode(errors="replace")


def toml_value(value: Any) -> str:
    """A value as TOML has it; None becomes a word that TOML refuses."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_value(str(k))} = {toml_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value)


@st.composite
def damaged(draw: Draw, content: bytes) -> bytes:
    """The content of a file after something has happened to it."""
    start = draw(st.integers(0, max(0, len(content) - 1)))
    end = min(len(content), start + draw(st.integers(1, 64)))
    before, middle, after = content[:start], content[start:end], content[end:]
    hostile = st.sampled_from([b"", b"NaN", b"1e999", b"-1", b"[" * 100_000, DIGITS.encode(), b"\0", b"\n"])
    return draw(
        st.sampled_from(
            [
                before,  # cut short
                before + after,
                before + middle + middle + after,
                before + bytes([middle[0] ^ 1 << draw(st.integers(0, 7))]) + middle[1:] + after
                if middle
                else b"",
                before + draw(st.binary(max_size=16)) + after,
                before + draw(hostile) + after,
                _other_number(before, middle + after, draw(hostile)),
                after + before,
                draw(st.binary(max_size=64)),
            ]
        )
    )


def _other_number(before: bytes, rest: bytes, other: bytes) -> bytes:
    """The next number after some place replaced by something else."""
    first = next((i for i, byte in enumerate(rest) if chr(byte).isdigit()), len(rest))
    last = next((i for i in range(first, len(rest)) if not chr(rest[i]).isdigit()), len(rest))
    return before + rest[:first] + other + rest[last:]


@st.composite
def altered(draw: Draw, said: dict[str, Any]) -> dict[str, Any]:
    """A description in JSON, one place of which has something else, or nothing, or more."""
    copy = json.loads(json.dumps(said))
    place: Any = copy
    key = draw(st.sampled_from(sorted(copy)))
    while isinstance(place[key], dict | list) and place[key] and draw(st.booleans()):
        place = place[key]
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    what = draw(st.sampled_from(["replace", "remove", "add"]))
    if what == "add" and isinstance(place, dict):
        place[draw(st.text(max_size=8))] = draw(JSON_VALUES)
    elif what == "remove":
        del place[key]
    else:
        place[key] = draw(JSON_VALUES)
    return copy
