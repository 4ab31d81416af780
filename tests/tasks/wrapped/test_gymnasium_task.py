"""Environments of Gymnasium as tasks: the same numbers, in batches or through their own functions."""

import signal
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.mujoco import MujocoEnv
from gymnasium.spaces import Box, Dict

import rapo
from rapo import GymnasiumTask, InputError, MujocoSimulator, Parameter, wrap
from rapo.cli import main
from rapo.runs.checkpoint import read_checkpoint
from rapo.runs.run import CHECKPOINT
from rapo.tasks.wrapped.batched import BATCHED, Swimmer
from rapo.world.step_reader import BLOCK

SCALES = {"nominal": [1.0, 1.0, 1.0, 1.0], "perturbed": [0.7, 1.3, 0.6, 1.4]}
SMALL: dict[str, Any] = {"num_envs": 4, "horizon": 16, "minibatches": 2, "epochs": 1, "heatmap_every": 0}


def begin(task, simulator, env, dynamics, seed):
    """Begin the same episode in a simulator of one environment and in Gymnasium's."""
    rows = np.array([dynamics])
    simulator.reset(rows, task.begin(rows, np.random.default_rng(seed)))
    env.unwrapped.np_random = np.random.default_rng(seed)
    return env.reset()[0]


@pytest.mark.parametrize("dynamics", SCALES.values(), ids=SCALES.keys())
@pytest.mark.parametrize("batched", [True, False], ids=["batched", "own functions"])
@pytest.mark.parametrize("name", BATCHED)
def test_hundreds_of_steps_beside_gymnasium_agree(name, batched, dynamics):
    task = wrap(name, batched=batched)
    assert task.is_batched == batched
    env: Any = gymnasium.make(name, disable_env_checker=True)
    task.dynamics.write(env.unwrapped.model, dynamics)
    simulator, rng = MujocoSimulator(task, 1, seed=0), np.random.default_rng(1)
    low, high = task.action_range
    np.testing.assert_array_equal(low, env.action_space.low)
    episodes, begun = 0, begin(task, simulator, env, dynamics, 0)
    np.testing.assert_allclose(simulator.observation[0], begun, rtol=1e-9, atol=1e-9)
    for _ in range(300):
        action = 1.2 * rng.uniform(low, high)
        observation, reward, terminated, truncated, _ = env.step(action)
        step = simulator.step(action[None])
        np.testing.assert_allclose(step.next_observation[0], observation, rtol=1e-9, atol=1e-9)
        assert step.reward[0] == pytest.approx(reward, rel=1e-9, abs=1e-9)
        assert (step.terminated[0], step.truncated[0]) == (terminated, truncated)
        assert not step.diverged[0]
        if terminated or truncated:
            episodes += 1
            begin(task, simulator, env, dynamics, episodes)
    assert episodes > 0 or name == "Swimmer-v5", "no episode ended: ends were not tried"


def test_an_episode_is_as_long_as_gymnasiums():
    assert [wrap(name).time_limit for name in ("Swimmer-v5", "Pusher-v5")] == [1000, 100]


class Pendulum(MujocoEnv):
    """A cart and a pole, with a goal and a past of its own."""

    metadata = {"render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"]}  # noqa: RUF012

    def __init__(self, gain=0.5, **kwargs):
        self.metadata = self.metadata | {"render_fps": 25}
        space = Box(-np.inf, np.inf, (7,), np.float64)
        super().__init__("inverted_pendulum.xml", 2, space, **kwargs)
        self.gain, self.steps, self.goal, self.last = gain, 0, np.zeros(1), np.zeros(1)

    def reset_model(self):
        self.steps, self.last = 0, np.zeros(1)
        self.goal = self.np_random.uniform(-1, 1, 1)
        self.set_state(self.init_qpos + self.np_random.uniform(-0.01, 0.01, 2), self.init_qvel)
        return self.seen()

    def seen(self):
        tip = self.data.body("pole").xpos[:1]
        return np.concatenate((self.data.qpos, self.data.qvel, tip, self.goal, self.last))

    def step(self, action):
        begun = self.data.time
        self.do_simulation(np.clip(action, -1, 1) * self.gain, self.frame_skip)
        self.steps += 1
        reward = -abs(float(self.data.qpos[0] - self.goal[0])) - 0.1 * self.steps
        reward -= float(np.abs(action - self.last).sum()) + (self.data.time - begun)
        self.last = np.array(action, np.float64)
        return self.seen(), reward, bool(abs(self.data.qpos[1]) > 2), False, {}


POLE = Parameter("pole", ("body_mass", "body_inertia"), (0.8, 1.2), (0.5, 2.0), of="pole")


