"""The report on tiny real runs: what it says, what it leaves out, and what it refuses."""

import json
import re
import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import rapo
from rapo.cli import main
from rapo.errors import InputError
from rapo.evaluation.random_actions import SCHEMA as RANDOM_SCHEMA
from rapo.reporting import charts, markup, tables
from rapo.reporting import print_figures as figures
from rapo.reporting.colours import looks
from rapo.reporting.comparison import compare_groups, compare_tasks
from rapo.reporting.groups import find_runs, load
from rapo.reporting.summary import summarise
from rapo.reporting.write_report import report


def read(folder, seed=0):
    return compare_tasks(load(find_runs([folder])), np.random.default_rng(seed))


def data_of(html):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert found
    return json.loads(found.group(1))


def files_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_report_has_a_page_figures_and_tables(written):
    out = written / "report"
    found = files_in(out)
    for name in ("robustness", "heatmap-rapo", "heatmap-ppo"):
        assert (out / f"figures/hopper-{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (out / f"figures/hopper-{name}.png").read_bytes().startswith(b"\x89PNG")
    wanted = "scores curves kept cost matched worst-cases uncertainty runs"
    for name in wanted.split():
        assert f"tables/hopper-{name}.csv" in found
    assert "tables/hopper-improvement.csv" not in found  # two seeds beside one make no probability
    figures = data_of((out / "index.html").read_text())["figures"]
    names = {name.removeprefix("task-hopper-") for name in figures if name.startswith("task-hopper-")}
    assert names == {"robustness", "heatmaps", "mixture", "temperature", "uncertainty", "training"}


def test_the_table_of_scores_adds_up(written):
    rows = {
        row["algorithm"]: row
        for row in pl.read_csv(written / "report/tables/hopper-scores.csv").rows(named=True)
    }
    assert list(rows) == ["rapo models=3", "ppo"]
    for label, fall in (("rapo models=3", 0.3), ("ppo", 1.2)):
        row = rows[label]
        inside, outside = (
            (1 + 8 * (1 - 0.2 * fall)) / 9,
            1 - 0.5 * fall,
        )  # nominal once, then 0.8 and 1.2 four times
        assert row["ID"] / row["nominal"] == pytest.approx(inside)
        assert row["OOD"] / row["nominal"] == pytest.approx(outside)
        assert row["worst setting"] / row["nominal"] == pytest.approx(outside)
        assert row["episodes"] == (1 + 4 * 4) * 3 * row["seeds"]
        assert row["diverged"] == 0
    assert rows["rapo models=3"]["OOD_low"] is None
    assert rows["ppo"]["OOD_low"] < rows["ppo"]["OOD"] < rows["ppo"]["OOD_high"]


def test_the_summary_says_which_policy_how_far_and_how_sure(runs):
    (one,) = read(runs)
    summary = summarise(one)
    assert summary.headline == "rapo models=3 is ahead of ppo, but the seeds are too few to call it better."
    facts = dict(summary.facts)
    assert "beats" not in facts["Outside the training range"]
    assert "mass from 0.5 to 1.5 (all that was swept)" in facts["How far"]
    assert "0.625" not in facts["How far"]
    assert "mass 0.625, inertia 0.625, friction 0.625 and torque 0.625" in facts["Worst case"]
    assert summary.caution is not None
    assert "trained once only" in summary.caution


def test_five_seeds_whose_intervals_are_apart_are_trusted_and_others_not(runs, evidence):
    for name, algo in (("rapo-0", "rapo"), ("ppo-0", "ppo")):
        for seed in range(2, 7):
            copy = runs / f"{algo}-{seed}"
            shutil.copytree(runs / name, copy)
            said = json.loads((copy / "config.json").read_text()) | {"seed": seed}
            (copy / "config.json").write_text(json.dumps(said))
            evidence["sweep"](copy, fall=0.3 if algo == "rapo" else 1.2)
    (one,) = read(runs)
    assert summarise(one).headline.startswith("Trust rapo models=3: it is clearly the best")
    said = dict(summarise(one).facts)["Outside the training range"]
    assert "Every run of the first beats every run of the second" in said
    shown = tables.improvements(one)
    assert shown is not None
    assert shown.frame["probability of a better OOD return"].to_list() == [1]
    assert summarise(one).caution is None
    for run in runs.iterdir():
        evidence["sweep"](run)
    (one,) = read(runs)
    assert "but not clearly: its interval overlaps" in summarise(one).headline


def test_one_run_makes_a_report_that_owns_up_to_being_one(runs, tmp_path):
    text = report([runs / "ppo-0"], tmp_path / "report").read_text()
    assert "ppo is the only policy that was tested" in text
    assert "This is one run." in text
    assert (
        "How likely is it better?</b>: it takes sweeps of at least 3 runs of each of two algorithms" in text
    )


def test_runs_without_evidence_make_a_report_that_says_how_to_get_it(bare, tmp_path):
    text = report([bare / "ppo-0", bare / "rapo-0"], tmp_path / "report").read_text()
    assert "No policy can be trusted yet" in text
    folders = f"{bare / 'rapo-0'} {bare / 'ppo-0'}"
    for command in (
        f"rapo sweep {folders}",
        f"rapo search {folders}",
        "rapo train hopper --algo rapo-no-advnet",
    ):
        assert f"<code>{command}</code>" in text
    assert not re.search(r"<code>[^<]*\b(RUN|TASK|FILE)\b", text)
    assert "Not in this report" in text
    assert {"task-hopper-mixture", "task-hopper-temperature"} <= set(data_of(text)["figures"])


def test_any_piece_may_be_missing_from_any_run(runs, tmp_path):
    for name, gone in (
        ("rapo-0", ("sweep.csv", "heatmap.jsonl")),
        ("ppo-0", ("search.json", "metrics.jsonl")),
    ):
        for piece in gone:
            (runs / name / piece).unlink()
    text = report([runs], tmp_path / "report").read_text()
    shown = data_of(text)["figures"]
    assert shown["task-hopper-robustness"]["legend"] == ["ppo"]
    assert list(shown["task-hopper-heatmaps"]["choices"]) == ["ppo, seed 0"]
    assert list(shown["task-hopper-mixture"]["choices"]) == ["rapo models=3, seed 0"]
    assert shown["task-hopper-training"]["legend"] == ["rapo models=3", "ppo"]
    assert pl.read_csv(tmp_path / "report/tables/hopper-worst-cases.csv")["seed"].to_list() == [0, 1]


def test_a_sweep_within_the_training_range_ranks_nothing_and_is_shown(runs):
    for run in runs.iterdir():
        table = pl.read_csv(run / "sweep.csv").filter(pl.col("scale").is_between(0.75, 1.25))
        table.write_csv(run / "sweep.csv")
    (one,) = read(runs)
    assert summarise(one).headline.startswith("No policy can be trusted yet")
    shown = tables.scores(one)
    assert shown is not None
    assert shown.frame["OOD"].to_list() == [None, None]
    assert shown.frame["ID"].null_count() == 0


@pytest.mark.parametrize(
    "damage",
    [
        '{"steps": 1}',
        '{"update": 1, "steps": 1, "scales": {"mass": [1, 2]}, "values": {"mass": [1, "x"]}}',
        '{"update": 1, "steps": 1, "scales": {"mass": [1, "x"]}, "values": {"mass": [1, 2]}}',
        '{"update": 1, "steps": 1, "scales": {"mass": [1, null]}, "values": {"mass": [1, 2]}}',
        '{"update": 1, "steps": 1, "scales": {}, "values": {"mass": [1, 2]}}',
    ],
)
def test_a_damaged_heatmap_is_noted_and_left_out(runs, tmp_path, damage):
    (runs / "rapo-0" / "heatmap.jsonl").write_text(f"{damage}\n")
    text = report([runs], tmp_path / "report").read_text()
    assert "heatmap.jsonl&#x27; is damaged" in text
    assert not (tmp_path / "report/figures/hopper-heatmap-rapo.pdf").exists()


def test_mixtures_of_other_sizes_are_left_out(runs, tmp_path):
    path = runs / "rapo-0" / "metrics.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["mixture"] = [0.5, 0.5]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    shown = data_of(report([runs], tmp_path / "report").read_text())["figures"]
    (panels,) = shown["task-hopper-mixture"]["choices"].values()
    assert len(panels[0]["columns"]) == len(rows) - 1


def test_a_sweep_whose_physics_failed_throughout_is_told_from_none(runs):
    for run in runs.iterdir():
        table = pl.read_csv(run / "sweep.csv").with_columns(diverged=pl.lit(True))
        table.write_csv(run / "sweep.csv")
    said = summarise(read(runs)[0])
    assert said.headline == "No policy can be trusted: the physics failed in every episode of the sweeps."
    assert "ended in failed physics" in dict(said.facts)["Diverged"]
    assert "What is missing" not in dict(said.facts)


def test_trust_takes_intervals_of_five_seeds_apart_from_all_others(runs, evidence):
    for seed in range(2, 5):
        shutil.copytree(runs / "ppo-1", runs / f"ppo-{seed}")
    for seed in range(1, 5):
        shutil.copytree(runs / "rapo-0", runs / f"rapo-{seed}")
    for algo, fall in (("rapo", 0.3), ("ppo", 1.2)):
        for seed in range(5):
            folder = runs / f"{algo}-{seed}"
            said = json.loads((folder / "config.json").read_text()) | {"seed": seed}
            (folder / "config.json").write_text(json.dumps(said))
            evidence["sweep"](folder, fall=fall)
    assert summarise(read(runs)[0]).headline.startswith("Trust rapo models=3")
    for seed in range(5):  # a third algorithm that is anything from the best to the worst
        shutil.copytree(runs / f"ppo-{seed}", runs / f"dr-{seed}")
        said = json.loads((runs / f"dr-{seed}" / "config.json").read_text()) | {"algo": "ppo-dr"}
        (runs / f"dr-{seed}" / "config.json").write_text(json.dumps(said))
        evidence["sweep"](runs / f"dr-{seed}", fall=(0.1, 0.2, 1.9, 1.9, 1.9)[seed])
    assert "its interval overlaps with that of ppo-dr" in summarise(read(runs)[0]).headline
    for seed in range(4):
        (runs / f"rapo-{seed}" / "sweep.csv").unlink()
    assert "the seeds are too few" in summarise(read(runs)[0]).headline


def test_what_sweep_search_and_training_write_makes_a_whole_report(tmp_path):
    tiny: dict[str, Any] = {
        "num_envs": 4,
        "horizon": 8,
        "epochs": 1,
        "minibatches": 2,
        "heatmap_every": 1,
        "models": 2,
    }
    run = rapo.train("hopper", "rapo", steps=64, out=tmp_path / "run", quiet=True, **tiny)
    rapo.sweep(run, scales=[0.5, 1.0, 1.5], episodes=2)
    found = rapo.search(run, generations=1, population=4, episodes=1, final_episodes=2)
    page = rapo.report([run.folder], tmp_path / "report")
    shown = data_of(page.read_text())["figures"]
    for name in ("robustness", "mixture", "temperature"):
        assert f"task-hopper-{name}" in shown
    table = pl.read_csv(tmp_path / "report/tables/hopper-worst-cases.csv")
    assert table["return"][0] == pytest.approx(found.returned)
    assert "left out" not in page.read_text()
    assert "What the critic expects at each scale" in page.read_text()


def test_a_heatmap_of_one_record_is_drawn(runs, tmp_path):
    path = runs / "ppo-0" / "heatmap.jsonl"
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    out = report([runs / "ppo-0"], tmp_path / "report").parent
    assert (out / "figures/hopper-heatmap-ppo.png").exists()


def test_unfinished_runs_and_unequal_budgets_are_owned_up_to(runs):
    said = json.loads((runs / "rapo-0" / "config.json").read_text()) | {"steps": 512}
    (runs / "rapo-0" / "config.json").write_text(json.dumps(said))
    facts = dict(summarise(read(runs)[0]).facts)
    assert facts["Not finished"].endswith("1 of rapo models=3.")
    assert "rapo models=3 from 512 and ppo from 256" in facts["Not the same budget"]


def test_diverged_episodes_are_counted_and_never_averaged_in(runs, evidence, tmp_path):
    before = {m.label: m.outside.value for m in read(runs)[0].groups}
    evidence["sweep"](runs / "rapo-0", fall=0.3, diverged={("mass", 0.5), ("torque", 1.5)})
    (one,) = read(runs)
    after = {m.label: m.outside.value for m in one.groups}
    assert after["ppo"] == before["ppo"]
    assert after["rapo models=3"] == pytest.approx(before["rapo models=3"], rel=0.05)
    assert (
        "2 episodes of the sweeps ended in failed physics (2 of rapo models=3)"
        in dict(summarise(one).facts)["Diverged"]
    )
    report([runs / "rapo-0"], tmp_path / "report")
    assert pl.read_csv(tmp_path / "report/tables/hopper-scores.csv")["diverged"].to_list() == [2]


def test_tasks_have_sections_of_their_own_and_are_compared_in_normalised_returns(written):
    text = (written / "report" / "index.html").read_text()
    assert '<section id="task-hopper">' in text
    assert '<section id="task-walker2d">' in text
    shown = data_of(text)["figures"]
    assert shown["task-hopper-robustness"]["legend"] == ["rapo models=3", "ppo"]
    assert shown["task-walker2d-robustness"]["legend"] == ["ppo"]
    across = pl.read_csv(written / "report/tables/across-tasks.csv")
    assert across["algorithm"].to_list() == ["ppo"]
    assert across["normalised OOD IQM"][0] == pytest.approx(0.4, rel=0.1)  # 1 - 1.2 / 2 of the nominal return


def test_a_figure_of_several_tasks_is_refused(runs, bare, evidence):
    shutil.copytree(bare / "walker", runs / "walker")
    evidence["sweep"](runs / "walker")
    hopper, walker = read(runs)
    both = [*hopper.groups, *walker.groups]
    look = looks(m.group for m in both)
    with pytest.raises(InputError, match="runs of walker2d were given for a figure of hopper"):
        charts.robustness(hopper, both, "robustness", "")
    with pytest.raises(InputError, match="runs of hopper, walker2d were given for a figure of hopper"):
        figures.robustness(hopper, both, look, (0, 1))
    with pytest.raises(InputError, match="a comparison of hopper"):
        compare_groups("hopper", tuple(m.group for m in both), np.random.default_rng(0))


def test_ablations_and_sizes_of_the_ensemble_have_parts_of_their_own(runs, tmp_path):
    for name, changes in (("mean", {"algo": "rapo-mean"}), ("more", {"models": 6})):
        shutil.copytree(runs / "rapo-0", runs / name)
        said = json.loads((runs / name / "config.json").read_text())
        said["algo"] = changes.get("algo", "rapo")
        said["options"]["models"] = changes.get("models", 3)
        (runs / name / "config.json").write_text(json.dumps(said))
    out = report([runs], tmp_path / "report").parent
    shown = data_of((out / "index.html").read_text())["figures"]
    assert len(shown["task-hopper-ablations"]["legend"]) == 2
    assert (out / "figures/hopper-ablations.pdf").exists()
    sizes = pl.read_csv(out / "tables/hopper-sensitivity.csv")
    assert sizes["K (models)"].to_list() == [3, 6]
    assert sizes["m (samples)"].to_list() == ["", ""]  # RAPO draws none for its targets


def test_what_matters_is_said_in_numbers_and_in_words(runs, tmp_path):
    path = runs / "rapo-0" / "metrics.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        row["sensitivity"] = [1.0, 0.5, 6.0, 2.5]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = report([runs / "rapo-0"], tmp_path / "report").parent
    (row,) = pl.read_csv(out / "tables/hopper-uncertainty.csv").rows(named=True)
    assert [row[name] for name in ("mass", "inertia", "friction", "torque")] == [0.1, 0.05, 0.6, 0.25]
    assert row["in words"] == "friction moves the value most (60%), inertia hardly: measure friction first."
    assert "measure friction first" in (out / "index.html").read_text()


def test_the_trace_of_a_heatmap_follows_the_highest_value(written):
    text = (written / "report" / "index.html").read_text()
    shown = data_of(text)["figures"]["task-hopper-heatmaps"]
    panel = shown["choices"]["ppo, seed 0"][0]
    assert panel["trace"] == pytest.approx([0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4])
    assert len(panel["rows"]) == 41


def test_the_same_runs_make_the_same_report(written, tmp_path):
    out = report([written / "runs"], tmp_path / "again").parent
    assert files_in(out) == files_in(written / "report")
    for name in files_in(out):
        assert (out / name).read_bytes() == (written / "report" / name).read_bytes()


def test_flights_have_a_part_of_their_own(runs, evidence, tmp_path):
    plain = report([runs], tmp_path / "plain")
    evidence["flights"](runs / "rapo-0", error=5)
    evidence["flights"](runs / "ppo-0", error=8, crashed=range(12))
    page = report([runs], tmp_path / "report")
    text, found = page.read_text(), files_in(page.parent)
    assert found - files_in(plain.parent) == {
        *(f"figures/hopper-{name}.{kind}" for name in ("paths", "over-time") for kind in ("pdf", "png")),
        *(f"tables/hopper-{name}.csv" for name in ("tracking", "flights")),
    }
    for name in found - {"index.html"}:
        assert f'href="{name}"' in text
    assert "Flights along the test curve" in text
    assert "Flights along the test curve" not in plain.read_text()
    rows = pl.read_csv(page.parent / "tables/hopper-tracking.csv").rows(named=True)
    assert [
        (row["algorithm"], row["runs"], row["RMSE ID (cm)"], row["RMSE OOD (cm)"], row["crashes OOD (%)"])
        for row in rows
    ] == [("rapo models=3", 1, 5.0, 10.0, 0.0), ("ppo", 1, 8.0, None, 60.0)]
    shown = data_of(text)["figures"]["task-hopper-flights"]
    assert (shown["legend"], shown["hidden"]) == (["reference", "rapo models=3", "ppo"], [])
    space, *over_time = shown["choices"][""]
    assert [line["crashed"] for line in space["lines"]] == [False, False, True]
    assert [panel["title"] for panel in over_time] == ["x over time", "y over time", "z over time"]
    assert over_time[0]["lines"][2]["x"][-1] == pytest.approx(8.95)


def test_damaged_paths_are_noted_and_the_table_stays(runs, evidence, tmp_path):
    evidence["flights"](runs / "rapo-0")
    (runs / "rapo-0" / "paths.csv").write_text("nonsense")
    page = report([runs], tmp_path / "report")
    assert "paths.csv&#x27; is damaged: fly the run again" in page.read_text()
    assert "tables/hopper-tracking.csv" in files_in(page.parent)
    assert "figures/hopper-paths.pdf" not in files_in(page.parent)


def test_no_name_breaks_out_of_the_page(runs, tmp_path):
    evil = "</script><script>alert(1)</script> $x^$ _"
    for run in runs.iterdir():
        said = json.loads((run / "config.json").read_text())
        said["algo"] = said["task"] = evil
        (run / "config.json").write_text(json.dumps(said))
    text = report([runs], tmp_path / "report").read_text()
    assert evil not in text
    assert "<script>alert" not in text
    assert evil in data_of(text)["looks"]


def test_names_in_inlined_data_survive():
    said = {"a<b>&\u2028": [1.5, None, "</script>"]}
    text = markup.inlined(said)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == said


def test_a_folder_that_cant_be_written_is_refused_before_any_work(runs, tmp_path):
    (tmp_path / "taken").write_text("mine")
    read_so_far = []
    for out in (tmp_path / "taken", tmp_path / "taken" / "report"):
        with pytest.raises(InputError, match=r"report folder '.*' can't be written"):
            report([runs], out, advance=lambda: read_so_far.append(1))
    assert not read_so_far
    assert (tmp_path / "taken").read_text() == "mine"


def test_returns_below_zero_are_shares_of_the_lead_over_random_actions(runs, evidence, tmp_path):
    for run in runs.iterdir():
        evidence["sweep"](run, level=-5.0, fall=-2.0)
    said = dict(summarise(read(runs)[0]).facts)["How far"]
    assert f"`rapo eval random {runs / 'rapo-0'}`" in said
    out = report([runs], tmp_path / "report").parent
    assert pl.read_csv(out / "tables/hopper-scores.csv")["OOD normalised"].to_list() == [None, None]
    for level, says in (
        (-25.0, "80% of its lead over random actions, from their return of -25.0 to -5"),
        (-4.0, "is not above the -4.00 of random actions: there is nothing to keep"),
    ):
        for run in runs.iterdir():
            rows = [(episode, level, 9, False, 1000) for episode in range(3)]
            pl.DataFrame(rows, schema=RANDOM_SCHEMA, orient="row").write_csv(run / "random.csv")
        assert says in dict(summarise(read(runs)[0]).facts)["How far"]
        report([runs], out)
        shares = pl.read_csv(out / "tables/hopper-scores.csv")["OOD normalised"].to_list()
        if level == -25.0:  # -5 at the nominal scale, -7 at the ends of the training range and -10 outside
            assert shares == pytest.approx([0.75, 0.75], abs=0.02)
            kept = pl.read_csv(out / "tables/hopper-kept.csv")
            assert kept["mass"].to_list() == ["0.8 to 1.2"] * 2


def test_a_search_is_compared_with_the_axes_on_the_same_initial_states(runs):
    best = read(runs)[0].ranking[0]
    said = dict(summarise(read(runs)[0]).facts)["Worst case"]
    assert best.worst.value == pytest.approx(85, abs=1)  # of the sweep, from other states
    assert "where seed 0 returns 60.0 (95% interval 59.0 to 61.0) from 100 initial states of its own" in said
    assert "there torque at 0.5, the worst of its sweep, returns 90.0" in said
    path = runs / "rapo-0" / "search.json"
    found = json.loads(path.read_text())
    path.write_text(json.dumps(found | {"axis": found["axis"] | {"returned": 59.0}, "below": -1.0}))
    said = dict(summarise(read(runs)[0]).facts)["Worst case"]
    assert "found nothing worse for seed 0: from 100 initial states of its own it returns 60.0" in said
    assert "the worst of its sweep, returns 59.0" in said
    table = tables.found(read(runs)[0])
    assert table is not None
    assert table.frame.filter(algorithm="rapo models=3")["worst on an axis"].to_list() == [59.0]


def test_charts_that_show_nothing_are_a_line_of_text(runs, tmp_path):
    for path in runs.glob("*/heatmap.jsonl"):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        for record in records:  # nothing but training time, but for torque in one run
            for name, scales in record["scales"].items():
                falls = name == "torque" and path.parent.name == "ppo-0"
                record["values"][name] = [record["update"] - falls * scale for scale in scales]
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    path = runs / "rapo-0" / "metrics.jsonl"
    lines = [json.loads(line) | {"mixture": [1 / 3] * 3} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = report([runs], tmp_path / "report").read_text()
    shown = data_of(text)["figures"]
    assert "task-hopper-mixture" not in shown
    assert "Weights that never moved are not drawn: rapo models=3, seed 0." in text
    (drawn,) = shown["task-hopper-heatmaps"]["choices"].values()
    assert [panel["title"] for panel in drawn] == ["torque"]
    assert "not drawn: rapo models=3, seed 0 (all); ppo, seed 0 (mass, inertia, friction)." in text


def test_an_algorithm_has_one_colour_whatever_its_options(runs):
    (group,) = (m.group for m in read(runs)[0].groups if m.group.algo == "rapo")
    found = looks([group, replace(group, label="rapo models=6")])
    one, other = found.values()
    assert (one.light, one.dark, one.marker) == (other.light, other.dark, other.marker)
    assert one.dash != other.dash


def test_the_command_line_says_where_the_page_is_and_what_it_found(runs, tmp_path, capsys):
    main(["report", str(runs), "--out", str(tmp_path / "report")])
    printed = capsys.readouterr().out
    for word in ("Returns on hopper", "rapo models=3", "OOD IQM", "reading", "index.html"):
        assert word in printed
    assert (tmp_path / "report" / "index.html").exists()


def test_the_command_line_refuses_in_one_sentence(tmp_path, capsys):
    for arguments, words in (
        ([], "no runs were given"),
        ([str(tmp_path / "nowhere")], "is not a folder"),
        ([str(tmp_path)], "holds no run"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(["report", *arguments, "--out", str(tmp_path / "report")])
        assert stopped.value.code == 2
        error = capsys.readouterr().err
        assert words in error
        assert len(error.splitlines()) == 1
    assert not (tmp_path / "report").exists()
