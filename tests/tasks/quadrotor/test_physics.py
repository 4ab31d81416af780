"""The quadrotor with a payload, against sums that can be done by hand."""

import copy
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from scipy import special, stats
from scipy.spatial.transform import Rotation

from rapo.evaluation.evaluate import evaluate, initial_states
from rapo.tasks.quadrotor import disturbances, episode_row, following, reference, rotors, scoring, sensing
from rapo.tasks.quadrotor.classical import classical_controller
from rapo.tasks.quadrotor.episode_row import (
    ARM,
    CABLE,
    CLOCK,
    FORCE,
    INERTIA,
    KEY,
    MASS,
    NOISE,
    RECORDS,
    REFERENCE,
    SIZE,
    SPIN,
    TAU_DOWN,
    TAU_UP,
    THRUST,
    TIMESTEP,
    TORQUE,
)
from rapo.tasks.quadrotor.payload_task import TEST, InformedQuadrotorPayload, QuadrotorPayload
from rapo.tasks.quadrotor.rotors import asking_for
from rapo.world.mujoco_cpu import MujocoSimulator
from rapo.world.physics import Physics
from rapo.world.task import States

G = 9.81
HOOK = 1e-4
SLOW, FAST = 0.2, 1e-9
"""Lags: the slowest rotors of training, and rotors that follow at once."""
TASK = QuadrotorPayload()
HOVER = reference.hover(np.array([[0.0, 0.0, 2.0]]))


class Measured(QuadrotorPayload):
    """The same task with the length of the cable in its data."""

    fields = (*QuadrotorPayload.fields, "ten_length")


def dynamics(n=1, **values):
    """Rows `[n, P]`, nominal and without disturbance, but for `values`."""
    rows = TASK.dynamics.nominal(n)
    for name, value in {"disturbance": 0.0, **values}.items():
        rows[:, TASK.dynamics.column(name)] = value
    return rows


def world(**values):
    """The model under such dynamics for MuJoCo itself, with its data."""
    model = copy.copy(TASK.model)
    TASK.dynamics.write(model, dynamics(**values))
    return model, mujoco.MjData(model)


def at_rest(rows, height=2.25, turned=(0, 0, 0), path=HOVER):
    """Level and still, the payload straight below where the cable ends, the rotors in a nominal hover."""
    n = len(rows)
    states = QuadrotorPayload(path).begin(rows, np.random.default_rng(0))
    qpos, qvel = np.zeros((n, 10)), np.zeros((n, 9))
    x, y, z, w = Rotation.from_euler("ZYX", turned[::-1]).as_quat()
    qpos[:, :7] = 0, 0, height, w, x, y, z
    qpos[:, 9] = height - rows[:, 1]
    return States(qpos, qvel, states.userdata)


class Flight:
    """The task's own drive, substeps and settle on one batch, with a record of every substep."""

    def __init__(self, rows, states):
        self.physics = Physics(TASK, len(rows), 1)
        self.physics.set_dynamics(rows)
        self.physics.place(np.arange(len(rows)), states)
        self.data = self.physics.data
        self.ctrl, self.rates = [], []

    def step(self, action):
        actions = np.tile(np.asarray(action, float), (len(self.data), 1))
        drive = TASK.drive(self.data, actions)
        assert drive is not None

        def before(substep):
            drive(substep)
            self.ctrl.append(self.data.ctrl.copy())
            self.rates.append(self.data.qvel[:, 3:6].copy())

        assert self.physics.step(TASK.frame_skip, None, before) is None
        TASK.settle(self.data, actions)


def time_constant(values, end):
    """Of an exponential that approaches `end`, sampled in every substep."""
    slopes = np.diff(np.log(np.abs(np.asarray(values) - end)))
    assert np.ptp(slopes) < 1e-3 * -slopes.mean()
    return -TIMESTEP / slopes.mean()


def length(data):
    """How far payloads are from their quadrotors, `[n]`."""
    return np.linalg.norm(data.qpos[:, :3] - data.qpos[:, 7:10], axis=1)


def test_the_model_weighs_and_turns_as_it_should():
    model, _ = world(payload=0.2, mass=1.1, inertia=0.9)
    np.testing.assert_allclose(model.body_mass[1:], [1.1 * MASS, HOOK + 0.2])
    np.testing.assert_allclose(model.body("quadrotor").inertia, 0.9 * np.array(INERTIA))
    np.testing.assert_allclose(model.opt.gravity, [0, 0, -G])
    assert model.opt.timestep == TIMESTEP
    assert TASK.frame_skip * model.opt.timestep == pytest.approx(0.01)


def test_coordinates_are_places_in_the_world():
    model, data = world()
    data.qpos[:3], data.qpos[7:] = (0.1, 0.2, 1.9), (0.3, 0.4, 1.8)
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.body("quadrotor").xpos, (0.1, 0.2, 1.9))
    np.testing.assert_allclose(data.body("payload").xpos, (0.3, 0.4, 1.8))
    np.testing.assert_allclose(data.ten_length[0], 0.3)  # sqrt(0.2^2 + 0.2^2 + 0.1^2)