def test_what_an_environment_keeps_between_steps_is_carried_by_each_episode():
    task = wrap(Pendulum, [POLE], gain=0.7)
    simulator = MujocoSimulator(task, 3, seed=0, dynamics=[[0.8], [1.0], [2.0]])
    simulator.reset(states=task.begin(simulator.dynamics, np.random.default_rng(5)))
    originals, drawn = [Pendulum(gain=0.7) for _ in range(3)], np.random.default_rng(5)
    for original, row in zip(originals, simulator.dynamics, strict=True):
        task.dynamics.write(original.model, row)
        original.np_random = drawn
        original.reset()
    rng = np.random.default_rng(0)
    for _ in range(15):
        actions = rng.uniform(-2, 2, (3, 1))
        step = simulator.step(actions)
        theirs = [original.step(action) for original, action in zip(originals, actions, strict=True)]
        np.testing.assert_allclose(step.next_observation, [t[0] for t in theirs], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(step.reward, [t[1] for t in theirs], rtol=1e-9, atol=1e-9)
        assert step.terminated.tolist() == [t[2] for t in theirs]
        assert not step.done.any()


@pytest.mark.parametrize("make", [lambda: wrap(Pendulum, [POLE]), lambda: wrap("Humanoid-v5")])
def test_branches_are_what_a_step_under_their_dynamics_is(make):
    task = make()
    simulator, rng = MujocoSimulator(task, 2, seed=3), np.random.default_rng(0)
    for _ in range(3):
        simulator.step(rng.uniform(-0.1, 0.1, (2, task.action_size)))
    snapshot, actions = simulator.snapshot(), rng.uniform(-1, 1, (2, task.action_size))
    models = np.concatenate((task.dynamics.nominal(), task.dynamics.box("test")[:1]))
    once, again = (simulator.branch(snapshot, actions, models) for _ in range(2))
    np.testing.assert_array_equal(once.observation, again.observation)
    np.testing.assert_array_equal(once.reward, again.reward)
    for k, model in enumerate(models):
        simulator.restore(snapshot)
        step = simulator.step(actions, dynamics=model)
        np.testing.assert_array_equal(step.next_observation, once.observation[:, k])
        np.testing.assert_array_equal(step.reward, once.reward[:, k])
    assert (once.reward[:, 0] != once.reward[:, 1]).all()


def test_results_do_not_depend_on_the_number_of_threads():
    task, n = wrap(Pendulum, [POLE]), BLOCK + 40
    one, two = (MujocoSimulator(task, n, seed=0, threads=threads) for threads in (1, 2))
    actions = np.random.default_rng(0).uniform(-1, 1, (n, 1))
    one.step(actions)
    two.step(actions)
    ours, theirs = one.step(actions), two.step(actions)
    np.testing.assert_array_equal(ours.next_observation, theirs.next_observation)
    np.testing.assert_array_equal(ours.reward, theirs.reward)


def test_a_simulation_that_is_not_finite_diverges_alone():
    task = wrap("InvertedPendulum-v5", [POLE])
    simulator = MujocoSimulator(task, 3, seed=0)
    simulator.data.qvel[1] = np.nan
    step = simulator.step(np.zeros((3, 1)))
    assert step.diverged.tolist() == [False, True, False]
    assert np.isfinite(simulator.observation).all()


class Listed(Pendulum):
    """Keeps its past in a list."""

    def reset_model(self):
        self.past = [0.0]
        return super().reset_model()

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        self.past.append(float(action[0]))
        return observation, reward + sum(self.past), terminated, truncated, info


class Touching(Pendulum):
    """Counts contacts."""

    def seen(self):
        return super().seen() + self.data.ncon


class Forward(Pendulum):
    """Asks MuJoCo itself."""

    def step(self, action):
        import mujoco

        mujoco.mj_kinematics(self.model, self.data)
        return super().step(action)


class Pushed(Pendulum):
    """Simulates in its own way."""

    def do_simulation(self, ctrl, n_frames):
        super().do_simulation(ctrl, n_frames)


class Named(Pendulum):
    """Observes by name."""

    def __init__(self):
        super().__init__()
        self.observation_space = Dict({"all": Box(-np.inf, np.inf, (7,), np.float64)})


class Rarely(Pendulum):
    """Reads accelerations only after a while."""

    def seen(self):
        return super().seen() * (1.0 if self.steps < 30 else self.data.qacc[0])


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ("CartPole-v1", "is a CartPoleEnv, no MuJoCo environment"),
        ("Swimer-v5", "unknown Gymnasium environment 'Swimer-v5': did you mean 'Swimmer-v5'"),
        ("not an id", "environment 'not an id' can't be made: Malformed environment ID"),
        (Named, "has observation space Dict: allowed is a Box of one dimension"),
        (Pushed, "has a do_simulation of its own"),
        (Listed, "its reward is .* it keeps more from step to step than mjData, numbers and arrays"),
        (Touching, "mjData field 'ncon' can't be read by a task"),
        (Forward, "it gives its mjData to a function of MuJoCo in its step"),
    ],
)
def test_an_environment_that_cannot_be_a_task_is_refused_in_one_sentence(environment, says):
    with pytest.raises(InputError, match=says) as caught:
        wrap(environment, [])
    assert "\n" not in str(caught.value)


