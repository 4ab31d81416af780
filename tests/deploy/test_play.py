"""Policies that play while their physics is moved: below the window, and in a real one."""

import os
import signal
import subprocess
import sys
import time

import mujoco
import numpy as np
import pytest
from PIL import ImageGrab

import rapo
from rapo.deploy.player import PlayedPolicy, with_sliders
from rapo.errors import InputError
from rapo.tasks.hopper import Hopper
from rapo.world.find_task import TASKS

COMMAND = [sys.executable, "-m", "rapo", "play"]
CONTROL, MASS, LAST = (700, 55), (770, 205), (824, 205)
"""Where the viewer has, on a screen of 1280 by 900, the title of its controls, and the middle and the end of
the slider of Hopper's mass."""


@pytest.mark.parametrize("name", TASKS)
def test_every_parameter_has_a_slider_over_its_test_range_after_the_robots_own_controls(name):
    task = rapo.make_task(name)
    model = with_sliders(task)
    names = [model.actuator(i).name for i in range(task.model.nu, model.nu)]
    assert names == list(task.dynamics.names)
    assert model.actuator_ctrlrange[task.model.nu :].tolist() == [list(p.test) for p in task.dynamics]


def test_sliders_move_nothing_by_themselves():
    task = rapo.make_task("hopper")
    model = with_sliders(task)
    ends = []
    for value in (0.0, 1.5):
        data = mujoco.MjData(model)
        data.ctrl[task.model.nu :] = value
        mujoco.mj_step(model, data, 50)
        ends.append(data.qpos.copy())
    assert np.array_equal(*ends)


def test_a_parameter_that_is_called_as_an_actuator_has_a_slider_too(tmp_path):
    (tmp_path / "arm.xml").write_text(
        "<mujoco><worldbody><body><joint axis='0 1 0'/><geom size='0.1' mass='1'/></body></worldbody>"
        "<actuator><motor name='motor' joint='elbow'/></actuator></mujoco>".replace(
            "<joint ", "<joint name='elbow' "
        )
    )

    class Arm(Hopper):
        name, model_file, fields = "arm", tmp_path / "arm.xml", ()
        parameters = (rapo.Parameter("motor", "actuator_gear", (0.8, 1.2), (0.5, 1.5)),)

        def reset(self, n, rng):
            return np.zeros((n, 1)), np.zeros((n, 1))

        def observe(self, data):
            return np.concatenate((data.qpos, data.qvel), axis=1)

        def observed(self):
            return [("angle and velocity", 2, "")]

        def remember(self, data):
            return np.empty((len(data), 0))

        def score(self, before, after, data, actions):
            return np.zeros(len(data)), np.zeros(len(data), bool)

    model = with_sliders(Arm())
    assert [model.actuator(i).name for i in range(model.nu)] == ["motor", "motor (dynamics)"]


def test_steps_are_those_of_the_simulator_under_what_the_sliders_stand_at(run):
    player = PlayedPolicy(run, seed=3)
    task = run.config().task
    twin = rapo.make_simulator(task, 1, seed=3)
    for mass in (1.0, 1.5, 0.6):
        row = task.dynamics.sweep("mass", [mass])
        player.move(row[0])
        for _ in range(4):
            step = player.step()
            other = twin.step(run.policy()(twin.observation), dynamics=row)
            assert np.array_equal(step.next_observation, other.next_observation)
            assert np.array_equal(player.data.qpos, twin.data.qpos[0])
            assert np.array_equal(player.data.ctrl[:3], twin.data.ctrl[0])
        assert player.model.body("torso").mass == pytest.approx(mass * task.model.body("torso").mass)


def test_sliders_that_were_cleared_go_back_to_nominal(run):
    player = PlayedPolicy(run)
    player.move(np.full(4, 1.3))
    assert player.wanted.tolist() == [1.3] * 4
    player.data.ctrl[:] = 0
    player.step()
    assert player.data.ctrl[3:].tolist() == player.wanted.tolist() == [1.0] * 4


def test_an_episode_that_ends_is_followed_by_another_and_says_what_it_was_played_under(run):
    player = PlayedPolicy(run)
    player.move(run.config().task.dynamics.sweep("torque", [0.7])[0])
    while len(player.finished) < 2:
        player.step()
    assert player.finished[0].steps > 1
    assert player.finished[0].under == "torque 0.7"
    assert player.episode.steps == 0


def test_what_can_not_change_within_an_episode_changes_with_the_next(tmp_path):
    class Fixed(Hopper):
        parameters = (
            rapo.Parameter("mass", "body_mass", (0.8, 1.2), (0.5, 1.5), within_episode=False),
            *Hopper.parameters[1:],
        )

    run = rapo.train(Fixed(), "ppo", steps=64, out=tmp_path / "run", quiet=True, num_envs=4, horizon=16)
    player = PlayedPolicy(run)
    player.move(np.array([1.5, 1, 1, 1]))
    while not player.finished:
        player.step()
        assert player._simulator.dynamics[0, 0] == (1.5 if player.finished else 1.0)


def environment(display=None):
    known = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return known if display is None else known | {"DISPLAY": display, "LIBGL_ALWAYS_SOFTWARE": "1"}


def test_without_a_display_a_sentence_says_so(run):
    done = subprocess.run([*COMMAND, run.folder], env=environment(), capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.strip() == (
        "rapo: no window can be opened: there is no display here, rapo video makes films without one"
    )


def test_a_time_that_is_none_is_refused(run, refused):
    assert "0 seconds were asked for: allowed are numbers above 0" in refused(
        "play", run.folder, "--seconds", "0"
    )


def test_a_window_opens_draws_and_closes(run, display):
    command = [*COMMAND, run.folder, "--seconds", "2"]
    done = subprocess.run(command, env=environment(display), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "steps, nominal" in done.stdout


def test_a_slider_that_is_dragged_in_the_window_changes_the_physics(run, display):
    def mouse(*words):
        subprocess.run(["xdotool", *map(str, words)], env=environment(display), check=True)

    command = [*COMMAND, run.folder]
    with subprocess.Popen(command, env=environment(display), stdout=subprocess.PIPE, text=True) as playing:
        assert playing.stdout is not None
        assert "nominal" in playing.stdout.readline()  # the window is open
        seen = np.asarray(ImageGrab.grab(xdisplay=display))[:600, :850]
        mouse("mousemove", *CONTROL, "click", 1)
        time.sleep(1)
        opened = np.asarray(ImageGrab.grab(xdisplay=display))[:600, :850]
        mouse("mousemove", *MASS, "mousedown", 1, "mousemove", *LAST, "mouseup", 1)
        said = next(line for line in playing.stdout if "mass" in line)
        playing.send_signal(signal.SIGINT)
    assert seen.std() > 10
    assert (seen != opened)[60:300, 600:].mean() > 0.1
    assert float(said.rpartition("mass ")[2]) > 1.3


def test_a_model_that_is_not_that_of_its_file_is_refused():
    class Other(Hopper):
        def load_model(self):
            return rapo.make_task("hopper").model

        model_file = rapo.make_task("walker2d").model_path

    with pytest.raises(InputError, match="can't be played: its model is not that of its file"):
        with_sliders(Other())