def test_episodes_begin_on_the_reference_with_the_cable_almost_straight():
    rows = TASK.dynamics.uniform(500, np.random.default_rng(1), over="test")
    states = TASK.begin(rows, np.random.default_rng(2))
    assert states.userdata is not None
    start = following.at(states.userdata[:, REFERENCE : REFERENCE + reference.SIZE], np.zeros((500, 1)))
    assert np.abs(states.qpos[:, 7:] - start.position[:, 0]).max() <= 0.1
    assert np.abs(states.qvel[:, 6:] - start.velocity[:, 0]).max() <= 0.1
    physics = Physics(Measured(), 500, 1)
    physics.set_dynamics(rows)
    physics.place(np.arange(500), states)
    slack = rows[:, 1] - physics.data.ten_length[:, 0]
    assert slack.min() > -1e-9
    assert slack.max() < 0.01 + 1e-9


def test_without_thrust_both_fall_freely():
    # The rotors of the task never give less than 0.03 N, so this is MuJoCo alone. Semi-implicit Euler falls
    # g dt^2 k (k + 1) / 2 in k substeps: 0.19816 m in 100 of them, where g t^2 / 2 would be 0.1962 m.
    model, data = world(payload=0.5)
    data.qpos[:3], data.qpos[7:] = (0, 0, 3), (0, 0.1, 2.9)
    for _ in range(100):
        mujoco.mj_step(model, data)
    fallen = G * TIMESTEP**2 * 100 * 101 / 2
    np.testing.assert_allclose(data.qpos[[2, 9]], [3 - fallen, 2.9 - fallen], atol=1e-12)
    np.testing.assert_allclose(data.qvel, [0, 0, -G * 0.2, 0, 0, 0, 0, 0, -G * 0.2], atol=1e-12)


@pytest.mark.parametrize(("action", "thrust"), [(-1, 0.225), (-0.5, 0.45), (0, 0.9), (0.5, 1.8), (1, 3.6)])
def test_equal_steps_of_the_first_action_are_equal_factors_of_thrust(action, thrust):
    # 0.9 N times 4 to the power of the action; both are in free flight, for the cable is slack.
    rows = dynamics(lag=FAST, cable=1.0)
    states = at_rest(rows)
    states.qpos[:, 9] = 2.2
    flight = Flight(rows, states)
    for _ in range(2):
        flight.step((action, 0, 0, 0))
    before = flight.data.qvel.copy()
    for _ in range(4):
        flight.step((action, 0, 0, 0))
    np.testing.assert_allclose(flight.ctrl[-1], thrust)
    assert asking_for(thrust) == pytest.approx(action, abs=1e-12)
    gained = (flight.data.qvel - before)[0] / 0.04
    np.testing.assert_allclose(gained[[2, 8]], [4 * thrust / MASS - G, -G], atol=1e-9)


def test_actions_beyond_their_range_count_as_its_ends():
    beyond, ends = (Flight(rows := dynamics(), at_rest(rows)) for _ in range(2))
    for _ in range(10):
        beyond.step((1.5, -7, 2, 3))
        ends.step((1, -1, 1, 1))
    np.testing.assert_array_equal(beyond.data.qvel, ends.data.qvel)
    assert np.abs(beyond.data.qvel[0, 3:6]).min() > 0.05


@pytest.mark.parametrize(("action", "rate", "left", "right"), [(-1, 10, 0.03, 0.7045), (1, 60, 0.7228, 5.63)])
def test_no_rotor_gives_less_than_its_least_or_more_than_its_most(action, rate, left, right):
    # To stop a roll of 10 rad/s takes 2.36e-4 / 0.03 / (4 * 0.0410) = 0.04795 N for each rad/s: 0.4795 N less
    # on the left and more on the right than 0.225 N; for 60 rad/s, 2.8772 N from 3.6 N.
    rows = dynamics(lag=FAST)
    states = at_rest(rows)
    assert states.userdata is not None
    states.userdata[:, RECORDS + episode_row.ACTION :: episode_row.RECORD] = action
    states.qvel[:, 3] = rate
    flight = Flight(rows, states)
    flight.step((action, 0, 0, 0))
    np.testing.assert_allclose(flight.ctrl[0][0], [left, left, right, right], atol=1e-4)


