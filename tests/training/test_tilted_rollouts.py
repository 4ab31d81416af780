"""Tilted rollouts: worlds solved by hand, sensitivities where they are known, and what is refused."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rapo.algorithms import ALGORITHMS
from rapo.algorithms.choosing import DoubleSampling, EveryBranch, Resampling
from rapo.algorithms.draws import Nominal, Uniform
from rapo.algorithms.mixture import Fixed
from rapo.algorithms.probes import Sensitivity
from rapo.algorithms.rapo import EVERY_BRANCH, MIXTURE, PAPER, RAPO
from rapo.algorithms.rarl import Pusher
from rapo.algorithms.spec import Steered
from rapo.algorithms.steering import TiltedSteps
from rapo.algorithms.targets import Mean, Robust
from rapo.algorithms.temperature import Exact
from rapo.errors import InputError
from rapo.learner import networks, normalize, sensitivity
from rapo.learner.budget import Budget
from rapo.tabular import Mdp, evaluate
from rapo.training.config import make_config
from rapo.training.loop import Training
from rapo.world.parameter import Parameter
from rapo.world.task import States, Task

MODEL = """
<mujoco>
  <option gravity="0 0 0"/>
  <worldbody><body name="puck"><joint name="x" type="slide" axis="1 0 0"/>
    <geom size="0.1" mass="1"/></body></worldbody>
  <actuator><motor joint="x" gear="1" ctrllimited="true" ctrlrange="-1 1"/></actuator>
