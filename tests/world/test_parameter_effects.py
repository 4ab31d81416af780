"""Which declared parameters change anything."""

import inspect

import numpy as np
import pytest

from rapo.cli import main
from rapo.world.find_task import make_task
from rapo.world.parameter import Parameter
from rapo.world.parameter_effects import parameter_effects
from rapo.world.task import Task

MODEL = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1" friction="1 0.1 0.1"/>
    <body name="sled" pos="0 0 0.1">
      <joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
      <geom name="box" type="box" size="0.1 0.1 0.1" mass="1" friction="0.3 0.1 0.1"/></body>
  </worldbody>
  <actuator><motor joint="x" ctrllimited="true" ctrlrange="-9 9"/></actuator>
</mujoco>
"""


class Sled(Task):
    """A box on a floor that is rougher than itself."""

    name = "sled"
    frame_skip = 2
    parameters = (
        Parameter("mass", "body_mass", (0.9, 1.1), (0.5, 1.5)),
        Parameter("grip", "geom_friction", (0.9, 1.1), (0.5, 1.5), of="box"),
        Parameter("floor", "geom_friction", (0.9, 1.1), (0.5, 1.5), of="floor"),
    )

    def reset(self, n, rng):
        return np.zeros((n, 2)), 0.1 * rng.standard_normal((n, 2))

    def observe(self, data):
        return np.concatenate((data.qpos, data.qvel), axis=1)

    def score(self, before, after, data, actions):
        return data.qvel[:, 0].copy(), np.zeros(len(data), bool)


@pytest.fixture(autouse=True)
def model_file(tmp_path):
    file = tmp_path / "sled.xml"
    file.write_text(MODEL)
    Sled.model_file = file


def test_friction_that_a_rougher_floor_hides_is_found():
    effects = {effect.name: effect for effect in parameter_effects(Sled())}
    assert effects["grip"].nothing
    assert not effects["floor"].nothing
    assert not effects["mass"].nothing


@pytest.mark.parametrize("name", ["hopper", "walker2d", "halfcheetah", "ant"])
def test_every_parameter_of_locomotion_changes_something(name):
    assert not any(effect.nothing for effect in parameter_effects(make_task(name)))


def test_the_command_line_names_what_changes_nothing(tmp_path, capsys):
    file = tmp_path / "sled.py"
    text = inspect.getsource(Sled)
    file.write_text(
        "import numpy as np\nfrom rapo import Parameter, Task\n\n"
        + text.replace('    name = "sled"', f'    name, model_file = "sled", {str(Sled.model_file)!r}')
    )
    main(["tasks", f"{file}:Sled", "--check"])
    said = capsys.readouterr().out
    assert "'grip' changes nothing: MuJoCo takes the larger friction of two geoms in contact." in said
    assert "'floor' changes nothing" not in said
    main(["tasks", "quadrotor-payload", "--check"])
    said = capsys.readouterr().out
    assert "Parameter 'cable' can't change within an episode: it was not tried." in said
    assert "Every parameter that was tried changes something." in said
