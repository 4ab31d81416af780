"""Tasks as Gymnasium environments, so that other libraries train and test under changed physics.

    import gymnasium, rapo.gym
    gymnasium.make_vec("rapo/Hopper", num_envs=8, dynamics="train")
    gymnasium.make("rapo/Hopper", dynamics={"mass": 1.5})

`rapo/Task` takes a task of one's own, `task=` an object or FILE:CLASS. dynamics: None is the nominal ones;
"train" draws them for every episode from the training ranges, "test" from the test ranges; a mapping gives
values of some parameters; an array `[P]` or `[num_envs, P]` gives all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from rapo.arrays import Bools, Floats
from rapo.deploy.renderer import Picture, Renderer, headless
from rapo.errors import InputError
from rapo.world.engines import make_simulator
from rapo.world.find_task import TASKS, as_task
from rapo.world.simulator import FreshDynamics, Simulator
from rapo.world.task import Task

PIXELS = (400, 320)
"""Width and height of pictures."""
Given = str | Mapping[str, float] | Sequence[Any] | Floats | None


class TaskVector(VectorEnv[Floats, Floats, Any]):
    """N environments of a task, stepped together on all cores; ended ones begin anew in the same step.

    The last observations of ended episodes are in `infos["final_obs"]`. Every info has the dynamics `[N, P]`
    of the episodes that run now. One seed decides all environments together, so that a list of seeds counts
    as one.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        task: str | Task | type[Task],
        num_envs: int = 1,
        *,
        dynamics: Given = None,
        threads: int = 0,
        render_mode: None = None,
        **others: Any,
    ) -> None:
        if render_mode is not None:
            raise InputError(f"render_mode {render_mode!r} was given: allowed is None")
        if others:
            raise InputError(f"unknown argument '{next(iter(others))}': allowed are dynamics and threads")
        self.task = as_task(task)
        self.num_envs = num_envs
        self._given, self._threads = dynamics, threads
        self.single_observation_space, self.single_action_space = spaces_of(self.task)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.simulator = self._made(int(np.random.SeedSequence().generate_state(1)[0]), dynamics)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin all episodes anew, under other dynamics if `options` has some under that name."""
        super().reset(seed=_one_seed(seed))
        own = {} if options is None else dict(options)
        self._given = own.pop("dynamics", self._given)
        if own:
            raise InputError(f"unknown reset option '{next(iter(own))}': allowed is dynamics")
        drawn = int(self.np_random.integers(2**62))
        self.simulator = self._made(drawn, self._given)
        return self.simulator.observation.copy(), self._infos(np.ones(self.num_envs, bool))

    def step(self, actions: Floats) -> tuple[Floats, Floats, Bools, Bools, dict[str, Any]]:
        """Take one step with actions `[N, action]`."""
        step = self.simulator.step(actions)
        infos = self._infos(np.ones(self.num_envs, bool))
        done = step.done
        if done.any():
            last = np.full(self.num_envs, None, object)
            for i in np.flatnonzero(done):
                last[i] = step.next_observation[i].copy()
            infos |= {
                "final_obs": last,
                "_final_obs": done.copy(),
                "final_info": {},
                "_final_info": done.copy(),
            }
        if step.diverged.any():
            infos |= {"diverged": step.diverged.copy(), "_diverged": step.diverged.copy()}
        return step.observation.copy(), step.reward, step.terminated, step.truncated, infos

    def _made(self, seed: int, dynamics: Given) -> Simulator:
        rows, fresh = chosen_dynamics(self.task, dynamics, self.num_envs)
        return make_simulator(
            self.task, self.num_envs, seed=seed, dynamics=rows, fresh=fresh, threads=self._threads
        )

    def _infos(self, mask: Bools) -> dict[str, Any]:
        return {"dynamics": self.simulator.dynamics, "_dynamics": mask}


class TaskEnv(gymnasium.Env[Floats, Floats]):
    """One environment of a task; every info has its dynamics by name."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012

    def __init__(
        self,
        task: str | Task | type[Task],
        *,
        dynamics: Given = None,
        render_mode: str | None = None,
        **others: Any,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise InputError(f"render_mode {render_mode!r} was given: allowed are None and 'rgb_array'")
        if others:
            raise InputError(f"unknown argument '{next(iter(others))}': allowed is dynamics")
        self.render_mode = render_mode
        self._vector = TaskVector(task, 1, dynamics=dynamics, threads=1)
        self._last: Floats | None = None
        """`[nq]`, the pose before the step that ended the episode: the simulator has begun the next one."""
        self._drawing: tuple[ExitStack, Any, Renderer] | None = None
        self.task = self._vector.task
        self.metadata = self.metadata | {"render_fps": round(1 / self.task.dt)}
        self.observation_space = self._vector.single_observation_space
        self.action_space = self._vector.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        observation, infos = self._vector.reset(seed=seed, options=options)
        self._last = None
        return observation[0], self._info(infos)

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Take one step; the episode that ended is to be reset by the caller."""
        pose = self._vector.simulator.data.qpos[0].copy()
        running = self._vector.simulator.dynamics  # those of the next episode come with the end of this one
        observation, reward, terminated, truncated, infos = self._vector.step(np.asarray(action)[None])
        if "final_obs" in infos:
            observation, self._last = infos["final_obs"], pose
        return (
            observation[0],
            float(reward[0]),
            bool(terminated[0]),
            bool(truncated[0]),
            self._info({"dynamics": running}),
        )

    def render(self) -> Picture | None:
        """The picture `[height, width, 3]` of the robot as it is now, if pictures were asked for."""
        if self.render_mode is None:
            return None
        if self._drawing is None:
            held = ExitStack()
            context = held.enter_context(headless(*PIXELS))
            renderer = Renderer(self.task.model.__copy__(), *PIXELS)
            held.callback(renderer.close)
            self._drawing = held, context, renderer
        _, context, renderer = self._drawing
        context.make_current()
        return renderer(self._vector.simulator.data.qpos[0] if self._last is None else self._last).copy()

    def close(self) -> None:
        """Give back what pictures were drawn with."""
        if self._drawing is not None:
            held, context, _ = self._drawing
            context.make_current()
            held.close()
            self._drawing = None

    def _info(self, infos: dict[str, Any]) -> dict[str, Any]:
        values = infos["dynamics"][0].tolist()
        return {"dynamics": dict(zip(self.task.dynamics.names, values, strict=True))}


def spaces_of(task: Task) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """The observation and action spaces of a task."""
    seen = gymnasium.spaces.Box(-np.inf, np.inf, (task.observation_size,), np.float64)
    low, high = (end.astype(np.float32) for end in task.action_range)
    return seen, gymnasium.spaces.Box(low, high, dtype=np.float32)


def chosen_dynamics(task: Task, given: Given, n: int) -> tuple[Floats | None, FreshDynamics | None]:
    """Rows `[n, P]` of dynamics, or a function that draws them for every episode."""
    dynamics = task.dynamics
    if given is None:
        return dynamics.nominal(n), None
    if isinstance(given, str):
        if given not in ("train", "test"):
            raise InputError(
                f"dynamics '{given}' were given: allowed are 'train', 'test', values by name, or an array"
            )
        if given == "train":
            return None, dynamics.uniform
        return None, partial(dynamics.uniform, over="test")
    if isinstance(given, Mapping):
        rows = dynamics.nominal(n)
        for name, value in given.items():
            rows[:, dynamics.column(name)] = value
        return dynamics.check(rows), None
    rows = dynamics.check(np.asarray(given, np.float64))
    return np.repeat(rows, n, axis=0) if len(rows) == 1 else rows, None


def _one_seed(seed: int | Sequence[int | None] | None) -> int | None:
    if seed is None or isinstance(seed, int | np.integer):
        return None if seed is None else int(seed)
    given = [0 if each is None else int(each) + 1 for each in seed]
    return int(np.random.SeedSequence(given).generate_state(1)[0])


def _register() -> None:
    """Make the names known to Gymnasium."""
    named = {f"rapo/{TASKS.class_name(name)}": {"task": name} for name in TASKS}
    for name, given in {**named, "rapo/Task": {}}.items():
        gymnasium.register(
            name, entry_point="rapo.gym:TaskEnv", vector_entry_point="rapo.gym:TaskVector", kwargs=given
        )


_register()
