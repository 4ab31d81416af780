"""README and docs say what the code and the committed results say."""

import json
from csv import DictReader
from pathlib import Path

import polars as pl

from rapo import demo
from rapo.algorithms import ALGORITHMS
from rapo.reporting.statistics import mean
from rapo.tasks.quadrotor.flight_scores import read_flights, summaries, words
from rapo.tasks.quadrotor.flights import SETTINGS
from rapo.theory.statement import Verdict

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def table(*header):
    """The rows of the table with this header, in README or docs; where several pages have it, they agree."""
    wanted = f"| {' | '.join(header)} |"
    found = [
        rows_below(wanted, page.read_text().splitlines()) for page in PAGES if wanted in page.read_text()
    ]
    assert found, f"no page has a table {wanted}"
    assert all(rows == found[0] for rows in found)
    return found[0]


def rows_below(header, lines):
    """The rows of a table, cell by cell."""
    rows = []
    for line in lines[lines.index(header) + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def test_every_figure_of_the_worlds_speed_is_in_the_results_file():
    printed = table("task", "what", "simulations", "rapo", "raw mjbatch", "ratio", "Gymnasium", "EnvPool")
    assert printed == [
        [
            row["task"],
            row["what"],
            f"{row['simulations']:,}",
            f"{row['rate']:,.0f}",
            f"{row['raw_rate']:,.0f}",
            f"{row['ratio']:.2f}",
            *("" if row[k] is None else f"{row[k]:,.0f}" for k in ("gymnasium_rate", "envpool_rate")),
        ]
        for row in json.loads((ROOT / "results" / "bench-world.json").read_text())
    ]


def test_every_figure_of_wrapped_environments_is_in_the_results_file():
    printed = table("environment", "observed and scored", "rapo", "raw mjbatch", "ratio", "Gymnasium")
    assert printed == [
        [
            row["task"],
            {"batched": "in batches", "own functions": "by its own functions"}[row["what"]],
            *(f"{row[k]:,.0f}" for k in ("rate", "raw_rate")),
            f"{row['ratio']:.2f}",
            f"{row['gymnasium_rate']:,.0f}",
        ]
        for row in json.loads((ROOT / "results" / "bench-wrapped.json").read_text())
    ]


def test_the_flights_of_the_quadrotor_are_in_the_results_file():
    printed = table("algorithm", "runs", "RMSE ID", "RMSE OOD", "crashes ID", "crashes OOD")
    found = summaries(read_flights(ROOT / "results" / "quadrotor-payload.csv"))
    assert [row[0] for row in printed] == [f"`{t.label}`" for t in found]
    for row, t in zip(printed, found, strict=True):
        cells = [(*words(t.rmse[s], 1), str(t.rmse[s].runs)) for s in SETTINGS]
        cells += [words(t.crashes[s], 0, "%") for s in SETTINGS]
        assert row[1:] == [
            str(t.runs),
            *(f"{value} ({'; '.join(x for x in more if x)})" for value, *more in cells),
        ]


def test_the_verdicts_on_the_theory_are_in_the_results_file():
    with (ROOT / "results" / "theory.csv").open(newline="") as file:
        verdicts = [row["verdict"] for row in DictReader(file)]
    assert table("verdict", "statements") == [[str(v), str(verdicts.count(v))] for v in Verdict]


def test_every_figure_of_a_sweeps_speed_is_in_the_results_file():
    assert table("ball", "robust ms", "ordinary ms", "ratio", "rows/s") == [
        [
            row["ball"],
            *(f"{1e3 * row[k]:.2f}" for k in ("seconds", "plain_seconds")),
            f"{row['ratio']:.1f}",
            f"{row['rows_per_second']:,.0f}",
        ]
        for row in json.loads((ROOT / "results" / "bench-tabular.json").read_text())
    ]


def test_every_figure_of_an_updates_speed_is_in_the_results_file():
    printed = table("task", "algorithm", "update", "beside PPO", "beside raw physics", "dual solve", "AdvNet")
    assert printed == [
        [
            row["task"],
            f"`{row['algo']}`",
            f"{row['seconds']:.3f}",
            f"{row['beside_ppo']:.2f}",
            f"{row['ratio']:.2f}",
            *(f"{row[k]:.1%}" if row[k] else "" for k in ("share_dual", "share_advnet")),
        ]
        for row in json.loads((ROOT / "results" / "bench-train.json").read_text())
    ]


def test_every_figure_of_the_cost_of_evidence_is_in_the_results_file():
    printed = table("task", "what", "seconds", "beside", "ratio", "steps")
    assert printed == [
        [
            row["task"],
            row["what"],
            f"{row['seconds']:.3f}",
            f"{row['beside_seconds']:.3f}",
            f"{row['ratio']:.3f}",
            f"{row['steps']:,}",
        ]
        for row in json.loads((ROOT / "results" / "bench-evidence.json").read_text())
    ]


def test_every_figure_of_answering_is_in_the_results_file():
    assert table("command", "seconds", "python -c pass", "ratio") == [
        [
            f"`{row['command']}`",
            *(f"{row[k]:.3f}" for k in ("seconds", "pass_seconds")),
            f"{row['ratio']:.1f}",
        ]
        for row in json.loads((ROOT / "results" / "bench-start.json").read_text())
    ]


def test_every_figure_of_a_hard_day_is_in_the_results_file():
    said = json.loads((ROOT / "results" / "torture.json").read_text())
    training = said.pop("training")
    assert table("what was done", "times", "the same results", "one sentence", "anything else") == [
        [row["what"], *(f"{row[k]:,}" for k in ("tries", "sound", "refused", "wrong"))]
        for part in ("kills", "damages", "tables", "options", "disks")
        for row in said[part]
    ]
    sentence = (
        f"In {training['minutes']:g} minutes of training, {training['updates']:,} updates, the memory of the "
        f"process went from {training['first_mib']:,.0f} to {training['last_mib']:,.0f} MiB"
    )
    assert any(sentence in " ".join(page.read_text().split()) for page in PAGES)


def test_the_cost_of_a_report_is_in_the_results_file():
    (row,) = json.loads((ROOT / "results" / "bench-report.json").read_text())
    said = (
        f"A report over {row['runs']} runs takes {row['seconds']:.1f} seconds and {row['peak_gib']:.2f} GiB"
    )
    assert any(said in page.read_text() for page in PAGES)


def test_every_figure_of_the_demo_is_in_the_results_file():
    curves = [demo.ScaleCurve(**curve) for curve in json.loads((ROOT / "results" / "demo.json").read_text())]
    assert table("", *demo.MeanReturns._fields) == [
        [f"`{algo}`", *(f"{x:,.0f}" for x in demo.summary(curves, algo))] for algo in demo.ALGORITHMS
    ]


def test_every_figure_of_the_base_learner_is_in_the_results_file():
    with (ROOT / "results" / "base-learner.csv").open() as file:
        rows = list(DictReader(file))
    groups: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        groups.setdefault((row["task"], row["options"]), []).append(float(row["return_mean"]))
    expected = [
        [task, options or "the defaults", *(f"{x:,.0f}" for x in returns), f"{sum(returns) / 5:,.0f}"]
        for (task, options), returns in groups.items()
    ]
    printed = table("task", "settings", "seed 0", "1", "2", "3", "4", "mean")
    assert [[task, options.strip("`"), *rest] for task, options, *rest in printed] == expected


def test_every_figure_of_the_settings_of_tasks_is_in_the_results_file():
    found = pl.read_csv(ROOT / "results" / "base-tuning.csv").with_columns(pl.col("options").fill_null(""))
    expected = []
    for (task, options), rows in found.group_by(["task", "options"], maintain_order=True):
        assert rows["seed"].to_list() == [10, 11, 12]
        returns = rows["return_mean"].to_list()
        cells = [*(f"{x:,.0f}" for x in returns), f"{sum(returns) / 3:,.0f}"]
        expected.append([task, f"`{options}`" if options else "the defaults of the task", *cells])
    assert table("task", "settings", "seed 10", "11", "12", "mean") == expected


def study_rows():
    """Of every group of runs in the study: seeds, and mean ID and OOD returns with 95% intervals over
    seeds."""
    frame = pl.read_csv(ROOT / "results" / "worst-case-rollouts.csv").with_columns(
        pl.col("options").fill_null(""), inside=pl.col("scale").is_between(0.8 - 1e-9, 1.2 + 1e-9)
    )
    nominal = (pl.col("scale") - 1).abs() < 1e-9  # counts once, and not once for each parameter
    frame = frame.filter(~nominal | (pl.col("parameter") == "mass"))
    keys = ["task", "steps", "algorithm", "options"]
    for (task, steps, algorithm, options), rows in frame.group_by(keys, maintain_order=True):
        cells = []
        for inside in (True, False):
            means = rows.filter(pl.col("inside") == inside).group_by("seed").agg(pl.col("return").mean())
            found = mean(means["return"].to_numpy())
            cells.append(f"{found.value:,.0f} ({found.low:,.0f} to {found.high:,.0f})")
        name = f"`{algorithm}`" + (f" `{options}`" if options else "")
        yield [task, f"{steps / 1e6:.0f}M", name, str(rows["seed"].n_unique()), *cells]


def test_every_figure_of_the_study_of_rollouts_is_in_the_results_file():
    assert table("task", "steps", "algorithm", "seeds", "ID", "OOD") == list(study_rows())


def test_what_the_demo_shows_holds_for_at_least_nine_of_ten_seeds():
    frame = pl.read_csv(ROOT / "results" / "demo-seeds.csv").filter(
        (pl.col("parameter") == "mass") & pl.col("scale").is_in(demo.HEAVIER)
    )
    rows = frame.group_by("algorithm", "seed").agg(pl.col("return").mean()).sort("seed")
    heavier = {algo: rows.filter(pl.col("algorithm") == algo) for algo in demo.ALGORITHMS}
    rapo, ppo = heavier["rapo"], heavier["ppo"]
    assert rapo["seed"].to_list() == ppo["seed"].to_list() == list(range(10))
    ahead = int((rapo["return"] > ppo["return"]).sum())
    assert ahead >= 9
    page = (ROOT / "docs" / "getting-started.md").read_text()
    assert f"for {ahead} of 10 seeds" in page
    assert f"{rapo['return'].mean():,.0f} beside {ppo['return'].mean():,.0f} on average" in page
    printed = table("seed", *(f"`{algo}`, heavier" for algo in demo.ALGORITHMS))
    expected = zip(rapo["seed"], rapo["return"], ppo["return"], strict=True)
    assert printed == [[str(seed), f"{a:,.0f}", f"{b:,.0f}"] for seed, a, b in expected]


def test_the_algorithms_are_all_named():
    assert table("name", "what it is") == [[f"`{a.name}`", a.summary] for a in ALGORITHMS.values()]


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 170
