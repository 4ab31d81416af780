"""Tasks of Gymnasium environments that nobody wrote a class for: by id on the command line, or in Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import gymnasium

from rapo.errors import InputError, unknown
from rapo.tasks.locomotion import PARAMETERS
from rapo.tasks.wrapped.batched import BATCHED
from rapo.tasks.wrapped.environment import own_ids, title
from rapo.tasks.wrapped.gymnasium_task import GymnasiumTask
from rapo.world.parameter import Parameter


def wrap(
    environment: str | type,
    parameters: Sequence[Parameter] = PARAMETERS,
    *,
    batched: bool = True,
    **options: Any,
) -> GymnasiumTask:
    """A Gymnasium MuJoCo environment, by id or by class, as a task with these uncertain parameters.

    batched: whether to compute observations and rewards for all simulations at once where that is known for
    the environment, and not through its own functions; options: what the environment is made with.
    """
    known = batched and not options and isinstance(environment, str)
    base = BATCHED.get(str(environment), GymnasiumTask) if known else GymnasiumTask
    said = {"environment": environment, "parameters": tuple(parameters), "environment_options": options}
    kind: Any = type(title(environment), (base,), said)
    return kind()


@cache
def class_of(name: str) -> type[GymnasiumTask]:
    """The task of an environment that comes with Gymnasium, by its id; those of others have to be wrapped."""
    if name not in own_ids():
        if name in gymnasium.registry:
            raise InputError(
                f"environment '{name}' is none of Gymnasium's MuJoCo v5 environments: allowed are "
                f"{', '.join(own_ids())}, or a class of your own as FILE:CLASS"
            )
        raise unknown("task", name, own_ids())
    kind: type[GymnasiumTask] = BATCHED.get(name) or type(name, (GymnasiumTask,), {"environment": name})
    return kind