@pytest.mark.parametrize(("payload", "cable"), [(0, 0), (0.025, 0.25), (0.25, 0.5), (0.5, 1)])
def test_thrust_that_equals_the_weight_keeps_the_height(payload, cable):
    # Nominally (0.2800 + 0.0001 + 0.025) * 9.81 / 4 = 0.74826 N for each rotor, which is what the action
    # log(0.74826 / 0.9) / log 4 asks for.
    thrust = (MASS + HOOK + payload) * G / 4
    if payload == 0.025:
        assert thrust == pytest.approx(0.74826, abs=1e-5)
        assert asking_for(thrust) == pytest.approx(-0.13320, abs=1e-5)
        assert pytest.approx(thrust) == TASK.hover_thrust
    rows = dynamics(payload=payload, cable=cable)
    states = at_rest(rows)
    assert states.userdata is not None
    states.userdata[:, THRUST : THRUST + 4] = thrust
    states.userdata[:, RECORDS + episode_row.ACTION :: episode_row.RECORD] = asking_for(thrust)
    flight = Flight(rows, states)
    for _ in range(200):
        flight.step((asking_for(thrust), 0, 0, 0))
    np.testing.assert_allclose(flight.data.qpos, states.qpos, atol=1e-3)
    np.testing.assert_allclose(flight.data.qvel, 0, atol=1e-3)


def test_gain_and_mass_scale_thrust_and_weight():
    # 10% more thrust on 10% less mass: (1.1 * 4 * T - W) / m, with T that of a nominal hover without payload.
    rows = dynamics(payload=0, cable=0.5, gain=1.1, mass=0.9, lag=FAST)
    flight = Flight(rows, at_rest(rows))
    thrust, mass = (MASS + HOOK) * G / 4, 0.9 * MASS + HOOK
    for _ in range(4):
        flight.step((asking_for(thrust), 0, 0, 0))
    before = flight.data.qvel[0, 2]
    for _ in range(10):
        flight.step((asking_for(thrust), 0, 0, 0))
    assert (flight.data.qvel[0, 2] - before) / 0.1 == pytest.approx(1.1 * 4 * thrust / mass - G, rel=1e-3)


@pytest.mark.parametrize("heavy", [1, 1000])
@pytest.mark.parametrize(("payload", "cable"), [(0.1, 0.5), (0.5, 1.0)])
def test_a_swinging_payload_keeps_its_energy_and_has_the_right_period(heavy, payload, cable):
    # A force that equals the weight holds quadrotor m and payload p. Then e = m v^2 / 2 + p w^2 / 2 + p g h
    # stays, with h the payload's height above its lowest place under the quadrotor, and for small angles the
    # period is 2 pi sqrt(l / (g (1 + p / m))), which for a heavy quadrotor is that of a pendulum.
    for angle in (0.5, 0.05):
        model, data = world(payload=payload, cable=cable, mass=heavy)
        m, p = model.body_mass[1:]
        data.qpos[2], data.qpos[7:] = 2, (cable * np.sin(angle), 0, 2 - cable * np.cos(angle))
        data.xfrc_applied[1, 2] = (m + p) * G
        energy, aside = [], []
        for _ in range(2000):
            mujoco.mj_step(model, data)
            moving = m * data.qvel[:3] @ data.qvel[:3] + p * data.qvel[6:] @ data.qvel[6:]
            energy.append(moving / 2 + p * G * (data.qpos[9] - data.qpos[2] + cable))
            aside.append(data.qpos[7] - data.qpos[0])
        if angle == 0.5:
            np.testing.assert_allclose(energy, p * G * cable * (1 - np.cos(angle)), rtol=0.015)
        else:
            period = 2 * np.pi * np.sqrt(cable / (G * (1 + p / m)))
            assert swing_time(np.array(aside)) == pytest.approx(period, rel=1e-3)


def swing_time(aside):
    """The mean time between falls through 0."""
    at = np.flatnonzero((aside[:-1] > 0) & (aside[1:] <= 0))
    return np.diff(at + aside[at] / (aside[at] - aside[at + 1])).mean() * TIMESTEP


@pytest.mark.parametrize(("payload", "cable"), [(0, 0.25), (0.025, 0.25), (0.5, 1.0)])
def test_the_cable_pulls_only_when_it_is_taut(payload, cable):
    # A quadrotor of 280 kg that stays where it is, and a payload that falls 0.1 m before the cable is taut.
    model, data = world(payload=payload, cable=cable, mass=1000)
    data.qpos[2], data.qpos[9] = 2, 2.1 - cable
    weight = float(model.body("payload").mass[0]) * G
    data.xfrc_applied[1, 2] = model.body_mass[1] * G
    lengths, pulls = [], []
    for _ in range(1000):
        mujoco.mj_step(model, data)
        lengths.append(data.ten_length[0])
        pulls.append(data.efc_force[0] if data.nefc else 0.0)
        if data.ten_length[0] < cable and data.qvel[8] < 0 and len(pulls) < 70:
            assert data.qvel[8] == pytest.approx(-G * TIMESTEP * len(pulls))
    lengths, pulls = np.array(lengths), np.array(pulls)
    taut = lengths > cable
    assert 60 < np.flatnonzero(taut)[0] < 75  # sqrt(2 * 0.1 / 9.81) s are 71 substeps
    assert (pulls[~taut] == 0).all()
    assert (pulls >= 0).all()
    assert pulls[-1] == pytest.approx(weight, rel=0.01)
    # It arrives with sqrt(2 g 0.1) = 1.4 m/s, 2.8 mm in a substep.
    assert lengths.max() < cable + 0.01


