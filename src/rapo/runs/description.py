"""What a run says of itself: its configuration as written, and what its checkpoint knows of it.

The checkpoint is digested and config.json is not, so that one is compared with the other whenever a run is
read: a configuration that was altered is found before anything is measured, shown or trained.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rapo.errors import InputError
from rapo.runs.checkpoint import read_facts
from rapo.training.config import default_options, identity, up_to_date

CONFIG, CHECKPOINT = "config.json", "checkpoint.safetensors"
POLICY = "policy.json"
"""Says of a folder that it holds what was measured of a policy file: its name, configuration and steps."""
ALSO_COMPARED = ("task_options", "movable")
"""What decides no number of a run, but how reports show it."""


POLICIES = (".onnx", ".safetensors")
"""How the names of files end that hold an exported policy."""
ZOO = "zoo:"
"""How the names of policies begin that come with the package."""


def is_policy(path: Path) -> bool:
    """Whether this names an exported policy, a file or one of the zoo, where a run folder might be named."""
    return path.suffix in POLICIES or str(path).startswith(ZOO)


def read_policy(folder: Path) -> dict[str, Any] | None:
    """What a folder says of the policy file that was measured into it; None for any other folder."""
    path = folder / POLICY
    if not path.is_file():
        return None
    with suppress(ValueError, RecursionError, OSError):
        said = json.loads(path.read_bytes())
        if isinstance(said, dict) and is_description(said.get("config")) and type(said.get("steps")) is int:
            return said
    raise InputError(f"file '{path}' is damaged: measure the policy again")


def config_file(folder: Path) -> Path:
    """The configuration that makes a folder a run."""
    path = folder / CONFIG
    if is_policy(folder) and not folder.is_dir():
        raise InputError(
            f"'{folder}' is only a policy: its critic, optimiser and metrics are in the folder of the run "
            "that it came from, give that"
        )
    try:
        if not path.is_file():
            raise InputError(f"folder '{folder}' is not a run: it has no {CONFIG}")
    except OSError as error:
        raise InputError(f"folder '{folder}' can't be read: {error.strerror}") from None
    return path


def read_description(folder: Path) -> dict[str, Any]:
    """What config.json of a run says, refused where it is not what the checkpoint was saved with."""
    path = config_file(folder)
    damaged = InputError(f"{CONFIG} of run '{folder}' is damaged: it can't be read")
    try:
        said = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise damaged from None
    except OSError as error:
        raise InputError(f"{CONFIG} of run '{folder}' can't be read: {error.strerror}") from None
    if not is_description(said):
        raise damaged
    saved = None
    with suppress(InputError):  # who needs the checkpoint itself says what is wrong with it
        saved = saved_facts(folder)
    if saved is not None:
        whose = f"{CONFIG} of run '{folder}' is not what its checkpoint was saved with"
        check_same(whose, saved["config"], said, ALSO_COMPARED)
    return said


def is_description(said: Any) -> bool:
    """Whether something read from a file has the form of a run's configuration."""
    return (
        isinstance(said, dict)
        and isinstance(said.get("task"), str)
        and isinstance(said.get("algo"), str)
        and isinstance(said.get("options"), dict)
    )


def saved_facts(folder: Path) -> dict[str, Any] | None:
    """What the checkpoint of a run says of itself; None if there is none yet."""
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    facts = read_facts(path)
    counters = facts.get("counters")
    if not is_description(facts.get("config")) or not isinstance(counters, dict):
        raise InputError(f"checkpoint of run '{folder}' lacks its configuration or its counters")
    for name, value in counters.items():
        if type(value) is not int or not 0 <= value < 2**63:
            raise InputError(
                f"counter '{name}' of the checkpoint of run '{folder}' is {value!r}: "
                "allowed are whole numbers from 0"
            )
    if "updates" not in counters:
        raise InputError(f"checkpoint of run '{folder}' lacks its counter of updates")
    return facts


def saved_updates(folder: Path) -> int:
    """After how many updates a run was last saved; 0 if it never was."""
    facts = saved_facts(folder)
    return 0 if facts is None else facts["counters"]["updates"]


def check_same(
    whose: str, was: Mapping[str, Any], now: Mapping[str, Any], also: tuple[str, ...] = ()
) -> None:
    """Refuse the description of a run that learns other numbers than this one; `whose` begins the error.

    also: what is compared too, where both say it.
    """
    try:
        pairs: list[tuple[str, Any, Any]] = [("", _decided(was, now, also), _decided(now, was, also))]
        while pairs:
            name, before, after = pairs.pop(0)
            if isinstance(before, dict) and isinstance(after, dict):
                pairs += [(f"{name} {key}", before.get(key), after.get(key)) for key in {**before, **after}]
            elif json.dumps(before) != json.dumps(after):
                raise InputError(
                    f"{whose}: its{name} is {json.dumps(before)}, and now it is {json.dumps(after)}"
                )
    except InputError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError):
        raise InputError(f"{whose}: it describes itself in a way that can't be read") from None


def _decided(said: Mapping[str, Any], other: Mapping[str, Any], also: tuple[str, ...]) -> dict[str, Any]:
    """What decides the numbers of a run, options that it does not name being the defaults."""
    now = up_to_date(said)
    usual = default_options(now["task"], now["algo"], now.get("task_options"))
    chosen = usual | dict(now["options"])
    shown = {key: said[key] for key in also if key in said and key in other}
    if also:  # options that decide no number too: how often a heatmap is recorded
        shown["options"] = chosen
    return identity({**now, "options": chosen}) | shown
