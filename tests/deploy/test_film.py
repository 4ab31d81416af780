"""Films and strips of policies under changed physics, drawn and encoded for real."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

import rapo
from rapo.cli import main
from rapo.deploy import film
from rapo.deploy.clips import clips
from rapo.deploy.renderer import Renderer, headless
from rapo.errors import InputError
from rapo.evaluation.search import read_search

pytestmark = pytest.mark.usefixtures("drawing")
SMALL = ("num_envs=4", "horizon=16", "minibatches=2", "epochs=1", "heatmap_every=0")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("film") / "run"
    main(["train", "hopper", "--algo", "ppo", "--steps", "256", "--out", str(folder), "--set", *SMALL])
    return rapo.Run(folder)


def pictures_of(path, width, height):
    """The pictures of a film, `[T, height, width, 3]`."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-i", path]
    done = subprocess.run(
        [*command, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], capture_output=True, check=True
    )
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, height, width, 3)


def test_a_clip_is_the_episode_that_is_evaluated(run):
    task = run.config().task
    ((light, heavy),) = [row[::2] for row in clips([run], sweep="mass")]
    rows = task.dynamics.sweep("mass", [0.5, 1.5])
    done = rapo.evaluate(task, run.policy(), rows, seed=1000)
    assert (light.returned, heavy.returned) == pytest.approx(done.returned[:, 0].tolist())
    assert [len(light.poses), len(heavy.poses)] == done.length[:, 0].tolist()
    assert np.array_equal(light.poses[0], heavy.poses[0])
    assert not np.allclose(light.poses[5], heavy.poses[5])
    assert (light.name, heavy.name) == ("run, mass 0.5", "run, mass 1.5")
    assert light.terminated


def test_a_film_shows_runs_below_each_other_and_scales_beside_each_other(run, tmp_path, capsys):
    path = tmp_path / "film.mp4"
    main(
        [
            "video",
            str(run.folder),
            str(run.folder),
            "--sweep",
            "torque",
            "--seconds",
            "0.2",
            "--out",
            str(path),
        ]
    )
    shown = pictures_of(path, 3 * film.WIDTH, 2 * film.HEIGHT)
    assert len(shown) == 0.2 * film.RATE
    assert np.abs(shown[0].astype(int) - shown[-1]).mean() > 0.1  # something moves
    said = capsys.readouterr().out
    for word in ("run, torque 0.5: return", "run, torque 1.5: return", f"Wrote {path}"):
        assert word in said
    assert [p.name for p in tmp_path.iterdir()] == ["film.mp4"]


def test_a_strip_shows_stills_from_left_to_right(run, tmp_path):
    path = tmp_path / "strip.png"
    main(["video", str(run.folder), "--dynamics", "mass=1.2,torque=0.8", "--out", str(path)])
    picture = np.asarray(Image.open(path))
    assert picture.shape == (film.HEIGHT, film.STILLS * film.WIDTH, 3)
    assert picture.std() > 10
    first, last = picture[60:, : film.WIDTH], picture[60:, -film.WIDTH :]
    assert np.abs(first.astype(int) - last).mean() > 0.5


def test_what_is_drawn_is_the_pose(run):
    task = run.config().task
    with headless(64, 48):
        draw = Renderer(task.model.__copy__(), 64, 48)
        up, down = task.initial_qpos.copy(), task.initial_qpos.copy()
        down[2] = 1.2
        assert np.array_equal(draw(up), draw(up))
        assert (draw(up) != draw(down)).any()
        draw.close()


def test_the_worst_that_was_found_is_shown(run, tmp_path):
    effort = ("--generations", "1", "--population", "4", "--episodes", "1", "--final-episodes", "2")
    with pytest.raises(
        InputError, match="was not searched since it last learned: find its worst with rapo search"
    ):
        clips([rapo.Run(run.folder)], worst=True)
    rapo.sweep(run, episodes=1)
    main(["search", str(run.folder), *effort])
    ((clip,),) = clips([run], worst=True)
    found = read_search(run.folder)
    assert found is not None
    assert clip.dynamics.tolist() == [found.point[name] for name in run.config().task.dynamics.names]
    assert clip.name.startswith("run, worst: ")
    said = json.loads((run.folder / "search.json").read_text())
    (run.folder / "search.json").write_text(json.dumps(said | {"updates": 1}))
    with pytest.raises(InputError, match="was not searched since it last learned"):
        clips([run], worst=True)


def test_every_picture_is_of_the_moment_it_is_for(run):
    ((clip,),) = clips([run])
    clip = replace(clip, poses=np.repeat(np.arange(100.0)[:, None], 6, axis=1))
    assert [clip.pose(i * clip.task.dt)[0] for i in range(100)] == list(range(100))
    assert clip.pose(1e9)[0] == 99


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--dynamics", "mass"), "dynamics 'mass' were given: allowed is NAME=VALUE, as in mass=1.5"),
        (("--dynamics", "mas=2"), "unknown parameter 'mas': did you mean 'mass'?"),
        (("--dynamics", "mass=-1"), "dynamics row 0 (mass -1"),
        (("--sweep", "mas"), "unknown parameter 'mas': did you mean 'mass'?"),
        (("--sweep", "mass", "--worst"), "allowed is one of --dynamics, --worst and --sweep"),
        (("--out", "film.gif"), "film 'film.gif' can't be written: names must end in .mp4 or .png"),
        (("--out", "missing/film.mp4"), "can't be written: give a file in a folder that exists"),
        (("--seconds", "0"), "a film of 0 seconds was asked for: allowed are finite numbers above 0"),
        (("--seconds", "nan"), "a film of nan seconds was asked for"),
    ],
)
def test_what_can_not_be_filmed_is_refused_in_a_sentence(run, tmp_path, monkeypatch, capsys, more, says):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["video", str(run.folder), *more])
    assert ended.value.code == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_film_that_the_disk_has_no_room_for_is_refused(run, tmp_path, monkeypatch):
    monkeypatch.setattr(film, "BYTES_PER_PIXEL", 1e12)
    with pytest.raises(InputError, match=r"film '.*' may take .* MB: the disk has room for .* MB"):
        film.write_film(clips([run]), tmp_path / "film.mp4", seconds=0.1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("hide", "says"),
    [
        (
            "sys.modules['imageio_ffmpeg'] = None",
            "is not installed: pip install 'rapo[video]'",
        ),
        ("sys.modules['mujoco.egl'] = sys.modules['mujoco.osmesa'] = None", "no pictures can be drawn here"),
    ],
)
def test_what_is_missing_is_named(run, tmp_path, hide, says):
    out = Path(tmp_path) / "film.mp4"
    code = (
        f"import sys, mujoco; {hide}\nfrom rapo.cli import main\n"
        f"main(['video', {str(run.folder)!r}, '--seconds', '0.1', '--out', {str(out)!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert says in done.stderr
    assert not list(tmp_path.iterdir())