def test_the_cable_holds_whatever_the_quadrotor_does():
    # Full thrust is 80 m/s^2: after a wild move a cable of 1 m snaps taut at several m/s, 1 to 2 cm in a
    # substep. A flight along the reference stays below 1 cm, as below.
    rows = np.repeat(TASK.dynamics.grid({"payload": [0, 0.25, 0.5], "cable": [0, 0.02, 0.25, 1]}), 8, axis=0)
    simulator = MujocoSimulator(TASK, len(rows), seed=1, dynamics=rows, threads=1)
    rng, longest, slackest, actions = np.random.default_rng(0), 0.0, 0.0, np.zeros((len(rows), 4))
    for step in range(300):
        if step % 20 == 0:
            actions = rng.uniform(-1, 1, (len(rows), 4))
        simulator.step(actions)
        excess = length(simulator.data) - rows[:, 1]
        longest, slackest = max(longest, excess.max()), min(slackest, excess.min())
    assert simulator.divergences == 0
    assert slackest < -0.3
    assert longest < 0.05


def test_any_payload_on_any_cable_can_be_flown_for_a_thousand_steps():
    task = InformedQuadrotorPayload(TEST)
    known = task.dynamics.grid({"payload": [0, 0.25], "cable": [0, 0.001, 0.02, 0.25, 0.5]})
    rows = np.concatenate((known, task.dynamics.grid({"payload": [0.5], "cable": [0, 0.02, 1]})))
    simulator = MujocoSimulator(task, len(rows), seed=1, dynamics=rows, threads=1)
    policy, longest = classical_controller(task), 0.0
    for _ in range(1000):
        assert not simulator.step(policy(simulator.observation)).done.any()
        longest = max(longest, (length(simulator.data) - rows[:, 1]).max())
    assert simulator.divergences == 0
    assert longest < 0.01


@pytest.mark.parametrize(
    ("rotor", "roll", "pitch", "yaw"),
    [
        ("front_left", 1, -1, 1),
        ("rear_left", 1, 1, -1),
        ("rear_right", -1, 1, 1),
        ("front_right", -1, -1, -1),
    ],
)
def test_each_rotor_turns_the_quadrotor_its_own_way(rotor, roll, pitch, yaw):
    # 1 N gives 1 / 0.28 = 3.57 m/s^2, and in rad/s^2 0.058 / sqrt 2 / 2.36e-4 = 173.8 and
    # 0.005119 / 3.03e-4 = 16.9.
    model, data = world()
    data.qpos[2], data.qpos[9] = 2, 1.9
    data.actuator(rotor).ctrl[0] = 1
    mujoco.mj_forward(model, data)
    lever = ARM / np.sqrt(2)
    wanted = [0, 0, 1 / MASS - G, *np.divide([roll * lever, pitch * lever, yaw * SPIN], INERTIA)]
    np.testing.assert_allclose(data.qacc[:6], wanted, rtol=1e-6, atol=1e-9)
    assert np.abs(wanted[3:]).round(1).tolist() == [173.8, 173.8, 16.9]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("axis", "time"), [(0, 0.03), (1, 0.03), (2, 0.15)])
def test_rates_asked_for_are_reached_with_the_controller_s_time_constants(axis, time, sign):
    # Half of the largest rates. A substep closes dt / time of what is missing, so the exponential is a
    # little faster than `time`: -dt / log(1 - dt / time) is 0.0290 s for 0.03 s and 0.1490 s for 0.15 s.
    rows = dynamics(lag=FAST)
    flight = Flight(rows, at_rest(rows))
    action = np.array([asking_for(TASK.hover_thrust), 0, 0, 0])
    action[1 + axis] = 0.5 * sign
    wanted = 0.5 * sign * episode_row.FASTEST[axis]
    for _ in range(12):
        flight.step(action)
    rates = np.array(flight.rates)[:, 0]
    np.testing.assert_allclose(np.delete(rates, axis, axis=1), 0, atol=1e-9)
    assert np.sign(rates[-1, axis]) == sign
    assert abs(rates[-1, axis]) <= abs(wanted)
    measured = time_constant(rates[11:, axis], wanted)
    assert measured == pytest.approx(-TIMESTEP / np.log(1 - TIMESTEP / time), rel=1e-3)
    assert measured == pytest.approx(time, rel=0.04)


def test_a_quadrotor_that_turns_slower_than_thought_has_longer_time_constants():
    # The controller reckons with the nominal inertia: half as much again takes 0.045 s.
    rows = dynamics(lag=FAST, inertia=1.5)
    flight = Flight(rows, at_rest(rows))
    for _ in range(12):
        flight.step((asking_for(TASK.hover_thrust), 0.5, 0, 0))
    measured = time_constant(np.array(flight.rates)[11:, 0, 0], 1.5)
    assert measured == pytest.approx(0.045, rel=0.03)


