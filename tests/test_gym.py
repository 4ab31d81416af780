"""Tasks as Gymnasium environments: its own checker, its API, and the same numbers as rapo's simulator."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import rapo
import rapo.gym
from rapo.errors import InputError
from rapo.world.find_task import TASKS

NAMES = [f"rapo/{TASKS.class_name(name)}" for name in TASKS]


def actions(environment, seed=0):
    environment.action_space.seed(seed)
    return environment.action_space.sample()


@pytest.mark.usefixtures("drawing")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:.*(observation space|Box).*:UserWarning")
def test_gymnasiums_own_checker_passes(name):
    check_env(gymnasium.make(name).unwrapped)


@pytest.mark.parametrize("name", NAMES)
def test_a_vector_has_the_spaces_and_shapes_of_the_api(name):
    vector = gymnasium.make_vec(name, num_envs=3)
    assert vector.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    observation, infos = vector.reset(seed=0)
    assert observation in vector.observation_space
    assert infos["dynamics"].shape == (3, len(infos["dynamics"][0]))
    observation, reward, terminated, truncated, infos = vector.step(actions(vector))
    assert observation in vector.observation_space
    assert reward.shape == terminated.shape == truncated.shape == (3,)
    assert terminated.dtype == truncated.dtype == bool
    vector.close()


def test_one_seed_is_one_history_and_another_is_another():
    def history(seed):
        vector = gymnasium.make_vec("rapo/Hopper", num_envs=4, dynamics="train")
        seen = [vector.reset(seed=seed)[0]]
        vector.action_space.seed(0)
        for _ in range(40):
            observation, reward, *_, infos = vector.step(vector.action_space.sample())
            seen += [observation, reward, infos["dynamics"]]
        return np.concatenate([x.ravel() for x in seen])

    assert np.array_equal(history(3), history(3))
    assert not np.array_equal(history(3), history(4))
    assert np.array_equal(history([1, 2, 3, 4]), history([1, 2, 3, 4]))


def test_a_reset_without_a_seed_goes_on_from_the_last_one():
    vector = gymnasium.make_vec("rapo/Hopper", num_envs=2)
    first, again = (vector.reset(seed=5)[0], vector.reset()[0])
    assert not np.array_equal(first, again)
    assert np.array_equal(vector.reset(seed=5)[0], first)
    assert np.array_equal(vector.reset()[0], again)


def test_steps_are_those_of_the_simulator_under_the_same_dynamics():
    given = {"mass": 1.4, "torque": 0.7}
    vector = gymnasium.make_vec("rapo/Hopper", num_envs=3, dynamics=given)
    task = rapo.make_task("hopper")
    rows = task.dynamics.nominal(3)
    rows[:, [0, 3]] = 1.4, 0.7
    vector.reset(seed=1)
    inner = vector.unwrapped
    assert isinstance(inner, rapo.gym.TaskVector)
    twin = rapo.make_simulator(task, 3, seed=0, dynamics=rows)
    twin.restore(inner.simulator.snapshot())
    for i in range(30):
        action = actions(vector, i)
        observation, reward, terminated, *_ = vector.step(action)
        step = twin.step(action)
        assert np.array_equal(observation, step.observation)
        assert np.array_equal(reward, step.reward)
        assert np.array_equal(terminated, step.terminated)


def test_the_last_observation_of_an_episode_comes_with_its_end():
    vector = gymnasium.make_vec("rapo/Hopper", num_envs=4)
    vector.reset(seed=0)
    ended = 0
    for i in range(80):
        observation, _, terminated, truncated, infos = vector.step(actions(vector, i))
        done = terminated | truncated
        assert done.any() == ("final_obs" in infos)
        for n in np.flatnonzero(done):
            ended += 1
            assert infos["_final_obs"][n]
            assert abs(observation[n, 0] - 1.25) < 0.02  # stands again
            assert not np.allclose(infos["final_obs"][n], observation[n])
    assert ended > 3


def test_dynamics_are_drawn_anew_for_every_episode():
    vector = gymnasium.make_vec("rapo/Hopper", num_envs=4, dynamics="train")
    _, infos = vector.reset(seed=0)
    first = infos["dynamics"]
    assert ((first >= 0.8) & (first <= 1.2)).all()
    assert len(np.unique(first[:, 0])) == 4
    for i in range(80):
        _, _, terminated, _, infos = vector.step(actions(vector, i))
        assert (infos["dynamics"][terminated] != first[terminated]).all()
        first = infos["dynamics"]
    wide = gymnasium.make_vec("rapo/Hopper", num_envs=64, dynamics="test").reset(seed=0)[1]["dynamics"]
    assert wide.min() < 0.6
    assert wide.max() > 1.4


def test_dynamics_can_change_with_a_reset():
    env = gymnasium.make("rapo/Walker2d", dynamics={"mass": 1.2})
    assert env.reset(seed=0)[1]["dynamics"]["mass"] == 1.2
    assert env.reset(options={"dynamics": {"friction": 0.5}})[1]["dynamics"] == {
        "mass": 1,
        "inertia": 1,
        "friction": 0.5,
        "torque": 1,
    }


def test_one_environment_says_when_its_time_is_up():
    env = gymnasium.make("rapo/HalfCheetah")
    env.reset(seed=0)
    still = np.zeros(6, np.float32)
    ends = [env.step(still)[2:4] for _ in range(1000)]
    assert ends[-1] == (False, True)
    assert not any(map(any, ends[:-1]))


def test_gymnasiums_wrappers_work_on_a_vector():
    vector = RecordEpisodeStatistics(gymnasium.make_vec("rapo/Hopper", num_envs=2))
    vector.reset(seed=0)
    returns = []
    for i in range(100):
        infos = vector.step(actions(vector, i))[-1]
        returns += infos["episode"]["r"][infos["_episode"]].tolist() if "episode" in infos else []
    assert len(returns) > 2
    assert np.isfinite(returns).all()


def picture(env):
    return np.asarray(env.render())


@pytest.mark.usefixtures("drawing")
def test_pictures_show_the_robot_as_it_moves():
    one, other = (gymnasium.make("rapo/HalfCheetah", render_mode="rgb_array") for _ in range(2))
    one.reset(seed=0)
    other.reset(seed=0)
    first = picture(one)
    assert (first.shape, first.dtype) == ((320, 400, 3), np.uint8)
    assert np.array_equal(first, picture(other))
    for _ in range(10):
        one.step(np.ones(6, np.float32))
    assert not np.array_equal(first, picture(one))
    assert np.array_equal(first, picture(other))
    one.close()
    assert np.array_equal(first, picture(other))
    other.close()
    assert gymnasium.make("rapo/HalfCheetah").unwrapped.render() is None


def test_a_task_of_ones_own_is_an_environment_too():
    task = rapo.make_task("hopper")
    vector = gymnasium.make_vec("rapo/Task", num_envs=2, task=task)
    assert vector.reset(seed=0)[0].shape == (2, 11)
    assert gymnasium.make("rapo/Task", task=type(task)).reset(seed=0)[0].shape == (11,)


@pytest.mark.usefixtures("drawing")
def test_the_picture_after_the_end_is_not_of_the_next_episode():
    env = gymnasium.make("rapo/Hopper", render_mode="rgb_array")
    env.reset(seed=0)
    first, ended = picture(env), False
    while not ended:
        ended = env.step(np.ones(3, np.float32))[2]
    assert np.abs(picture(env).astype(int) - first).mean() > 1
    env.reset(seed=0)
    assert np.array_equal(picture(env), first)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"dynamics": "wild"}, "dynamics 'wild' were given: allowed are 'train', 'test', values by name"),
        ({"dynamics": {"mas": 1}}, "unknown parameter 'mas': did you mean 'mass'"),
        ({"dynamics": {"mass": -1}}, "dynamics row 0"),
        ({"dynamics": np.ones((2, 3))}, "dynamics of shape"),
        ({"dynamics": np.ones((2, 4))}, "2 rows of dynamics were given for 3 environments"),
        ({"render_mode": "human"}, "render_mode 'human' was given: allowed is None"),
        ({"speed": 2}, "unknown argument 'speed': allowed are dynamics and threads"),
    ],
)
def test_what_an_environment_can_not_be_made_of_is_refused(given, says):
    with pytest.raises(InputError, match=says):
        rapo.gym.TaskVector("hopper", 3, **given)


def test_one_environment_has_no_threads_to_choose():
    with pytest.raises(InputError, match="unknown argument 'threads': allowed is dynamics"):
        rapo.gym.TaskEnv("hopper", threads=2)


def test_an_unknown_option_of_a_reset_is_refused():
    vector = gymnasium.make_vec("rapo/Hopper", num_envs=2)
    with pytest.raises(InputError, match="unknown reset option 'mass': allowed is dynamics"):
        vector.reset(options={"mass": 2})
