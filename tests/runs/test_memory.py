"""What training needs of a machine."""

import subprocess
import sys

import pytest

CODE = """
from rapo.training.config import make_config
from rapo.training.loop import Training

training = Training(make_config("walker2d", "rapo", options={"num_envs": 32, "horizon": 64, "models": 16}))
training.update()
training.update()
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_training_walker2d_with_16_models_stays_below_2_gib():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2 * 1024**2
    assert int(done.stdout) > 100 * 1024
