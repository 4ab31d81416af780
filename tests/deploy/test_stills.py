"""Stills and films in run folders, drawn for real, and what a report makes of them."""

import json

import pytest
from PIL import Image

import rapo
from rapo.cli import main
from rapo.deploy.film import HEIGHT, WIDTH
from rapo.errors import InputError
from rapo.evaluation.stills import FILM, STILLS, read_stills

pytestmark = pytest.mark.usefixtures("drawing")


@pytest.fixture
def drawn(run, evidence):
    """A run that was searched, with stills of its first moments."""
    evidence["search"](run.folder)
    path = run.folder / "search.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"updates": 4}))
    main(["eval", "stills", str(run.folder), "--seconds", "0.2"])
    return run


def test_stills_show_the_nominal_and_the_worst_dynamics_and_say_of_which_policy(drawn):
    found = read_stills(drawn.folder)
    assert found is not None
    assert (found.updates, found.seconds, found.seed) == (4, 0.2, 1000)
    assert [line.split(":")[0] for line in found.lines] == ["nominal", "worst"]
    task = drawn.config().task
    nominal = rapo.evaluate(task, drawn.policy(), task.dynamics.nominal(), seed=1000).returned[0, 0]
    assert found.lines[0] == f"nominal: return {nominal:,.0f}"
    assert "mass 0.625, inertia 0.625" in found.lines[1]
    with Image.open(drawn.folder / "stills.png") as picture:
        assert picture.size == (6 * WIDTH, 2 * HEIGHT)
    assert STILLS.is_done(drawn.folder, STILLS.choose({"seconds": 0.2}), task, 4)
    assert not STILLS.is_done(drawn.folder, STILLS.choose({"seconds": 0.2}), task, 5)
    before = (drawn.folder / "stills.png").read_bytes()
    main(["eval", "stills", str(drawn.folder), "--seconds", "0.2"])
    assert (drawn.folder / "stills.png").read_bytes() == before


@pytest.mark.parametrize("damage", ["cut", "text", "another picture"])
def test_damaged_stills_are_named_and_left_out_of_a_report(run, tmp_path, damage):
    path = run.folder / "stills.png"
    Image.new("RGB", (8, 8)).save(path)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:30])
    elif damage == "text":
        path.write_text("no picture")
    with pytest.raises(InputError, match=f"draw them again with rapo eval stills {run.folder}"):
        read_stills(run.folder)
    assert "rapo eval stills" in rapo.report([run.folder], tmp_path / "report").read_text()


def test_a_report_shows_stills_and_plays_the_film(drawn, opened, tmp_path):
    main(["video", str(drawn.folder), "--seconds", "0.2"])
    assert (drawn.folder / FILM).is_file()
    page = rapo.report([drawn.folder], tmp_path / "report")
    with opened(page.as_uri(), "no such figure") as seen:
        loaded = "() => [...document.querySelectorAll('.shown img')].map(i => i.complete && i.naturalWidth)"
        assert seen.evaluate(loaded) == [6 * WIDTH]
        seen.wait_for_function("() => document.querySelector('.shown video').readyState > 0")
        assert seen.evaluate("document.querySelector('.shown video').duration") == pytest.approx(0.2, abs=0.1)
        assert "worst: mass 0.625" in seen.text_content(".shown figcaption")
        assert seen.wrong == []
    link = page.parent / "figures" / "hopper-ppo-0.mp4"
    assert link.read_bytes() == (drawn.folder / FILM).read_bytes()


def test_stills_of_an_earlier_policy_are_left_out_and_noted(drawn, tmp_path):
    checkpoint = drawn.folder / "checkpoint.safetensors"
    checkpoint.unlink()
    lines = (drawn.folder / "metrics.jsonl").read_text().splitlines()
    more = [json.dumps(json.loads(lines[-1]) | {"update": update}) for update in range(5, 10)]
    (drawn.folder / "metrics.jsonl").write_text("\n".join([*lines, *more]) + "\n")
    text = rapo.report([drawn.folder], tmp_path / "report").read_text()
    assert "was drawn after 4 updates and has learned from 9" in text
    assert 'class="shown"' not in text