@pytest.mark.parametrize("lag", [0.05, 0.125, SLOW])
@pytest.mark.parametrize(("thrust", "tau"), [(1.5, TAU_UP), (0.3, TAU_DOWN)])
def test_rotors_follow_a_step_with_their_own_time_constants(lag, thrust, tau):
    # The command has arrived after at most 10 substeps; until then the thrust is that of a hover, 0.748 N.
    # 63% of the way is made after 0.2164 s * lag upwards and 0.1644 s * lag downwards.
    rows = dynamics(lag=lag)
    flight = Flight(rows, at_rest(rows))
    for _ in range(8):
        flight.step((asking_for(thrust), 0, 0, 0))
    ctrl = np.array(flight.ctrl)[:, 0]
    np.testing.assert_allclose(ctrl, ctrl[:, :1] + np.zeros(4), rtol=1e-9)
    np.testing.assert_allclose(ctrl[:5], TASK.hover_thrust)
    assert time_constant(ctrl[10:30, 0], thrust) == pytest.approx(tau * lag, rel=1e-6)
    begun = np.flatnonzero(np.abs(ctrl[:, 0] - TASK.hover_thrust) > 1e-9)[0]
    done = np.abs(ctrl[:, 0] - TASK.hover_thrust) / abs(thrust - TASK.hover_thrust)
    reached = np.flatnonzero(done >= 1 - np.exp(-1))[0] - begun + 1
    assert reached == np.ceil(tau * lag / TIMESTEP - 1e-9)


def test_an_action_arrives_after_10_to_20_ms_any_of_them_as_likely():
    rows = dynamics(1200, lag=FAST)
    flight = Flight(rows, at_rest(rows))
    for _ in range(3):
        flight.step((asking_for(1.5), 0, 0, 0))
    # The action was chosen when substep 0 began; its delay in substeps is the first that it drives.
    delay = (np.array(flight.ctrl)[:, :, 0] > 1).argmax(axis=0)
    values, counts = np.unique(delay, return_counts=True)
    np.testing.assert_array_equal(values, np.arange(5, 11))
    # 200 of each are expected with a deviation of 13.
    assert np.abs(counts - 200).max() < 4.5 * 13
    assert (values[[0, -1]] * TIMESTEP).tolist() == [0.01, 0.02]


def test_delays_are_redrawn_in_every_step():
    rows, plans = dynamics(1), np.empty((1, episode_row.PLAN))
    states, seen = at_rest(rows).userdata, []
    assert states is not None
    for clock in range(300):
        states[:, CLOCK] = clock
        rotors.plan(states, rows[:, 5], rows[:, 4], plans)
        seen.append(plans[0, episode_row.ARRIVAL])
    assert np.unique(seen).tolist() == [0, 1, 2, 3, 4, 5]
    assert abs(np.corrcoef(seen[:-1], seen[1:])[0, 1]) < 0.25


def test_noise_is_a_clipped_gaussian_s_quantile():
    shares = (np.arange(20_000) + 0.5) / 20_000
    drawn = np.array([sensing._clipped_normal(x) for x in shares])
    np.testing.assert_allclose(drawn, np.clip(special.ndtri(shares), -1, 1), atol=5e-6)


def measured_less_true(userdata, qpos, qvel):
    """Errors `[n, 18]` of the latest measurement: the attitude's is the angle about each axis of the body."""
    record = userdata[:, RECORDS:]
    turned = Rotation.from_quat(qpos[:, 3:7], scalar_first=True).inv() * Rotation.from_quat(
        record[:, 3:7], scalar_first=True
    )
    parts = (
        record[:, :3] - qpos[:, :3],
        2 * turned.as_quat(canonical=True, scalar_first=True)[:, 1:],
        record[:, 7:13] - qvel[:, :6],
        record[:, 13:16] - qpos[:, 7:10],
        record[:, 16:19] - qvel[:, 6:],
    )
    return np.concatenate(parts, axis=1)


def test_sensors_err_within_their_bounds_and_as_a_clipped_gaussian_does():
    n = 3000
    states = TASK.begin(TASK.dynamics.nominal(n), np.random.default_rng(3))
    errors = measured_less_true(states.userdata, states.qpos, states.qvel)
    bounds = np.repeat([2.5e-3, np.deg2rad(1.5), 5e-3, np.deg2rad(3), 2.5e-3, 5e-3], 3)
    np.testing.assert_allclose(bounds, np.repeat(NOISE, 3))
    errors /= bounds
    assert np.abs(errors).max() <= 1 + 1e-9
    # Beyond one deviation lie 31.7%, here 0.85% are a deviation; what lies between is normal.
    clipped = np.abs(errors) > 1 - 1e-3
    np.testing.assert_allclose(clipped.mean(axis=0), 2 * special.ndtr(-1), atol=0.04)
    inside = special.ndtr(errors[~clipped])
    low, high = special.ndtr((-1, 1))
    assert stats.kstest((inside - low) / (high - low), "uniform").pvalue > 0.001
    correlations = np.corrcoef(errors.T) - np.eye(18)
    assert np.abs(correlations).max() < 5 / np.sqrt(n)