</mujoco>
"""
KEY = jax.random.key(0)
SMALL = {"num_envs": 8, "horizon": 16, "minibatches": 4, "epochs": 2}


@pytest.fixture(autouse=True)
def model_file(tmp_path):
    """The model that the worlds below share: what happens in them is up to their methods."""
    file = tmp_path / "puck.xml"
    file.write_text(MODEL)
    TwoStates.model_file = Linear.model_file = file


class TwoStates(Task):
    """State 0 pays 1, state 1 nothing. Dynamics -1 lead to state 0 and +1 to the other, but from state 1 both
    lead to where they should not: -1 stays, +1 goes to state 0."""

    name = "two-states"
    frame_skip = 1
    userdata_size = 1
    parameters = (Parameter("way", (), (-1.0, 1.0), (-1.0, 1.0), 1.0, "read"),)

    def reset(self, n, rng):
        return np.zeros((n, 1)), np.zeros((n, 1))

    def begin(self, dynamics, rng):
        n = len(dynamics)
        return States(np.zeros((n, 1)), np.zeros((n, 1)), rng.integers(0, 2, (n, 1)).astype(float))

    def settle(self, data, actions):
        here, forward = data.userdata[:, 0], data.dynamics[:, 0] > 0
        data.userdata[:, 0] = np.where(here == 0, forward, ~forward)

    def remember(self, data):
        return data.userdata.copy()

    def observe(self, data):
        return data.userdata.copy()

    def score(self, before, after, data, actions):
        return 1.0 - before[:, 0], np.zeros(len(data), bool)


@dataclass(frozen=True)
class BothWays(Nominal):
    """The two models of `TwoStates`, of equal weight."""

    def ensemble(self, dynamics, rng):
        return np.array([[-1.0], [1.0]]), np.full(2, 0.5)


def robust_values(epsilon, discount):
    """What `rapo.tabular` says: from both states both states are as likely, within a KL ball of epsilon."""
    world = Mdp.dense(np.full((2, 1, 2), 0.5), [[1.0], [0.0]], discount)
    return evaluate(world, np.ones((2, 1)), epsilon).value


def learned_values(algorithm, **options):
    """What the critic expects in both states, in units of reward, after some training."""
    given = {"num_envs": 32, "horizon": 32, "discount": 0.8, "learning_rate": 3e-3, "minibatches": 8}
    training = Training(make_config(TwoStates(), algorithm, steps=32 * 32 * 60, options=given | options))
    metrics = {}
    while not training.finished:
        metrics = training.update()
    learner = training.learner
    seen = normalize.normalise(learner.observations, jnp.array([[0.0], [1.0]]))
    values = networks.value(learner.players[0].parameters.critic, seen) * learner.rewards.scale
    return np.asarray(values), metrics


def test_tilted_rollouts_by_learned_sensitivities_find_the_robust_value_of_a_world_solved_exactly():
    steering = TiltedSteps(law="models", epsilon=Budget(0.2), temperature=Exact())
    tilted = replace(RAPO, dynamics=BothWays(), mixture=Fixed(), steering=steering)
    values, metrics = learned_values(tilted)
    exact = robust_values(0.2, 0.8)
    np.testing.assert_allclose(values, exact, atol=0.1)
    assert metrics["kl"] == pytest.approx(0.2, rel=0.05)
    plain = robust_values(0.0, 0.8)
    assert (plain - exact > 0.4).all()  # so that the agreement above says something


def test_centred_targets_find_the_same_value():
    steering = TiltedSteps(law="models", epsilon=Budget(0.2), temperature=Exact())
    tilted = replace(RAPO, dynamics=BothWays(), mixture=Fixed(), steering=steering)
    values, metrics = learned_values(tilted, centred=True)
    np.testing.assert_allclose(values, robust_values(0.2, 0.8), atol=0.1)
    assert metrics["centring"] > 0


def test_going_on_from_exact_branches_finds_the_same_robust_value():
    exact = replace(EVERY_BRANCH, dynamics=BothWays(), choosing=EveryBranch(epsilon=Budget(0.2)))
    values, _ = learned_values(exact)
    np.testing.assert_allclose(values, robust_values(0.2, 0.8), atol=0.1)


def test_double_sampling_goes_on_from_the_worse_of_two_twice_as_often():
    # Both models are drawn half of the time, and then the worse state follows with chance 2/3: that makes
    # 1/4 + 1/2 2/3 = 7/12. As V(0) - V(1) = 1, V(0) = 1 + 0.8 (V(0) - 7/12).
    rnac = replace(EVERY_BRANCH, dynamics=BothWays(), choosing=DoubleSampling())
    values, _ = learned_values(rnac)
    first = (1 - 0.8 * 7 / 12) / 0.2
    np.testing.assert_allclose(values, [first, first - 1], atol=0.1)


def test_chances_of_branches_by_hand():
    values, weights = jnp.array([[1.0, 3.0, 2.0]]), jnp.full((1, 3), 1 / 3)
    np.testing.assert_allclose(DoubleSampling().chances(values, weights, jnp.zeros(())), [[0.5, 0.25, 0.25]])
    likely = np.exp(-np.array([1.0, 3.0, 2.0]) / 0.5)
    found = Resampling(resample_temperature=0.5).chances(values, weights, jnp.zeros(()))
    np.testing.assert_allclose(found[0], likely / likely.sum(), rtol=1e-5)
    everything = EveryBranch(epsilon=Budget(10.0)).chances(values, weights, jnp.zeros(()))
    np.testing.assert_allclose(everything, [[1, 0, 0]])


class Linear(Task):
    """One step that pays 1 + 3 x a - b, for x the observation and a, b the dynamics."""

    name = "linear"
    frame_skip = 1
    parameters = (
        Parameter("a", (), (0.0, 1.0), (-1.0, 2.0), 0.5, "read"),
        Parameter("b", (), (-2.0, 2.0), (-4.0, 4.0), 0.0, "read"),
    )

    def reset(self, n, rng):
        return rng.uniform(-1, 1, (n, 1)), np.zeros((n, 1))

    def remember(self, data):
        return data.qpos.copy()

    def observe(self, data):
        return data.qpos.copy()

    def score(self, before, after, data, actions):
        a, b = data.dynamics.T
        return 1 + 3 * before[:, 0] * a - b, np.ones(len(data), bool)


@pytest.mark.parametrize("options", [{}, {"probe_share": 0.02, "probes_each": 4}])
def test_sensitivities_of_a_linear_task_are_its_finite_differences(options):
    given = {"num_envs": 64, "horizon": 16, **options}
    training = Training(make_config(Linear(), RAPO, steps=64 * 16 * 80, options=given))
    metrics = {}
    while not training.finished:
        metrics = training.update()
    learner, x = training.learner, np.array([[-0.8], [-0.2], [0.5], [0.9]])
    inputs = jnp.concatenate(
        (normalize.normalise(learner.observations, jnp.asarray(x)), np.zeros((4, 1))), axis=1
    )
    net = learner.sensitivity
    found = sensitivity.predict(net.layers, net.scale, inputs) * learner.rewards.scale
    wanted = np.stack((3 * x[:, 0] * 0.5, np.full(4, -2.0)), axis=1)  # over half a training range
    np.testing.assert_allclose(found, wanted, atol=0.15)
    assert metrics["sensitivity_r2"] > 0.9
    assert metrics["sensitivity_poor"] == 0
    np.testing.assert_allclose(metrics["sensitivity"], [0.75, 2.0], atol=0.15)
    assert metrics["tilt"][1] > 0.3  # the second parameter hurts where it is high


def steered(n=4, **changes):
    """Two parameters, of which the first raises the value and the second lowers it; two models."""
    made = Steered(
        inputs=jnp.zeros((n, 3)),
        slopes=jnp.tile(jnp.array([1.0, -2.0]), (n, 1)),
        centre=jnp.full((n, 2), 0.25),
        tilted=jnp.arange(n) < n - 1,
        models=jnp.array([[1.0, 1.0], [-1.0, -0.5]]),
        weights=jnp.array([0.75, 0.25]),
        reward_scale=jnp.ones(()),
        progress=jnp.zeros(()),
    )
    return made._replace(**changes)


def drawn(part, n=4000, **changes):
    rng = np.random.default_rng(0)
    state = part.init(KEY, 2, 1)
    return np.asarray(part.draw(part.acting(state), steered(n, **changes), rng.random((n, 5), np.float32)))


def test_the_worst_corner_of_a_smaller_box_is_taken_around_the_middle_or_the_model():
    corner = TiltedSteps(law="corner", reach=Budget(0.5), temperature=Exact())
    assert drawn(corner, 2).tolist() == [[-0.5, 0.5], [0.25, 0.25]]  # the last environment is left alone
    around = replace(corner, box_around="model")
    assert drawn(around, 2).tolist() == [[-0.25, 0.75], [0.25, 0.25]]
    wide = replace(around, reach=Budget(0.9))
    assert drawn(wide, 2)[0].tolist() == pytest.approx([-0.65, 1.0])  # no further than the training range
    beyond = replace(corner, reach=Budget(1.5))
    assert drawn(beyond, 2)[0].tolist() == [-1.5, 1.5]


def test_draws_from_the_box_have_the_mean_that_the_update_expects():
    part = TiltedSteps(epsilon=Budget(0.8), temperature=Exact())
    mean, _, report = part(part.init(KEY, 2, 1), steered())
    rows = drawn(part)[:-1]
    np.testing.assert_allclose(rows.mean(axis=0), mean[0], atol=0.03)
    assert rows.mean(axis=0)[0] < -0.1 < 0.1 < rows.mean(axis=0)[1]
    assert float(report["kl"]) == pytest.approx(0.8, rel=1e-3)
    np.testing.assert_array_equal(mean[-1], [0.25, 0.25])


def test_draws_among_models_have_the_tilted_weights():
    # Values are -1 and 0: without a budget the weights are 3/4 and 1/4; the tilt lowers the value.
    part = TiltedSteps(law="models", epsilon=Budget(0.0), temperature=Exact())
    share = (drawn(part)[:-1, 0] == 1).mean()
    assert share == pytest.approx(0.75, abs=0.02)
    part = TiltedSteps(law="models", epsilon=Budget(0.1), temperature=Exact())
    mean, _, _ = part(part.init(KEY, 2, 1), steered())
    tilted = (float(mean[0, 0]) + 1) / 2
    assert tilted > 0.85
    assert (drawn(part)[:-1, 0] == 1).mean() == pytest.approx(tilted, abs=0.02)


def test_random_directions_are_tilted_as_much_and_on_average_nowhere():
    part = TiltedSteps(epsilon=Budget(0.8), temperature=Exact(), directions="random")
    rows = drawn(part, 20_000)[:-1]
    learned = drawn(replace(part, directions="learned"), 20_000)[:-1]
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=0.03)
    np.testing.assert_allclose((rows**2).mean(axis=0), (learned**2).mean(axis=0), atol=0.03)


def test_a_share_of_the_environments_stays_under_the_model_of_its_episode():
    options = {**SMALL, "models": 3, "tilted_share": 0.25}
    training = Training(make_config("hopper", "rapo-mixture", steps=256, options=options))
    seen = []
    step = training.simulator.step

    def noted(actions, forces=None, dynamics=None):
        seen.append((dynamics, training.simulator.dynamics))
        return step(actions, forces, dynamics)

    training.simulator.step = noted
    training.update()
    for rows, episodes in seen:
        np.testing.assert_array_equal(rows[2:], episodes[2:])
        assert (rows[:2] != episodes[:2]).any()


def test_learned_branches_serve_robust_targets_without_simulating_any():
    learned = replace(
        PAPER,
        name="learned",
        targets=Robust(branches="learned"),
        mixture=MIXTURE.mixture,
        sensitivity=Sensitivity(),
    )
    training = Training(make_config("hopper", learned, steps=3 * 128, options={**SMALL, "models": 3}))
    metrics = {}
    while not training.finished:
        metrics = training.update()
    assert metrics["branch_steps"] == 3 * 16  # an eighth of 128 steps, probed once each
    assert metrics["robust_gap"] >= 0
    assert metrics["mixture_kl"] > 0


class NothingUncertain(Linear):
    name = "certain"
    parameters = ()

    def score(self, before, after, data, actions):
        return np.ones(len(data)), np.ones(len(data), bool)


REFUSED = {
    "option rollout is tilted, but algorithm 'rapo-paper' has no part that steers steps and its targets": (
        PAPER,
        {"rollout": "tilted"},
    ),
    "option rollout is mixture, but algorithm 'rapo' steers every step": (RAPO, {"rollout": "mixture"}),
    "tilted rollouts and targets of Mean, which would count the adversary twice": (
        replace(RAPO, targets=Mean()),
        {},
    ),
    "tilted rollouts and an opponent that pushes": (replace(RAPO, opponent=Pusher()), {}),
    "draws the dynamics of steps and chooses among branches": (replace(RAPO, choosing=DoubleSampling()), {}),
    "steps tilted by sensitivities but learns no sensitivities": (replace(RAPO, sensitivity=None), {}),
    "reach is 2.6: allowed are at most 2.5, where the box leaves the test range of parameter 'mass'": (
        RAPO,
        {"reach": 2.6},
    ),
    "make 2 probes of the 128 steps of an update: allowed are at least as many as there are parameters": (
        RAPO,
        {**SMALL, "probe_share": 0.015},
    ),
    "score=played needs episodes played under the models, and rollout is tilted": (
        MIXTURE,
        {"score": "played", "box_around": "range"},
    ),
    "option centred is true, but algorithm 'rapo-no-tilt' draws no dynamics": (
        ALGORITHMS["rapo-no-tilt"],
        {"centred": True},
    ),
    "option branches is learned with samples 4": (PAPER, {"branches": "learned", "samples": 4}),
    "has branches=learned but learns no sensitivities": (PAPER, {"branches": "learned"}),
}


@pytest.mark.parametrize("says", REFUSED)
def test_parts_that_do_not_go_together_are_refused_in_a_sentence(says):
    algorithm, options = REFUSED[says]
    with pytest.raises(InputError) as error:
        make_config("hopper", algorithm, options=options)
    assert says in str(error.value)


@pytest.mark.parametrize("algo", ["rapo", "random-kernel", "rapo-exact", "rnac", "ewok"])
def test_a_task_with_nothing_to_tilt_is_refused(algo):
    with pytest.raises(InputError, match=r"within an episode.*choose --algo ppo"):
        make_config(NothingUncertain(), algo)


@pytest.mark.parametrize(("algo", "each"), [("rapo-exact", 3), ("rnac", 2), ("ewok", 5)])
def test_branches_to_choose_from_are_counted(algo, each):
    training = Training(make_config("hopper", algo, steps=128, options={**SMALL, "models": 3}))
    assert training.update()["branch_steps"] == 128 * each


@pytest.mark.parametrize("algo", ["rapo-exact", "rnac", "ewok"])
def test_a_branch_that_diverged_is_not_gone_on_from(algo):
    training = Training(make_config("hopper", algo, steps=128, options={**SMALL, "models": 3}))
    among = training.simulator.step_among
    taken = []

    def spoiled(actions, models, choose):
        def noted(branches):
            branches.valid[:, 0] = False
            branches.valid[0] = False  # nothing is left to go on from: any branch will do
            branches.observation[~branches.valid] = np.nan
            branches.reward[~branches.valid] = np.nan
            picked = choose(branches)
            taken.append(picked[1:])
            return picked

        return among(actions, models, noted)

    training.simulator.step_among = spoiled
    training.update()
    assert (np.concatenate(taken) > 0).all()


def test_reports_are_of_the_tilt_that_was_applied():
    mild = TiltedSteps(epsilon=Budget(0.8), temperature=Exact())
    state = mild.init(KEY, 2, 1)
    _, _, learned = mild(state, steered())
    _, _, half = mild(state, steered(tilted=jnp.arange(4) < 2))
    _, _, random = replace(mild, directions="random")(state, steered())
    assert float(learned["robust_gap"]) > 0
    np.testing.assert_allclose(half["robust_gap"], learned["robust_gap"], rtol=1e-5)
    np.testing.assert_allclose(half["tilt"], learned["tilt"], rtol=1e-5)
    assert float(random["robust_gap"]) == 0
    assert not np.asarray(random["tilt"]).any()


def test_steps_among_models_are_taken_under_the_models_themselves():
    options = {**SMALL, "models": 3, "law": "models"}
    training = Training(make_config("hopper", "rapo", steps=128, options=options))
    seen = []
    step = training.simulator.step

    def noted(actions, forces=None, dynamics=None):
        seen.append(dynamics)
        return step(actions, forces, dynamics)

    training.simulator.step = noted
    training.update()
    rows = np.concatenate(seen)
    nearest = np.abs(rows[:, None] - training.models).max(axis=2).min(axis=1)
    assert nearest.max() < 1e-6


def test_steps_can_be_tilted_around_random_dynamics_too():
    algorithm = replace(ALGORITHMS["rapo-no-boltzmann"], dynamics=Uniform())
    training = Training(make_config("hopper", algorithm, steps=256, options={**SMALL, "box_around": "model"}))
    metrics = training.update()
    assert np.isfinite(metrics["robust_gap"])
