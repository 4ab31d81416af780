"""The training loop: one line for each arrow of the design. Read this file first.

    Task + Dynamics -> Simulator -> Rollout -> robust Targets -> PPO update -> Reweighting -> Simulator

Every algorithm is trained by this loop; what differs between them are the parts of its `Algorithm` record.
The loop does no I/O: the caller writes the run folder.
"""

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rapo.algorithms.spec import Report
from rapo.arrays import Bools, Floats, Ids
from rapo.heavy import Array
from rapo.training.config import Config
from rapo.training.episodes import no_episodes
from rapo.training.memory import check_memory
from rapo.training.probing import make_prober
from rapo.training.rollout import (
    Advance,
    BranchedSteps,
    Probed,
    Rollout,
    Visited,
    branch,
    collect,
    for_device,
)
from rapo.training.steersman import Chooser, make_advance
from rapo.training.update import Learner, init, learn
from rapo.world.engines import make_simulator
from rapo.world.streams import ACTING, DRAWING, ENSEMBLE, SHUFFLING, STEERING, stream


class Training:
    """A run in memory: make it, then call `update` until it is `finished`."""

    def __init__(self, config: Config, threads: int = 0) -> None:
        check_memory(config)
        self.config = config
        self.threads = threads
        algorithm, task = config.algorithm, config.task
        self.models, prior = algorithm.dynamics.ensemble(task.dynamics, stream(config.seed, 0, ENSEMBLE))
        self.learner = init(config, prior)
        self.simulator = make_simulator(
            task,
            config.settings.num_envs,
            engine=config.engine,
            seed=config.seed,
            fresh=algorithm.dynamics.fresh(task.dynamics, self.models, prior),
            force_bodies=algorithm.opponent.bodies(task) if algorithm.opponent else (),
            threads=threads,
        )
        self.episodes = no_episodes(config.settings.num_envs)
        self._prober = make_prober(config)
        self._shuffled: tuple[int, NDArray[np.int32]] | None = None
        self.updates = 0
        self.branch_steps = 0
        self.branch_divergences = 0

    @property
    def finished(self) -> bool:
        """Whether all steps have been taken."""
        return self.updates >= self.config.updates

    @property
    def steps(self) -> int:
        """Environment steps so far, branches not counted."""
        return self.updates * self.config.steps_per_update

    def update(self) -> dict[str, Any]:
        """Collect a rollout, branch, learn and reweight, once; return the metrics of this update."""
        times = [perf_counter()]
        shares, only = self._wanted()
        plan = None if self._prober is None else self._prober.plan(self.updates)
        advance = self._advance()
        rollout, visited = self._collect(only is not None or (plan is not None and plan.pairs), advance)
        times.append(perf_counter())
        branches = probed = None
        if visited is not None and only is not None:
            branches = branch(self.simulator, visited, self.models, only)
        if visited is not None and plan is not None and self._prober is not None:
            probed = self._prober.probe(self.simulator, plan, visited)
        times.append(perf_counter())
        self.learner, report = self._learn(rollout, branches, shares, probed)
        finished = self.episodes.finish(rollout.reward, rollout.ended, rollout.valid)  # as that computes
        self._shuffles(self.updates + 1)  # meanwhile: the orders of the next update
        self.move_mixture()
        times.append(perf_counter())
        self.updates += 1
        self._count(branches, only)
        self._count(None if probed is None else probed.branches, None)
        if isinstance(advance, Chooser):
            self.branch_steps += advance.simulated
            self.branch_divergences += advance.diverged
        return self._metrics(finished, report, np.diff(times))

    def _count(self, branches: BranchedSteps | None, only: Bools | None) -> None:
        """Count branches that were simulated, all of them or `only` some, and how many of them diverged."""
        if branches is not None:
            simulated = int(np.size(branches.valid) if only is None else only.sum())
            self.branch_steps += simulated
            self.branch_divergences += simulated - int(branches.valid.sum())

    def move_mixture(self) -> None:
        """Let new episodes draw their models from the mixture as it is now."""
        weights = np.asarray(self.learner.mixture.weights)
        draws, dynamics = self.config.algorithm.dynamics, self.config.task.dynamics
        self.simulator.fresh = draws.fresh(dynamics, self.models, weights)

    def _wanted(self) -> tuple[Array | None, Bools | None]:
        """The weight of each model in each target, and which branches to simulate for that, both `[B, K]`."""
        rows, weights = self.config.steps_per_update, self.learner.mixture.weights
        shares = self.config.algorithm.targets.shares(self._stream(DRAWING), weights, rows)
        scored = self.config.algorithm.mixture.scored(rows)
        if shares is None and not scored:
            return None, None
        only = np.zeros((rows, len(weights)), bool) if shares is None else np.asarray(shares) > 0
        only[np.linspace(0, rows - 1, scored).astype(int)] = True
        return shares, only

    def _collect(self, keep: Ids | bool, advance: Advance | None) -> tuple[Rollout, Visited | None]:
        """A rollout of the policy, and its opponent; with `keep`, also the pairs that branches start from."""
        opponent, task = self.config.algorithm.opponent, self.config.task
        return collect(
            self.simulator,
            [player.parameters.policy for player in self.learner.players],
            self.learner.observations,
            self._stream(ACTING),
            self.config.settings.horizon,
            self.models,
            None if opponent is None else lambda pushes: opponent.forces(task, pushes),
            keep,
            advance,
            sensed=self.config.algorithm.sensitivity is not None,
        )

    def _advance(self) -> Advance | None:
        """What takes the steps of this update's rollout, if an adversary steers them."""
        done = self.updates / self.config.updates
        return make_advance(
            self.config, self.simulator, self.learner, self.models, self._stream(STEERING), done
        )

    def _learn(
        self,
        rollout: Rollout,
        branches: BranchedSteps | None,
        shares: Array | None,
        probed: Probed | None,
    ) -> tuple[Learner, Report]:
        """Robust targets, PPO update and reweighting, for the policy or the opponent, whose turn it is."""
        opponent, units = self.config.algorithm.opponent, self.config.task.dynamics.units
        return learn(
            self.learner,
            rollout,
            branches,
            shares,
            for_device(self._shuffles(self.updates)),
            self.updates / self.config.updates,
            probed,
            None if probed is None else for_device(units(self.models).astype(np.float32)),
            algorithm=self.config.algorithm,
            settings=self.config.settings,
            who=int(opponent is not None and opponent.learns(self.updates)),
        )

    def _shuffles(self, update: int) -> NDArray[np.int32]:
        """The order of the rows in each epoch of an update, `[epochs, B]`; that of the last call is kept."""
        if self._shuffled is None or self._shuffled[0] != update:
            rows = np.arange(self.config.steps_per_update, dtype=np.int32)
            rng = stream(self.config.seed, update, SHUFFLING)
            epochs = np.tile(rows, (self.config.settings.ppo.epochs, 1))
            self._shuffled = update, rng.permuted(epochs, axis=1)
        return self._shuffled[1]

    def _metrics(
        self, finished: tuple[Floats, Floats], report: Report, seconds: np.ndarray
    ) -> dict[str, Any]:
        returns, lengths = finished
        names = ("seconds_physics", "seconds_branch", "seconds_learning")
        return {
            "update": self.updates,
            "steps": self.steps,
            "branch_steps": self.branch_steps,
            "episodes": len(returns),
            "return": float(returns.mean()) if len(returns) else None,
            "episode_length": float(lengths.mean()) if len(lengths) else None,
            "divergences": self.simulator.divergences,
            "branch_divergences": self.branch_divergences,
            **{name: np.asarray(value).tolist() for name, value in report.items()},
            **dict(zip(names, seconds.tolist(), strict=True)),
        }

    def _stream(self, purpose: int) -> np.random.Generator:
        """A generator for one purpose in this update; it depends on the seed and the update's number only."""
        return stream(self.config.seed, self.updates, purpose)