def test_noise_is_drawn_anew_in_every_step():
    rows = dynamics(1)
    flight, seen = Flight(rows, at_rest(rows)), []
    for _ in range(50):
        flight.step((asking_for(TASK.hover_thrust), 0, 0, 0))
        seen.append(measured_less_true(flight.data.userdata, flight.data.qpos, flight.data.qvel)[0])
    drawn = np.array(seen) / np.repeat(NOISE, 3)
    inside = drawn[np.abs(drawn) < 0.999]
    assert len(inside) > 500
    # No number is used twice: 614 of 900 lie inside, and by chance none of them comes as close as this.
    assert np.diff(np.sort(inside)).min() > 1e-9


def test_observations_are_the_measurements_seen_from_the_body():
    task = InformedQuadrotorPayload()
    rows = task.dynamics.uniform(8, np.random.default_rng(0))
    simulator = MujocoSimulator(task, 8, seed=0, dynamics=rows, threads=1)
    rng = np.random.default_rng(1)
    for _ in range(10):
        simulator.step(rng.uniform(-0.5, 0.2, (8, 4)))
    seen = simulator.observation
    userdata = simulator.data.userdata
    records = userdata[:, RECORDS:].reshape(8, 6, episode_row.RECORD)
    record, past = records[:, 0], records[:, 1:]
    turn = seen[:, episode_row.ATTITUDE].reshape(8, 3, 3)
    # A measured quaternion is not quite of unit length: its matrix is a rotation but for 3 * 0.013^2.
    exact = Rotation.from_quat(record[:, 3:7], scalar_first=True).as_matrix()
    np.testing.assert_allclose(turn, exact, atol=1e-3)
    times = (userdata[:, CLOCK] * task.dt)[:, None] + 0.1 * np.arange(6)
    path = following.at(userdata[:, REFERENCE : REFERENCE + reference.SIZE], times)
    ahead = np.stack((path.position, path.velocity), axis=2)
    vectors = [
        ahead[:, 0, 0] - record[:, 13:16],
        ahead[:, 0, 1] - record[:, 16:19],
        record[:, :3] - record[:, 13:16],
        record[:, 7:10] - record[:, 16:19],
        record[:, 7:10],
    ]
    vectors = np.concatenate(
        (np.stack(vectors, axis=1), (ahead[:, 1:] - ahead[:, :1]).reshape(8, 10, 3)), axis=1
    )
    in_body = np.einsum("nij,nki->nkj", turn, vectors).reshape(8, -1)
    np.testing.assert_allclose(seen[:, episode_row.VECTORS], in_body, atol=1e-12)
    past = np.concatenate((past[:, :, :19] - record[:, None, :19], past[:, :, 19:]), axis=2)
    rest = (record[:, 10:13], record[:, 2:3], record[:, 19:23], past.reshape(8, -1), rows[:, :2])
    np.testing.assert_allclose(seen[:, 54:], np.concatenate(rest, axis=1), atol=1e-12)


def pushes(scale, height=1.0, n=60, steps=1000):
    """Forces and torques `[n, steps, 6]` on quadrotors at a height, and the phases `[n]` of disturbances."""
    rows = np.zeros((n, SIZE))
    rows[:, KEY] = np.random.default_rng(4).integers(1, 2**53, n)
    wrench = np.empty((steps, n, 6))
    for clock in range(steps):
        rows[:, CLOCK] = clock
        disturbances.disturb(rows, np.full(n, height), np.full(n, float(scale)), wrench[clock])
    return wrench.transpose(1, 0, 2), rows[:, KEY].astype(np.int64) % 125


def test_a_disturbance_is_held_and_then_there_is_a_pause():
    wrench, phase = pushes(1)
    assert np.abs(wrench[..., :3]).max() <= FORCE == 0.25
    assert np.abs(wrench[..., 3:]).max() <= TORQUE == 0.0025
    assert np.abs(wrench[..., :3]).max() > 0.24
    assert np.abs(wrench[..., 3:]).max() > 0.0024
    held_for = []
    for row, first in zip(wrench, phase, strict=True):
        for begins in range(125 - first, 875, 125):
            period = row[begins : begins + 125]
            held = np.any(period != 0, axis=1)
            steps = held.sum()
            assert held[:steps].all()
            np.testing.assert_array_equal(period[:steps], period[:1].repeat(steps, axis=0))
            held_for.append(steps)
    # Any number of steps up to 25 is as likely: 13 on average, with a deviation of 7.2 / sqrt 400.
    assert np.unique(held_for).tolist() == list(range(1, 26))
    assert np.mean(held_for) == pytest.approx(13, abs=1.5)


def test_disturbances_scale_and_are_otherwise_the_same():
    once, _ = pushes(1, steps=300)
    np.testing.assert_array_equal(pushes(0, steps=300)[0], 0)
    np.testing.assert_allclose(pushes(2, steps=300)[0], 2 * once)


