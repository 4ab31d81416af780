"""A robot of one's own: an MJCF file, a small class and a list of parameters."""

import time
from typing import ClassVar

import mujoco
import numpy as np
import pytest
from mjbatch import Batch

from rapo.errors import InputError
from rapo.evaluation.evaluate import evaluate
from rapo.world.find_task import LOCOMOTION, make_task
from rapo.world.model import load_model
from rapo.world.mujoco_cpu import MujocoSimulator
from rapo.world.parameter import Parameter
from rapo.world.step_reader import BLOCK
from rapo.world.task import States, Task

CART = """
<mujoco>
  <option timestep="0.005" integrator="{integrator}"/>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body name="cart" pos="0 0 0.095">
      <freejoint/>
      <geom type="box" size="0.2 0.1 0.1" mass="1"/>
      <body name="pole" pos="0 0 0.1">
        <joint name="hinge" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 0.5" size="0.03" mass="0.1" contype="0" conaffinity="0"/>
      </body>
    </body>
  </worldbody>
  <actuator>{actuator}</actuator>
</mujoco>
"""
MOTOR = '<motor joint="hinge" gear="2"/>'


def cart_task(folder, *, integrator="implicitfast", read=("cfrc_ext",), change=("", "")):
    file = folder / "cart.xml"
    file.write_text(CART.format(integrator=integrator, actuator=MOTOR).replace(*change))

    class Cart(Task):
        name = "cart"
        model_file = file
        frame_skip = 3
        time_limit = 50
        fields = read
        parameters = (Parameter("pole", ("body_mass", "body_inertia"), (0.5, 2), (0.2, 4), of=("pole",)),)

        def reset(self, n, rng):
            return np.tile(self.initial_qpos, (n, 1)), 0.3 * rng.standard_normal((n, self.model.nv))

        def observe(self, data):
            return np.concatenate((data.qpos, data.qvel, data.cfrc_ext[:, 1]), axis=1)

        def score(self, before, after, data, actions):
            return -np.square(data.qpos[:, 7]), np.abs(data.qpos[:, 7]) > 50

    return Cart()


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4", 'RK4" solver="PGS'])
def test_contact_forces_are_those_mujoco_computes_after_the_step(tmp_path, integrator):
    task = cart_task(tmp_path, integrator=integrator)
    simulator = MujocoSimulator(task, 3, seed=0, dynamics=task.dynamics.sweep("pole", [1, 0.4, 3]))
    rng = np.random.default_rng(0)
    twins = []
    for row, dynamics in enumerate(simulator.dynamics):
        model = mujoco.MjModel.from_xml_path(str(task.model_file))
        task.dynamics.write(model, dynamics)
        data = mujoco.MjData(model)
        mujoco.mj_setState(
            model, data, simulator.snapshot().physics[row], mujoco.mjtState.mjSTATE_INTEGRATION
        )
        twins.append((model, data))
    largest = 0.0
    for _ in range(30):
        actions = rng.uniform(-1, 1, (3, 1))
        step = simulator.step(actions)
        for row, (model, data) in enumerate(twins):
            data.ctrl[:] = actions[row]
            mujoco.mj_step(model, data, nstep=task.frame_skip)
            mujoco.mj_rnePostConstraint(model, data)
            expected = np.concatenate((data.qpos, data.qvel, data.cfrc_ext[1]))
            np.testing.assert_allclose(step.next_observation[row], expected, rtol=0, atol=1e-9)
            largest = max(largest, np.abs(data.cfrc_ext[1]).max())
        assert not step.done.any()
    assert largest > 1, "the cart never touched the ground"


def test_a_model_that_does_not_compile_is_refused_in_one_sentence(tmp_path):
    file = tmp_path / "broken.xml"
    file.write_text("<mujoco><worldbody><geom type='sphere'/></worldbody></mujoco>")
    with pytest.raises(InputError, match=r"model file '.*broken.xml' does not compile: ") as caught:
        load_model(file)
    assert "\n" not in str(caught.value)
    file.write_text("not xml at all")
    with pytest.raises(InputError, match="does not compile"):
        load_model(file)


