"""The table of uncertain parameters and what it does to a model."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from rapo.errors import InputError
from rapo.world.dynamics import Dynamics
from rapo.world.find_task import LOCOMOTION, make_task
from rapo.world.model import load_model
from rapo.world.mujoco_cpu import MujocoSimulator
from rapo.world.parameter import Parameter

TRAIN, TEST = (0.8, 1.2), (0.5, 1.5)


@pytest.fixture(scope="module")
def task():
    return make_task("hopper")


def random_walk(task, dynamics, steps=40):
    """Observations of one environment under one stream of actions."""
    simulator = MujocoSimulator(task, 1, seed=0, dynamics=dynamics)
    rng = np.random.default_rng(0)
    return np.array(
        [simulator.step(rng.uniform(-1, 1, (1, task.action_size))).next_observation for _ in range(steps)]
    )


@pytest.mark.parametrize("parameter", ["mass", "inertia", "friction", "torque"])
@pytest.mark.parametrize("name", LOCOMOTION)
def test_every_parameter_reaches_its_field_and_the_physics(name, parameter):
    task = make_task(name)
    rows = task.dynamics.sweep(parameter, [1.0, 0.7])
    nominal, changed = mujoco.MjModel.from_xml_path(str(task.model_file)), task.dynamics.values(rows)
    for field in task.dynamics[parameter].fields:
        np.testing.assert_array_equal(changed[field][0], getattr(nominal, field))
        np.testing.assert_allclose(changed[field][1], 0.7 * getattr(nominal, field), rtol=1e-15)
    # Ant falls for a while before its feet touch the ground and friction can matter.
    walks = [random_walk(task, row, steps=120 if name == "ant" else 40) for row in rows]
    assert np.abs(walks[0] - walks[1]).max() > 1e-6


def test_derived_constants_follow_the_changed_fields(task):
    model = mujoco.MjModel.from_xml_path(str(task.model_file))
    before = model.body_subtreemass[1], model.dof_invweight0.copy()
    task.dynamics.write(model, [0.5, 1, 1, 1])
    assert model.body_subtreemass[1] == pytest.approx(before[0] / 2)
    assert (model.dof_invweight0 > before[1]).all()


def test_applying_dynamics_twice_is_applying_them_once(task):
    simulator = MujocoSimulator(task, 2, seed=0)
    actions = np.full((2, task.action_size), 0.5)
    for dynamics in ([0.6, 1.2, 0.7, 1.3], [1.4, 0.8, 1.5, 0.6], [0.6, 1.2, 0.7, 1.3], [1, 1, 1, 1]):
        simulator.reset(dynamics)
        start = simulator.snapshot()
        fresh = MujocoSimulator(task, 2, seed=5, dynamics=dynamics)
        fresh.restore(start)
        np.testing.assert_array_equal(simulator.step(actions).reward, fresh.step(actions).reward)


def test_one_parameter_may_touch_several_fields(task):
    density = Parameter("density", ("body_mass", "body_inertia"), TRAIN, TEST)
    values = Dynamics(task.model, [density]).values(np.array([[1.5]]))
    np.testing.assert_allclose(values["body_mass"][0], 1.5 * task.model.body_mass)
    np.testing.assert_allclose(values["body_inertia"][0], 1.5 * task.model.body_inertia)


def test_parameters_that_share_a_field_compose_from_the_models_own_values(task):
    whole = Parameter("mass", ("body_mass",), TRAIN, TEST)
    torso = replace(whole, name="torso", of=("torso",))
    values = Dynamics(task.model, [whole, torso]).values(np.array([[0.5, 1.2]]))["body_mass"][0]
    expected = 0.5 * task.model.body_mass
    expected[task.model.body("torso").id] *= 1.2
    np.testing.assert_allclose(values, expected)


def test_names_and_columns_choose_what_is_touched(task):
    sliding = Parameter(
        "grip", ("geom_friction",), (1, 2), (1, 3), 2.0, "set", of=("foot_geom",), columns=(0,)
    )
    damping = Parameter("damping", ("dof_damping",), (1, 2), (0, 3), of=("foot_joint", "leg_joint"))
    values = Dynamics(task.model, [sliding, damping]).values(np.array([[0.9, 3.0]]))
    friction = task.model.geom_friction.copy()
    friction[task.model.geom("foot_geom").id, 0] = 0.9
    np.testing.assert_array_equal(values["geom_friction"][0], friction)
    dampings = task.model.dof_damping.copy()
    for joint in ("foot_joint", "leg_joint"):
        dampings[task.model.joint(joint).dofadr[0]] *= 3
    np.testing.assert_array_equal(values["dof_damping"][0], dampings)


def test_the_nominal_value_of_a_parameter_that_sets_is_the_models_own(task):
    grip = Parameter("grip", "geom_friction", (1, 2), (1, 3), apply="set", of="foot_geom", columns=(0,))
    dynamics = Dynamics(task.model, [grip])
    own = task.model.geom_friction[task.model.geom("foot_geom").id, 0]
    assert dynamics["grip"].nominal == own == 2.0
    np.testing.assert_array_equal(
        dynamics.values(dynamics.nominal())["geom_friction"][0], task.model.geom_friction
    )


def test_a_tendon_range_may_reach_below_zero(tmp_path):
    file = tmp_path / "tendons.xml"
    file.write_text("""
    <mujoco>
      <worldbody><body><joint name="a"/><geom size="1"/></body></worldbody>
      <tendon>
        <fixed name="wide" limited="true" range="-0.5 0.5"><joint joint="a" coef="1"/></fixed>
        <fixed name="cable" limited="true" range="0 1"><joint joint="a" coef="1"/></fixed>
      </tendon>
    </mujoco>""")
    cable = Parameter(
        "cable", ("tendon_range",), (0.2, 1), (0.1, 2), apply="set", of=("cable",), columns=(1,)
    )
    dynamics = Dynamics(load_model(file), [cable])
    np.testing.assert_array_equal(
        dynamics.values(np.array([[0.7]]))["tendon_range"][0], [[-0.5, 0.5], [0, 0.7]]
    )
    assert dynamics["cable"].nominal == 1


def test_options_of_the_model_can_be_parameters(task):
    moon = Parameter("gravity", ("gravity",), (0.9, 1.1), (0.1, 1.5))
    dynamics = Dynamics(task.model, [moon])
    model = mujoco.MjModel.from_xml_path(str(task.model_file))
    dynamics.write(model, [0.5])
    np.testing.assert_allclose(model.opt.gravity, 0.5 * np.array([0, 0, -9.81]))


def test_samplers_stay_in_their_ranges_and_fill_them(task):
    dynamics, rng = task.dynamics, np.random.default_rng(0)
    np.testing.assert_array_equal(dynamics.nominal(3), np.ones((3, 4)))
    for over, (low, high) in (("train", (0.8, 1.2)), ("test", (0.5, 1.5))):
        samples = {
            "uniform": dynamics.uniform(256, rng, over),
            "sobol": dynamics.ensemble(256, rng, over),
            "latin": dynamics.ensemble(256, rng, over, method="latin"),
        }
        for name, rows in samples.items():
            assert rows.shape == (256, 4)
            assert rows.min() >= low
            assert rows.max() <= high
            counts = np.array([np.histogram(column, 16, (low, high))[0] for column in rows.T])
            if name == "uniform":
                assert counts.min() > 0
            else:
                np.testing.assert_array_equal(counts, 16)
    assert dynamics.ensemble(5, rng).shape == (5, 4)
    assert dynamics.ensemble(1, rng).shape == (1, 4)


def test_half_of_an_ensemble_can_be_at_the_corners(task):
    points = task.dynamics.ensemble(15, np.random.default_rng(0))
    rows = task.dynamics.ensemble(15, np.random.default_rng(0), method="corners")
    np.testing.assert_array_equal(rows[:8], np.where(points[:8] > 1.0, 1.2, 0.8))
    np.testing.assert_array_equal(rows[8:], points[8:])
    np.testing.assert_array_equal((rows[:8] == 1.2).sum(axis=0), 4)
    for n in (1, 2, 31, 32, 64):
        rows = task.dynamics.ensemble(n, np.random.default_rng(n), method="corners")
        assert len(np.unique(rows, axis=0)) == n


def test_samplers_draw_from_the_given_generator_alone(task):
    draws = [
        task.dynamics.ensemble(8, np.random.default_rng(seed), method=method)
        for seed in (0, 0, 1)
        for method in ("sobol", "latin", "corners")
    ]
    for first, again, other in zip(draws[:3], draws[3:6], draws[6:], strict=True):
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()


def test_sweeps_and_grids_hold_the_other_parameters_nominal(task):
    sweep = task.dynamics.sweep("friction", np.arange(5, 16) / 10)
    assert sweep.shape == (11, 4)
    np.testing.assert_array_equal(sweep[:, [0, 1, 3]], 1)
    grid = task.dynamics.grid({"mass": [0.5, 1.5], "torque": [0.8, 1.0, 1.2]})
    np.testing.assert_array_equal(
        grid[:, [0, 3]], [[0.5, 0.8], [0.5, 1.0], [0.5, 1.2], [1.5, 0.8], [1.5, 1.0], [1.5, 1.2]]
    )
    np.testing.assert_array_equal(grid[:, 1:3], 1)


def test_ranges_can_be_replaced(task):
    wider = task.dynamics.with_ranges("mass", train=(0.5, 1.5))
    assert wider["mass"].train == (0.5, 1.5)
    assert task.dynamics["mass"].train == (0.8, 1.2)
    np.testing.assert_array_equal(wider.box()[0], [0.5, 0.8, 0.8, 0.8])


def parameter(**changes):
    return lambda: replace(Parameter("mass", ("body_mass",), TRAIN, TEST), **changes)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            parameter(train=(1.2, 0.8)),
            r"'mass' has training range \[1.2, 0.8\]: allowed are two finite numbers",
        ),
        (parameter(test=(0.5, np.nan)), r"'mass' has test range \[0.5, nan\]"),
        (parameter(apply="times"), "'mass' has apply 'times': allowed are scale, set, add, read"),
        (parameter(apply="read"), "'mass' is read by its task: it must name a nominal value and no field"),
        (parameter(fields=()), "'mass' touches no mjModel field"),
        (parameter(of=()), "'mass' touches no name"),
        (parameter(columns=()), "'mass' touches no column"),
        (parameter(nominal=np.nan), "'mass' has nominal value nan: allowed are finite numbers"),
        (parameter(train=(1, 2, 3)), r"training range \[1, 2, 3\]: allowed are two"),
        (parameter(fields=("geom_contype",)), "unknown mjModel array to perturb 'geom_contype'"),
        (parameter(fields=("body_subtreemass",)), "unknown mjModel array to perturb 'body_subtreemass'"),
        (parameter(apply="set"), "'mass' sets 5 different values of the model: give it a nominal one"),
        (parameter(name="{x}", test=(0, 1)), "test range 0 of parameter '{x}' makes body_mass 0"),
        (
            parameter(test=(0.0, 1.5)),
            "test range 0 of parameter 'mass' makes body_mass 0: it must stay above 0",
        ),
        (parameter(train=(-1, 1.5)), "training range -1 of parameter 'mass' makes body_mass -"),
        (parameter(fields=("geom_friction",), test=(-0.1, 1)), "makes geom_friction -.*must not be negative"),
        (
            parameter(fields=("body_mas",)),
            "unknown mjModel array to perturb 'body_mas': did you mean 'body_mass'",
        ),
        (parameter(of=("torzo",)), "unknown body 'torzo': did you mean 'torso'"),
        (parameter(fields=("gravity",), of=("torso",)), "gravity has no named rows"),
        (
            parameter(fields=("geom_friction",), columns=(3,)),
            r"columns \(3,\) of geom_friction: allowed are 0 to 2",
        ),
        (parameter(columns=(0,)), r"names columns \(0,\) of body_mass: that field has none"),
    ],
)
def test_impossible_parameters_are_refused_in_one_sentence(task, make, says):
    with pytest.raises(InputError, match=says) as caught:
        Dynamics(task.model, [make()])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([1, 1, 1], r"dynamics of shape \(1, 3\) were given: allowed is \[rows, 4\]"),
        (np.empty((0, 4)), "dynamics of shape"),
        ([1, np.nan, 1, 1], "'inertia' is nan in row 0: allowed are finite numbers"),
        (
            [[1, 1, 1, 1], [0, 1, 1, 1]],
            r"dynamics row 1 \(mass 0, inertia 1, .*\) makes body_mass 0: it must stay above 0",
        ),
    ],
)
def test_impossible_rows_are_refused_in_one_sentence(task, rows, says):
    with pytest.raises(InputError, match=says):
        task.dynamics.check(rows)


def test_unknown_names_get_the_nearest_known_one(task):
    with pytest.raises(InputError, match="unknown parameter 'fricton': did you mean 'friction'"):
        task.dynamics.sweep("fricton", [1])
    with pytest.raises(InputError, match="unknown ensemble method 'sobel': did you mean 'sobol'"):
        task.dynamics.ensemble(4, np.random.default_rng(0), method="sobel")
    with pytest.raises(InputError, match="0 models were asked for"):
        task.dynamics.ensemble(0, np.random.default_rng(0))
    with pytest.raises(InputError, match="'mass' is listed twice"):
        Dynamics(task.model, [task.dynamics["mass"]] * 2)
