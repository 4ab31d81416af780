"""What tests share: what one has compiled, a real browser, tiny real runs, and evidence for them."""

import atexit
import json
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import sync_playwright

import rapo
from rapo.cli import main
from rapo.deploy.renderer import headless
from rapo.errors import InputError
from rapo.evaluation.search import Axis, Found, SearchSettings
from rapo.evaluation.sweep import SCHEMA
from rapo.heavy import free_compiled
from rapo.reporting.write_report import report
from rapo.runs.run import Run
from rapo.tasks.quadrotor import flights as tracking
from rapo.tasks.quadrotor import following
from rapo.tasks.quadrotor.payload_task import TEST

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

if "PYTEST_XDIST_WORKER" in os.environ or "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    folder = tempfile.mkdtemp(prefix="rapo-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = folder
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"

TINY: dict[str, Any] = {"num_envs": 4, "horizon": 8, "epochs": 1, "minibatches": 2}
SCALES = (0.5, 0.8, 1.0, 1.2, 1.5)
EPISODES = 3


LONG = ("test_docs.py", "test_dist.py", "test_runner.py", "test_loop.py", "test_run.py", "test_flights.py")
"""Files that take longest: begun first, so that no worker is left with one of them at the end."""


def pytest_collection_modifyitems(items):
    """Put the tests of long files first."""
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


@pytest.fixture(autouse=True)
def compiled_code():
    """Frees what tests have compiled once it is much: a worker goes through hundreds of them."""
    yield
    free_compiled()


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium without a window."""
    path = find_browser()
    if path is None:
        install("chromium")
        path = find_browser()
    if path is None:
        pytest.fail("no chromium was found for the browser tests: install it with apt-get install chromium")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        started = playwright.chromium.launch(executable_path=path, args=arguments)
        yield started
        started.close()


@pytest.fixture(scope="session")
def drawing():
    """Something to draw with: Debian's, installed where there is none and it may be."""
    try:
        with headless(16, 16):
            return
    except InputError:
        install("libegl1", "libgl1-mesa-dri")
    try:
        with headless(16, 16):
            return
    except InputError as error:
        pytest.fail(str(error))


@pytest.fixture(scope="session")
def display():
    """The name of a display that nobody sees, with OpenGL in software: Debian's Xvfb."""
    if not all(map(shutil.which, ("Xvfb", "xdotool"))):
        install("xvfb", "xdotool", "libgl1", "libgl1-mesa-dri")
    if not all(map(shutil.which, ("Xvfb", "xdotool"))):
        pytest.fail("no display was found for tests of windows: apt-get install xvfb xdotool libgl1-mesa-dri")
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        yield f":{server.stdout.readline().strip()}"
        server.terminate()