def test_a_model_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"model file '.*nowhere.xml' does not exist"):
        load_model(tmp_path / "nowhere.xml")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('"0 1 0"/>', '"0 1 0"/><joint axis="1 0 0"/>'), "has hinges or slides without a motor"),
        ((MOTOR, '<general joint="hinge" dyntype="filter" dynprm="0.1"/>'), "has activation states"),
        ((' gear="2"', ' gear="0"'), "has motors with gear 0"),
        (('"RK4"', '"RK4" noslip_iterations="5"'), "has noslip iterations"),
        (('"RK4"/>', '"RK4"><flag warmstart="disable"/></option>'), "has its warm start switched off"),
        ((' axis="0 1 0"', ' type="ball"'), "has ball joints"),
    ],
)
def test_a_model_whose_last_stage_cannot_be_recovered_is_refused(tmp_path, change, says):
    task = cart_task(tmp_path, integrator="RK4", change=change)
    with pytest.raises(InputError, match=f"can't be read with integrator RK4 from a model that {says}"):
        MujocoSimulator(task, 1, seed=0)


@pytest.mark.parametrize("also", ["cacc", "cfrc_int", "sensordata"])
def test_fields_that_the_last_stage_does_not_give_are_refused(tmp_path, also):
    with pytest.raises(InputError, match=f"{also}.* can't be read"):
        cart_task(tmp_path, integrator="RK4", read=("cfrc_ext", also))


def test_a_motor_without_torque_is_refused_where_contact_forces_need_its_gear():
    with pytest.raises(InputError, match="makes actuator_gear 0: it must not be 0"):
        MujocoSimulator(make_task("ant"), 1, seed=0, dynamics=[1, 1, 1, 0])
    step = MujocoSimulator(make_task("hopper"), 1, seed=0, dynamics=[1, 1, 1, 0]).step(np.ones((1, 3)))
    assert not step.diverged.any()


def test_contact_forces_need_no_named_bodies(tmp_path):
    file = tmp_path / "nameless.xml"
    file.write_text("<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>")
    assert load_model(file, ("cfrc_ext",)).nsensor == 1


@pytest.mark.parametrize("field", ["efc_force", "contact", "qpoz"])
def test_a_field_that_cannot_be_read_is_named(tmp_path, field):
    with pytest.raises(InputError, match=f"mjData field '{field}' can't be read by a task"):
        cart_task(tmp_path, read=("cfrc_ext", field))


WRONG = {
    "observe": (lambda self, data: data.qpos, "observe of task 'cart' returns float64 of shape"),
    "remember": (lambda self, data: data.qpos[:, 0].copy(), "remember of task 'cart' returns"),
    "score": (
        lambda self, before, after, data, actions: (data.qpos[:, :1], np.zeros(2, bool)),
        r"score of task 'cart' returns rewards \(2, 1\)",
    ),
    "reset": (
        lambda self, n, rng: (np.zeros((n, 3)), np.zeros((n, 3))),
        "reset of task 'cart' returns shapes",
    ),
}


@pytest.mark.parametrize("method", WRONG)
def test_methods_that_return_something_else_are_refused_before_anything_runs(tmp_path, method):
    wrong, says = WRONG[method]
    with pytest.raises(InputError, match=says):
        type("Wrong", (type(cart_task(tmp_path)),), {method: wrong})()


def test_reading_a_field_that_was_not_asked_for_says_what_to_do(tmp_path):
    with pytest.raises(AttributeError, match=r"'cfrc_ext' is not read by this task: add it to Task.fields"):
        cart_task(tmp_path, read=("qpos", "qvel"))


@pytest.mark.parametrize("name", LOCOMOTION)
def test_switching_islands_off_changes_no_bit(name):
    task = make_task(name)
    simulator = MujocoSimulator(task, 16, seed=0)
    raw = Batch(mujoco.MjModel.from_xml_path(str(task.model_file)), 16)
    assert not raw.model.opt.disableflags
    state, ctrl = raw.bind("state"), raw.bind("ctrl")
    rng = np.random.default_rng(0)
    for _ in range(30):
        actions = rng.uniform(-1, 1, (16, task.action_size))
        state[...] = simulator.snapshot().physics
        ctrl[...] = actions
        raw.step(nstep=task.frame_skip)
        going_on = ~simulator.step(actions).done
        np.testing.assert_array_equal(simulator.snapshot().physics[going_on], state[going_on])