def test_downwash_pushes_below_half_a_metre_and_the_more_the_lower():
    np.testing.assert_array_equal(pushes(0, height=0.5, steps=5)[0], 0)
    for height in (0.49, 0.3, 0.1):
        wrench, _ = pushes(0, height, n=200, steps=20)
        # 1 N for each metre below 0.5 m, to any side, never down, and without a torque.
        np.testing.assert_allclose(np.linalg.norm(wrench[..., :3], axis=2), 0.5 - height)
        assert wrench[..., 2].min() >= 0
        assert np.abs(wrench[..., :2].mean(axis=(0, 1))).max() < 0.05 * (0.5 - height)
        assert not wrench[..., 3:].any()
        assert len(np.unique(wrench[0, :, 0])) == 20


def test_disturbances_act_on_the_quadrotor():
    # The cable is slack, and 10 ms tilt nothing: the velocity gained is ((F + 4 T z) / m - g z) dt.
    rows = dynamics(200, disturbance=2, cable=1.0, lag=FAST)
    states = at_rest(rows, height=2.0)
    states.qpos[:, 9] = 1.9
    flight = Flight(rows, states)
    flight.step((asking_for(TASK.hover_thrust), 0, 0, 0))
    wrench = flight.data.xfrc_applied[:, 1]
    assert 10 < wrench.any(axis=1).sum() < 40  # a tenth of the time
    assert not flight.data.xfrc_applied[:, (0, 2)].any()
    gained = wrench[:, :3] / MASS + (0, 0, 4 * TASK.hover_thrust / MASS - G)
    np.testing.assert_allclose(flight.data.qvel[:, :3], 0.01 * gained, atol=2e-3)
    pushed = np.abs(wrench[:, 3:]) > 1e-3
    assert (np.sign(flight.data.qvel[:, 3:6]) == np.sign(wrench[:, 3:]))[pushed].all()


def ends(states, rows, path):
    """Whether an episode from a state ends with its first step."""
    task = QuadrotorPayload(path)
    simulator = MujocoSimulator(task, len(rows), seed=0, dynamics=rows, threads=1)
    simulator.reset(states=states)
    step = simulator.step(np.tile((float(asking_for(task.hover_thrust)), 0.0, 0.0, 0.0), (len(rows), 1)))
    assert not step.truncated.any()
    return step.terminated.tolist()


@pytest.mark.parametrize(("height", "crashes"), [(0.055, False), (0.045, True)])
def test_a_quadrotor_below_5_cm_has_crashed(height, crashes):
    # The payload lies beside it, on a slack cable, where the reference is.
    rows = dynamics(cable=0.5)
    path = reference.hover(np.array([[0.2, 0.0, 0.05]]))
    states = at_rest(rows, height, path=path)
    states.qpos[:, 7:] = 0.2, 0, 0.05
    assert ends(states, rows, path) == [crashes]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(("degrees", "crashes"), [(59, False), (61, True)])
def test_a_quadrotor_tilted_or_turned_beyond_60_degrees_has_crashed(axis, sign, degrees, crashes):
    rows = dynamics()
    turned = np.zeros(3)
    turned[axis] = sign * np.deg2rad(degrees)
    states = at_rest(rows, turned=turned)
    np.testing.assert_allclose(scoring.euler_angles(states.qpos[0, 3:7]), turned, atol=1e-12)
    assert ends(states, rows, HOVER) == [crashes]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(("error", "crashes"), [(0.99, False), (1.01, True)])
def test_a_payload_a_metre_from_the_reference_has_crashed(axis, error, crashes):
    rows = dynamics()
    centre = np.array([[0.0, 0.0, 2.0]])
    centre[0, axis] += error
    path = reference.hover(centre)
    assert ends(at_rest(rows, path=path), rows, path) == [crashes]


def flying(n=6, seed=0, threads=1, chunk=4096, steps=30):
    """Episodes under way under dynamics of all kinds, below 0.5 m too, with a generator for actions."""
    rng = np.random.default_rng(seed)
    rows = TASK.dynamics.uniform(n, rng, over="test")
    simulator = MujocoSimulator(TASK, n, seed=seed, dynamics=rows, threads=threads, chunk=chunk)
    for _ in range(steps):
        simulator.step(rng.uniform((-0.4, -0.3, -0.3, -0.3), (-0.1, 0.3, 0.3, 0.3), (n, 4)))
    return simulator, rng