def install(*packages):
    """Debian's packages, where they may be installed."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in ("apt-get update", "apt-get install -y --no-install-recommends " + " ".join(packages)):
            subprocess.run(command.split(), capture_output=True, env=quiet)


def find_browser():
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture
def opened(browser):
    """Opens a page with figures drawn whose names contain `figures`; what went wrong is in `page.wrong`."""

    @contextmanager
    def opening(address, figures="", width=1400, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        page.wrong = []
        page.on(
            "console", lambda message: page.wrong.append(message.text) if message.type == "error" else None
        )
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on(
            "request",
            lambda asked: None if asked.url.startswith(("file:", "data:")) else page.wrong.append(asked.url),
        )
        page.goto(address)
        for figure in page.query_selector_all(f'figure[data-figure*="{figures}"]'):
            figure.scroll_into_view_if_needed()
            figure.wait_for_selector(".plot .main-svg", state="attached")
        yield page
        context.close()

    return opening


@pytest.fixture
def refused(capsys):
    """Runs a command that must end with status 2 and one line; returns the line."""

    def running(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in arguments])
        said = capsys.readouterr().err.strip()
        assert ended.value.code == 2
        assert "\n" not in said
        return said

    return running


@pytest.fixture(scope="session")
def tiny_runs(tmp_path_factory):
    """Two runs of Hopper that learned next to nothing, each with two rows of heatmaps."""
    folder = tmp_path_factory.mktemp("tiny")
    return [
        rapo.train(
            "hopper",
            "ppo",
            steps=4 * 32,
            seed=seed,
            out=folder / str(seed),
            quiet=True,
            heatmap_every=2,
            **TINY,
        )
        for seed in (0, 1)
    ]


@pytest.fixture
def run(tiny_runs, tmp_path):
    """A copy of the first of them, to be changed."""
    shutil.copytree(tiny_runs[0].folder, tmp_path / "run")
    return Run(tmp_path / "run")


def add_sweep(folder, level=100.0, fall=1.0, diverged=()):
    """Returns that fall with the distance from nominal; the last episode of `diverged` settings fails."""
    said = json.loads((folder / "config.json").read_text())
    rng = np.random.default_rng(said["seed"])
    noise = rng.normal(0, 0.02, EPISODES) + 0.02 * said["seed"]
    updates = len((folder / "metrics.jsonl").read_text().splitlines())
    rows = []
    for parameter in said["dynamics"]:
        for scale in SCALES:
            for episode in range(EPISODES):
                value = level * (1 - fall * abs(scale - 1)) * (1 + noise[episode])
                wrong = (parameter, scale) in diverged and episode == EPISODES - 1
                rows.append(
                    (parameter, scale, episode, 1e9 if wrong else value, 50, False, wrong, updates, 1000)
                )
    pl.DataFrame(rows, schema=SCHEMA, orient="row").write_csv(folder / "sweep.csv")


def add_search(folder, returned=12.0):
    names = json.loads((folder / "config.json").read_text())["dynamics"]
    axis = Axis("torque", 0.5, returned + 30, returned + 25, returned + 35, 44)
    point = dict.fromkeys(names, 0.625)
    effort, ends = SearchSettings(2, 4, 2, 100, 2000), (returned - 1, returned + 1)
    found = Found(8, effort, 320, 100, point, returned, *ends, axis, 30.0)
    (folder / "search.json").write_text(json.dumps(asdict(found)))


def add_heatmap(folder):
    names = json.loads((folder / "config.json").read_text())["dynamics"]
    scales = np.linspace(0.5, 1.5, 41)
    with (folder / "heatmap.jsonl").open("w") as file:
        for update in range(1, 9):
            values = (update - (scales - 0.6 - 0.1 * update) ** 2).tolist()
            record = {"update": update, "steps": 32 * update, "scales": dict.fromkeys(names, scales.tolist())}
            file.write(json.dumps(record | {"values": dict.fromkeys(names, values)}) + "\n")


def flights(errors, crashed=(), diverged=(), setting="ood"):
    """Rows of a run for episodes with these errors; those that are listed crashed or diverged."""
    count = len(errors)
    return pl.DataFrame(
        {
            "setting": [setting] * count,
            "episode": range(count),
            "rmse_cm": [float(error) for error in errors],
            "largest_cm": [2.0 * error for error in errors],
            "crashed": [i in crashed for i in range(count)],
            "diverged": [i in diverged for i in range(count)],
            "length": [900 if i in crashed else 1500 for i in range(count)],
            "payload": 0.5,
            "cable": 1.0,
            "updates": 8,
            "seed": 1000,
        },
        schema=tracking.SCHEMA,
    )


def add_flights(folder, error=8.0, crashed=()):
    """Twenty flights in each setting, OOD errors twice as large, and the path of the first OOD one."""
    inside, outside = (
        flights([x] * 20, c, setting=s) for s, x, c in (("id", error, ()), ("ood", 2 * error, crashed))
    )
    pl.concat((inside, outside)).write_csv(folder / tracking.FILE)
    steps = np.arange(0, outside["length"][0], 5)
    wanted = following.at(TEST, 0.01 * steps[None]).position[0].round(3)
    numbers = np.concatenate((wanted + error / 100, wanted), axis=1)
    rows = [("ood", 0, int(step), *row) for step, row in zip(steps, numbers.tolist(), strict=True)]
    pl.DataFrame(rows, schema=tracking.PATHS_SCHEMA, orient="row").write_csv(folder / tracking.PATHS)


@pytest.fixture(scope="session")
def bare(tmp_path_factory):
    """Runs as training leaves them: RAPO and two seeds of PPO on Hopper, PPO on Walker2d."""
    folder = tmp_path_factory.mktemp("bare")
    for name, task, algo, seed, options in (
        ("rapo-0", "hopper", "rapo", 0, dict(TINY, models=3)),
        ("ppo-0", "hopper", "ppo", 0, TINY),
        ("ppo-1", "hopper", "ppo", 1, TINY),
        ("walker", "walker2d", "ppo", 0, TINY),
    ):
        rapo.train(task, algo=algo, steps=256, seed=seed, out=folder / name, quiet=True, **options)
    return folder


@pytest.fixture
def runs(bare, tmp_path):
    """The Hopper runs with all evidence, RAPO the more robust, in a folder of their own.

    They have no checkpoints, which would tell that what a test writes into their files is made up.
    """
    folder = tmp_path / "runs"
    shutil.copytree(bare, folder, ignore=shutil.ignore_patterns("walker", "checkpoint.safetensors"))
    for run in folder.iterdir():
        better = run.name.startswith("rapo")
        add_sweep(run, level=100, fall=0.3 if better else 1.2)
        add_search(run, 60.0 if better else 5.0)
        add_heatmap(run)
    return folder


@pytest.fixture(scope="session")
def evidence():
    """What writes sweeps, searches, heatmaps and flights into run folders."""
    return {"sweep": add_sweep, "search": add_search, "heatmap": add_heatmap, "flights": add_flights}


@pytest.fixture(scope="session")
def episodes():
    """What makes rows of flights."""
    return flights


@pytest.fixture(scope="session")
def written(bare, evidence, tmp_path_factory):
    """A folder with `runs` of two tasks with all evidence, and the `report` of them."""
    folder = tmp_path_factory.mktemp("written")
    shutil.copytree(bare, folder / "runs")
    for run in (folder / "runs").iterdir():
        evidence["sweep"](
            run, level=3000 if run.name == "walker" else 100, fall=0.3 if run.name == "rapo-0" else 1.2
        )
        evidence["search"](run)
        evidence["heatmap"](run)
    report([folder / "runs"], folder / "report")
    return folder