def test_islands_are_switched_off_only_where_there_is_one_tree(tmp_path):
    task = cart_task(tmp_path)
    flag = mujoco.mjtDisableBit.mjDSBL_ISLAND
    assert task.model.opt.disableflags & flag
    file = tmp_path / "two.xml"
    two = CART.format(integrator="Euler", actuator="").replace(
        "</worldbody>", '<body pos="1 0 1"><freejoint/><geom size="0.1"/></body></worldbody>'
    )
    file.write_text(two)
    assert not load_model(file).opt.disableflags & flag


TANK = """
<mujoco>
  <option timestep="0.01" gravity="0 0 0"/>
  <worldbody>
    <body name="tank"><joint name="x" type="slide" axis="1 0 0"/><geom size="0.1" mass="2"/></body>
  </worldbody>
  <actuator><motor joint="x"/></actuator>
</mujoco>
"""


class Tank(Task):
    """A tank that starts at its own length and burns fuel at every substep; the fuel is carried along."""

    name = "tank"
    frame_skip = 3
    userdata_size = 2
    parameters = (
        Parameter("cargo", "body_mass", (0.0, 1.0), (0.0, 3.0), apply="add"),
        Parameter("length", (), (1.0, 2.0), (1.0, 4.0), 1.0, "read"),
    )
    settings: ClassVar = {"heavy": {"cargo": 3.0}}

    def reset(self, n, rng):
        return np.zeros((n, 1)), np.zeros((n, 1))

    def begin(self, dynamics, rng):
        fuel = np.column_stack((rng.uniform(1, 2, len(dynamics)), np.zeros(len(dynamics))))
        return States(dynamics[:, 1:], np.zeros((len(dynamics), 1)), fuel)

    def drive(self, data, actions):
        def burn(substep):
            data.userdata[:, 0] -= 0.01
            data.ctrl[...] = actions * (substep == 2)

        return burn

    def settle(self, data, actions):
        data.userdata[:, 1] += 1

    def observe(self, data):
        return np.column_stack((data.qpos, data.qvel, data.userdata))

    def score(self, before, after, data, actions):
        return data.userdata[:, 0].copy(), np.zeros(len(data), bool)


@pytest.fixture
def tank(tmp_path):
    file = tmp_path / "tank.xml"
    file.write_text(TANK)
    Tank.model_file = file
    return Tank()


def test_a_task_carries_its_own_state_and_acts_before_every_substep(tank):
    # The force of 1 N acts in the last of three substeps only: 1 N x 0.01 s / (2 + 2) kg = 0.0025 m/s.
    rows = tank.dynamics.grid({"cargo": [0.0, 2.0], "length": [1.0, 4.0]})
    simulator = MujocoSimulator(tank, 4, seed=0, dynamics=rows)
    start = simulator.observation.copy()
    np.testing.assert_array_equal(start[:, 0], [1, 4, 1, 4])
    snapshot, action = simulator.snapshot(), np.ones((4, 1))
    step = simulator.step(action)
    np.testing.assert_allclose(step.next_observation[:, 1], [0.005, 0.005, 0.0025, 0.0025], rtol=1e-12)
    np.testing.assert_allclose(step.next_observation[:, 2], start[:, 2] - 0.03, rtol=1e-12)
    np.testing.assert_array_equal(step.next_observation[:, 3], 1)
    branches = simulator.branch(snapshot, action, rows)
    own = np.arange(4)
    np.testing.assert_array_equal(branches.observation[own, own], step.next_observation)
    np.testing.assert_array_equal(
        branches.observation[..., 2], np.tile(step.next_observation[:, 2:3], (1, 4))
    )
    np.testing.assert_array_equal(simulator.restore(snapshot), start)
    np.testing.assert_array_equal(simulator.step(action).next_observation, step.next_observation)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_rows_are_read_in_blocks_as_if_each_were_alone(tank, threads):
    n, rng = 2 * BLOCK + 300, np.random.default_rng(0)
    states = States(rng.uniform(1, 4, (n, 1)), rng.uniform(-1, 1, (n, 1)), rng.uniform(1, 2, (n, 2)))
    actions, some = rng.uniform(-1, 1, (n, 1)), [0, BLOCK - 1, BLOCK, 2 * BLOCK, n - 1]
    many, few = MujocoSimulator(tank, n, seed=0, threads=threads), MujocoSimulator(tank, len(some), seed=0)
    many.reset(states=states)
    few.reset(states=States(*(x[some] for x in states if x is not None)))
    for _ in range(2):
        step, alone = many.step(actions), few.step(actions[some])
        for field, values in zip(step._fields, alone, strict=True):
            np.testing.assert_array_equal(getattr(step, field)[some], values, err_msg=field)