def test_options_and_parameters_that_the_environment_does_not_know_are_refused():
    with pytest.raises(InputError, match=r"environment 'Swimmer-v5' can't be made: .*wings"):
        wrap("Swimmer-v5", wings=2)
    with pytest.raises(InputError, match="unknown body 'wing': allowed are world, torso, mid, back"):
        wrap("Swimmer-v5", [Parameter("wing", "body_mass", (0.8, 1.2), (0.5, 1.5), of="wing")])


def test_a_field_that_is_read_in_some_states_only_has_to_be_named():
    class Declared(GymnasiumTask):
        environment, parameters, fields = Rarely, (POLE,), ("qacc",)

    lacking, declared = (MujocoSimulator(task, 1, seed=0) for task in (wrap(Rarely, [POLE]), Declared()))
    for _ in range(29):
        lacking.step(np.zeros((1, 1)))
        declared.step(np.zeros((1, 1)))
    with pytest.raises(InputError, match=r"it reads mjData.qacc, which it did not when it was tried"):
        lacking.step(np.zeros((1, 1)))
    assert np.isfinite(declared.step(np.zeros((1, 1))).next_observation).all()


def test_methods_over_batches_are_refused_where_they_differ_from_the_environment():
    class Slow(Swimmer):
        def score(self, before, after, data, actions):
            reward, terminated = super().score(before, after, data, actions)
            return 0.9 * reward, terminated

    class Half(GymnasiumTask):
        environment = "Swimmer-v5"

        def observe(self, data):
            return data.qpos.copy()

    with pytest.raises(InputError, match=r"its reward is .* so that observe, remember or score of the task"):
        Slow()
    with pytest.raises(InputError, match="has only one of observe and score"):
        Half()
    with pytest.raises(InputError, match="task GymnasiumTask has no environment"):
        GymnasiumTask()


def test_the_command_line_takes_ids_of_gymnasium_and_names_what_it_allows(refused):
    assert "none of Gymnasium's MuJoCo v5 environments: allowed are Reacher-v5" in refused(
        "train", "CartPole-v1"
    )
    assert "unknown task 'Swimer-v5': did you mean 'Swimmer-v5'?" in refused("train", "Swimer-v5")


class Stopping(Pendulum):
    """Gets Ctrl-C in the middle of one of its steps."""

    left = 0

    def step(self, action):
        Stopping.left -= 1
        if Stopping.left == 0:
            signal.raise_signal(signal.SIGINT)
        return super().step(action)


def test_a_run_stopped_within_a_step_of_its_environment_resumes_to_the_same_numbers(tmp_path):
    task = wrap(Stopping, [POLE])
    trained = {**SMALL, "models": 3, "steps": 192, "quiet": True}
    Stopping.left = 0
    whole = rapo.train(task, "rapo", out=tmp_path / "whole", **trained)
    Stopping.left = 160
    with pytest.raises(KeyboardInterrupt):
        rapo.train(task, "rapo", out=tmp_path / "stopped", **trained)
    assert 0 < len(rapo.Run(tmp_path / "stopped").metrics()) < len(whole.metrics())
    rapo.resume(tmp_path / "stopped", task=task, quiet=True)
    first, second = (read_checkpoint(tmp_path / name / CHECKPOINT) for name in ("stopped", "whole"))
    assert first[0].keys() == second[0].keys()
    for name, array in first[0].items():
        np.testing.assert_array_equal(array, second[0][name], err_msg=name)


def test_an_environment_by_its_id_is_trained_swept_and_made_a_grid_of(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = [f"{name}={value}" for name, value in SMALL.items()]
    main(["train", "Reacher-v5", "--algo", "ppo", "--steps", "64", "--out", "run", "--set", *options])
    main(["sweep", "run", "--episodes", "1", "--parameters", "torque"])
    main(["resume", "run"])
    main(["eval", "nominal", "run", "--episodes", "2"])
    assert "Reacher-v5" in capsys.readouterr().out
    assert (tmp_path / "run" / "sweep.csv").read_text().count("torque") == 11
    with pytest.raises(
        InputError, match=r"task 'Reacher-v5' of run '.*run' has changed since the run was trained"
    ):
        rapo.Run(tmp_path / "run", wrap("Reacher-v5", reward_dist_weight=2)).policy()
    (tmp_path / "g.toml").write_text(
        'tasks = ["Reacher-v5"]\nalgorithms = ["ppo"]\nseeds = [0]\nsteps = 64\n'
    )
    assert [run.config().task.name for run in rapo.read_grid(tmp_path / "g.toml").runs] == ["Reacher-v5"]


def test_a_class_in_a_file_of_ones_own_is_a_task(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "from rapo import GymnasiumTask, Parameter\n\n\n"
        "class Sticky(GymnasiumTask):\n"
        '    environment, environment_options = "Reacher-v5", {"reward_control_weight": 0.5}\n'
        '    parameters = (Parameter("damping", "dof_damping", (0.5, 2.0), (0.1, 5.0)),)\n'
    )
    main(["tasks", "mine.py:Sticky", "--check"])
    assert "Every parameter that was tried changes something." in capsys.readouterr().out
    assert rapo.make_task("mine.py:Sticky").name == "Reacher-v5"