def test_branches_under_other_models_are_steps_under_them_and_share_what_is_random():
    simulator, rng = flying()
    snapshot, actions = simulator.snapshot(), rng.uniform(-0.3, 0.3, (6, 4))
    models = np.repeat(TASK.dynamics.nominal(), 4, axis=0)
    models[:, TASK.dynamics.column("disturbance")] = 1, 2, 0, 1
    models[3, TASK.dynamics.column("payload")] = 0.5
    branches = simulator.branch(snapshot, actions, models)
    noise, pushed, states = [], [], []
    for k, model in enumerate(models):
        simulator.restore(replace(snapshot, dynamics=np.tile(model, (6, 1))))
        step = simulator.step(actions)
        np.testing.assert_array_equal(step.next_observation, branches.observation[:, k])
        np.testing.assert_array_equal(step.reward, branches.reward[:, k])
        data = simulator.data
        assert not step.done.any()
        noise.append(measured_less_true(data.userdata, data.qpos, data.qvel))
        pushed.append(data.xfrc_applied[:, 1].copy())
        states.append(data.qpos.copy())
    for errors in noise[1:]:
        np.testing.assert_allclose(errors, noise[0], atol=1e-12)
    assert np.abs(pushed[0]).max() > 0
    np.testing.assert_allclose(pushed[1], 2 * pushed[0])
    np.testing.assert_array_equal(pushed[2], 0)
    np.testing.assert_array_equal(pushed[3], pushed[0])
    assert not np.array_equal(states[0], states[1])
    assert not np.array_equal(states[0], states[3])


def test_branches_of_a_state_share_its_cable():
    # A nominal hover is too little thrust for 0.3 kg: both cables of 0.25 m stay taut, and none is longer.
    rows = dynamics(3, cable=np.array([0.25, 0.25, 0.5]), payload=0.3)
    simulator = MujocoSimulator(InformedQuadrotorPayload(), 3, seed=0, dynamics=rows, threads=1)
    actions = np.tile((float(asking_for(TASK.hover_thrust)), 0.0, 0.0, 0.0), (3, 1))
    for _ in range(10):
        simulator.step(actions)
    models = dynamics(3, cable=np.array([0.25, 0.1, 1.0]), payload=0.3)
    branches = simulator.branch(simulator.snapshot(), actions, models)
    for other in (1, 2):
        np.testing.assert_array_equal(branches.observation[:, other], branches.observation[:, 0])
    np.testing.assert_array_equal(branches.observation[:, 0, -1], rows[:, 1])
    simulator.step(actions)
    assert (length(simulator.data) - rows[:, 1]).max() < 1e-3


def test_branches_depend_on_neither_chunks_nor_threads():
    models = TASK.dynamics.ensemble(5, np.random.default_rng(2), over="test")
    found = []
    for threads, chunk in ((1, 4096), (2, 7), (1, 1)):
        simulator, rng = flying(threads=threads, chunk=chunk)
        found.append(simulator.branch(simulator.snapshot(), rng.uniform(-1, 1, (6, 4)), models))
    assert found[0].valid.all()
    for other in found[1:]:
        np.testing.assert_array_equal(other.observation, found[0].observation)
        np.testing.assert_array_equal(other.reward, found[0].reward)


def test_a_restored_snapshot_goes_on_bit_for_bit():
    simulator, rng = flying()
    snapshot = simulator.snapshot()
    actions = rng.uniform(-0.5, 0.1, (40, 6, 4))
    expected = [simulator.step(a) for a in actions]
    other = flying(seed=9, steps=3)[0]
    for again in (simulator, other):
        again.restore(snapshot)
        for step, a in zip(expected, actions, strict=True):
            for field, values in zip(step._fields, again.step(a), strict=True):
                np.testing.assert_array_equal(values, getattr(step, field), err_msg=field)


def test_an_evaluation_pairs_the_episodes_of_its_settings():
    episodes = 8
    task, rng = TASK.tested(), np.random.default_rng(0)
    rows = np.stack([task.setting(name, episodes, rng) for name in ("id", "ood")])
    states = initial_states(task, rows.reshape(-1, len(task.dynamics)), episodes, seed=5)
    assert states.userdata is not None
    carried = np.delete(states.userdata[:, :RECORDS], CABLE, axis=1)
    for paired in (carried, states.qpos[:, 3:], states.qvel):
        np.testing.assert_array_equal(paired[:episodes], paired[episodes:])
    assert len(np.unique(states.userdata[:, KEY])) == episodes
    seen = []

    def watch(data, running):
        errors = measured_less_true(data.userdata, data.qpos, data.qvel).reshape(2, episodes, 18)
        both = running.reshape(2, episodes).all(axis=0)
        np.testing.assert_allclose(errors[0, both], errors[1, both], atol=1e-12)
        seen.append(both.sum())

    def fall(observation):
        return np.tile((-0.5, 0.0, 0.0, 0.0), (len(observation), 1))

    evaluate(TASK, fall, rows, episodes=episodes, seed=5, threads=1, watch=watch)
    assert seen[0] == episodes
    assert seen[20] > 0


def test_settings_fix_what_they_name_and_draw_the_rest_alike():
    known, unknown = (TASK.setting(name, 50, np.random.default_rng(3)) for name in ("id", "ood"))
    for column, most in ((0, 0.25), (1, 0.5)):
        assert 0 <= known[:, column].min() < 0.1 * most
        assert 0.9 * most < known[:, column].max() <= most
    np.testing.assert_array_equal(unknown[:, (0, 1, 6)], np.tile((0.5, 1, 2), (50, 1)))
    np.testing.assert_array_equal(known[:, 2:6], unknown[:, 2:6])
