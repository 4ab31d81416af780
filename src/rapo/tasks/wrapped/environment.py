"""Making a Gymnasium MuJoCo environment, by id or by class, and refusing what can't be a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.envs.mujoco import MujocoEnv
from gymnasium.spaces import Box

from rapo.errors import InputError, unknown

OWN = "gymnasium.envs.mujoco."
"""Where Gymnasium's own MuJoCo environments are."""


def own_ids() -> list[str]:
    """The ids of Gymnasium's own MuJoCo environments of today; it warns of those of before."""
    found = [name for name, spec in gymnasium.registry.items() if str(spec.entry_point).startswith(OWN)]
    return [name for name in found if name.endswith("-v5")]


def title(environment: str | type) -> str:
    """What an environment is called: its id, or the name of its class."""
    return environment if isinstance(environment, str) else environment.__name__


def make_environment(environment: str | type, options: Mapping[str, Any]) -> tuple[Any, int | None]:
    """An environment without wrappers, and how many steps its episodes have if Gymnasium knows it."""
    name, limit = title(environment), None
    try:
        if isinstance(environment, str):
            made = gymnasium.make(environment, disable_env_checker=True, **options)
            spec, made = made.spec, made.unwrapped
            assert spec is not None
            if spec.additional_wrappers:
                raise InputError(
                    f"environment '{name}' is registered with wrappers: give the class of the environment"
                )
            limit = spec.max_episode_steps
        else:
            made = environment(**options)
    except gymnasium.error.UnregisteredEnv:
        raise unknown("Gymnasium environment", name, own_ids()) from None
    except (gymnasium.error.Error, ImportError, TypeError, OSError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"environment '{name}' can't be made: {said}") from None
    _check(made, name)
    return made, limit


def _check(made: Any, name: str) -> None:
    """Refuse what is no MuJoCo environment, or one whose numbers are not those of a task."""
    if not isinstance(made, MujocoEnv):
        raise InputError(
            f"environment '{name}' is a {type(made).__name__}, no MuJoCo environment: allowed are subclasses "
            "of gymnasium.envs.mujoco.MujocoEnv"
        )
    seen, acted = made.observation_space, made.action_space
    if not isinstance(seen, Box) or len(seen.shape) != 1:
        raise InputError(
            f"environment '{name}' has observation space {_brief(seen)}: allowed is a Box of one dimension"
        )
    if not isinstance(acted, Box) or acted.shape != (made.model.nu,):
        raise InputError(
            f"environment '{name}' has action space {_brief(acted)}: allowed is a Box with a number for each "
            f"of its {made.model.nu} actuators"
        )
    for method in ("do_simulation", "_step_mujoco_simulation"):
        if getattr(type(made), method) is not getattr(MujocoEnv, method):
            raise InputError(
                f"environment '{name}' has a {method} of its own: its physics can't be simulated in batches"
            )


def _brief(space: Any) -> str:
    shape = getattr(space, "shape", None)
    return f"{type(space).__name__}" + ("" if shape is None else f" of shape {shape}")
