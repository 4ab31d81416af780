"""What is given away: the wheel alone, in a fresh environment outside the clone, trains and reports."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import rapo

CLONE = Path(__file__).parents[1]
TINY = ("--algo", "ppo", "--steps", "256", "--set", "num_envs=8", "horizon=16", "minibatches=4")


def run(*command, cwd):
    """What a command prints; it sees neither the clone nor the settings of the tests."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    env["XLA_FLAGS"] = "--xla_backend_optimization_level=0"  # compiles in half the time
    done = subprocess.run([*map(str, command)], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{command} said\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist of the clone and the wheel that was built from the sdist."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, CLONE, cwd=out)
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def fresh(built, tmp_path_factory):
    """The `bin` of a fresh environment with the wheel; other packages are those of this environment."""
    folder = tmp_path_factory.mktemp("fresh") / "env"
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    python = folder / "bin" / "python"
    install = ("install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", built[1])
    run(sys.executable, "-m", "pip", "--python", python, *install, cwd=folder.parent)
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = Path(run(python, "-c", asked, cwd=folder.parent).strip())
    # A line of a .pth file is a folder whose own .pth files are not read: the editable install stays hidden.
    (own / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def test_the_wheel_has_every_file_of_the_package_and_the_sdist_the_tests(built):
    sdist, wheel = built
    package = CLONE / "src" / "rapo"
    source = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    expected = {f"rapo/{path.relative_to(package).as_posix()}" for path in source}
    about = f"rapo-{rapo.__version__}.dist-info/"
    with zipfile.ZipFile(wheel) as file:
        held = set(file.namelist())
        metadata = file.read(about + "METADATA").decode()
    assert {name for name in held if not name.startswith(about)} == expected
    assert {"rapo/tasks/quadrotor/payload.xml", "rapo/reporting/assets/page.css", "rapo/py.typed"} <= held
    assert any(name.startswith("rapo/deploy/policies/") for name in held)
    assert about + "licenses/LICENSE" in held
    assert f"\nVersion: {rapo.__version__}\n" in metadata
    with tarfile.open(sdist) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert {f"src/{name}" for name in expected} <= names
    assert {"tests/test_dist.py", "constraints.txt", "Makefile", "LICENSE"} <= names
    assert not [name for name in names if name.startswith((".venv", "runs/", "dist/"))]


def test_rapo_comes_from_the_wheel(fresh, tmp_path):
    asked = "import rapo, sys; print(rapo.__file__, *sys.path, sep='\\n')"
    home, *path = run(fresh / "python", "-P", "-c", asked, cwd=tmp_path).splitlines()
    assert Path(home).is_relative_to(fresh.parent)
    assert str(CLONE / "src") not in path
    assert str(CLONE) not in path


def test_tasks_are_listed(fresh, tmp_path):
    said = run(fresh / "rapo", "tasks", cwd=tmp_path)
    assert "hopper" in said
    assert "quadrotor-payload" in said
    assert run(fresh / "rapo", "--version", cwd=tmp_path) == f"rapo {rapo.__version__}\n"


def test_policies_are_trained_and_reported(fresh, tmp_path):
    for task in ("hopper", "quadrotor-payload"):
        run(fresh / "rapo", "train", task, *TINY, "--out", f"runs/{task}", cwd=tmp_path)
        assert (tmp_path / "runs" / task / "checkpoint.safetensors").is_file()
    run(fresh / "rapo", "report", "runs", "--out", "report", cwd=tmp_path)
    page = (tmp_path / "report" / "index.html").read_text()
    assert "hopper" in page
    assert "quadrotor-payload" in page
    for asset in ("page.css", "page.js"):
        assert (CLONE / "src" / "rapo" / "reporting" / "assets" / asset).read_text().strip() in page


def test_a_policy_of_the_zoo_is_measured_without_any_training(fresh, tmp_path):
    said = run(fresh / "rapo", "zoo", cwd=tmp_path)
    name = next(word for word in said.split() if word.startswith("zoo:"))
    run(fresh / "rapo", "sweep", name, "--episodes", "1", "--scales", "1", cwd=tmp_path)
    assert len(list(tmp_path.glob("runs/zoo/*/sweep.csv"))) == 1


def test_a_statement_of_the_theory_is_checked(fresh, tmp_path):
    run(fresh / "rapo", "theory", "duality", "--out", "theory", cwd=tmp_path)
    assert "duality" in (tmp_path / "theory" / "index.html").read_text()