def test_many_branches_are_read_in_blocks_as_if_each_were_alone(tank):
    rows = tank.dynamics.grid({"cargo": np.linspace(0, 3, 400)})
    actions, found = np.array([[1.0], [0.5], [-1.0], [0.0]]), []
    for chunk in (4096, 500):
        simulator = MujocoSimulator(tank, 4, seed=0, chunk=chunk, threads=2)
        found.append(simulator.branch(simulator.snapshot(), actions, rows))
    assert len(rows) * 4 > BLOCK
    np.testing.assert_array_equal(found[0].observation, found[1].observation)
    np.testing.assert_array_equal(found[0].reward, found[1].reward)


class Leaking(Tank):
    """A tank that can't be read if it is long, and takes its time otherwise."""

    broken = True

    def settle(self, data, actions):
        if self.broken and data.qpos[0, 0] > 3:
            raise ZeroDivisionError
        time.sleep(0.05)
        super().settle(data, actions)


@pytest.mark.usefixtures("tank")
@pytest.mark.parametrize("n", [8, 3 * BLOCK])
def test_a_step_that_can_not_be_read_leaves_everything_as_it_was(n):
    leaking, actions = Leaking(), np.ones((n, 1))
    rows = leaking.dynamics.nominal(n)
    rows[0, 1] = 4
    simulator = MujocoSimulator(leaking, n, seed=0, dynamics=rows, threads=2)
    start = simulator.snapshot()
    with pytest.raises(ZeroDivisionError):
        simulator.step(actions)
    np.testing.assert_array_equal(simulator.snapshot().physics, start.physics)
    leaking.broken = False
    step = simulator.step(actions)
    np.testing.assert_array_equal(step.next_observation[:, 3], 1)


def test_userdata_is_no_field_to_be_asked_for(tank):
    class Asking(Tank):
        fields = ("userdata",)

    with pytest.raises(InputError, match="'tank' asks for field 'userdata': it is always there"):
        Asking()


@pytest.mark.usefixtures("tank")
@pytest.mark.parametrize("what", ["frame_skip", "time_limit"])
def test_a_task_without_steps_is_refused(what):
    still = type("Still", (Tank,), {what: 0})
    with pytest.raises(InputError, match=f"task 'tank' has {what} 0: allowed are whole numbers from 1"):
        still()


def test_named_settings_fix_some_parameters_and_draw_the_others(tank):
    rows = tank.setting("heavy", 50, np.random.default_rng(0))
    np.testing.assert_array_equal(rows[:, 0], 3)
    np.testing.assert_array_equal(rows[:, 1], tank.dynamics.uniform(50, np.random.default_rng(0))[:, 1])
    with pytest.raises(InputError, match="unknown setting 'light': allowed are heavy"):
        tank.setting("light", 1, np.random.default_rng(0))


def test_episodes_under_other_dynamics_are_drawn_alike_and_may_differ_in_theirs(tank):
    rows = tank.dynamics.uniform(6, np.random.default_rng(0)).reshape(2, 3, 2)
    seen = []
    tank.time_limit = 4
    evaluate(
        tank,
        lambda observation: np.zeros((len(observation), 1)),
        rows,
        episodes=3,
        seed=5,
        watch=lambda data, running: seen.append(np.column_stack((data.qpos, data.userdata, data.dynamics))),
    )
    assert len(seen) == 4
    np.testing.assert_array_equal(seen[0][:, 0], rows[..., 1].ravel())
    np.testing.assert_array_equal(seen[0][:3, 1], seen[0][3:, 1])
    np.testing.assert_array_equal(seen[0][:, 3:], rows.reshape(6, 2))
    simulator, zeros = MujocoSimulator(tank, 2, seed=0), np.zeros((2, 1))
    with pytest.raises(InputError, match=r"allowed are qpos, qvel and userdata"):
        simulator.reset(states=States(zeros, zeros, zeros))
    np.testing.assert_array_equal(simulator.reset(states=States(zeros, zeros)), np.zeros((2, 4)))
