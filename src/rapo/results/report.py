"""The report: run folders in, a page with figures and tables out.

    run folders -> records -> studies, one for each task -> words, tables, charts, figures -> files

`index.html` holds everything; `figures/` has PDF and PNG for print, `tables/` the numbers as CSV.
"""

import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from rapo.errors import InputError
from rapo.files import write_atomically
from rapo.results import charts, figures, tables
from rapo.results.charts import Figure
from rapo.results.colours import Look, looks
from rapo.results.load import Loaded, find_runs, load
from rapo.results.page import Block, Page, Section
from rapo.results.study import Measured, Study, across, studies
from rapo.results.sweeps import KEPT
from rapo.results.tables import Table
from rapo.results.words import summarise

PAGE = "index.html"

DEFINITIONS = (
    ("ID and OOD", "A setting changes one parameter and leaves the others nominal. It is in distribution (ID) if the value "
     "lies in the range that the task trains with, shaded in the figures, and out of distribution (OOD) otherwise. "
     "The nominal setting counts once."),
    ("Return at a setting", "The mean over the episodes of a run with its mean actions, then over the runs of a group, which "
     "differ in nothing but their seed. Episodes in which the physics diverged are counted and not averaged in."),
    ("95% interval", "Of means: Student's t over seeds. Of interquartile means and of probabilities: percentiles of 2,000 "
     "bootstrap samples, seeds drawn anew within each task. One seed has no interval."),
    ("IQM", "The interquartile mean: the mean without the lowest and the highest quarter of the runs."),
    ("Normalised return", "1 is the mean nominal return of the best group of that task in this report, 0 is a return of 0. "
     "Where no group returns more than 0 there is none."),
    ("Probability of improvement", "The chance that a run of one group, drawn at random, has a higher mean OOD return than one "
     "of the other; ties count half."),
    ("Equal cost", "The point of comparison is the smallest total of steps, or of seconds in physics, branches and learning, "
     "among the runs of a task; the figure is the mean return of the last tenth of updates before it."),
    ("How far", f"Outward from the nominal scale, as long as the mean return stays at or above {KEPT:.0%} of the nominal one."),
)  # fmt: skip


def report(
    folders: Iterable[str | Path],
    out: str | Path,
    seed: int = 0,
    *,
    advance: Callable[[], None] = lambda: None,
) -> Path:
    """Write a report of all runs in `folders` into the folder `out`; return the page.

    seed: of the bootstrap; advance: called after each run that was read.
    """
    return write(load(find_runs(folders), advance), prepared(Path(out)), seed)[0]


def prepared(out: Path) -> Path:
    """The folder of a report, made and tried out before any work is done."""
    try:
        for folder in (out, out / "figures", out / "tables"):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
    except OSError as error:
        raise InputError(f"report folder '{out}' can't be written: {error.strerror}") from None
    return out


def write(loaded: Loaded, out: Path, seed: int) -> tuple[Path, list[Study]]:
    """Write all files of a report; return the page and what it was made from."""
    rng = np.random.default_rng(seed)
    found = studies(loaded, rng)
    look = looks(group for groups in loaded.tasks.values() for group in groups)
    files = _Files(out, list(loaded.tasks))
    together = tables.across_tasks(across(found, rng))
    page = Page(
        _lede(loaded),
        [summarise(study) for study in found],
        None if together is None else Block("All tasks together", table=together, files=files.table(None, together)),
        [_section(study, look, files) for study in found],
        loaded.notes,
        DEFINITIONS,
        look,
        {study.task: study.ranking[0].label for study in found if study.ranking},
    )
    write_atomically(out / PAGE, page.html().encode())
    return out / PAGE, found


class _Files:
    """Writes what lies beside the page, and hands out links to it."""

    def __init__(self, out: Path, tasks: list[str]) -> None:
        self._out = out
        self.names: dict[str, str] = {}
        for task in tasks:
            name = re.sub(r"[^A-Za-z0-9._-]+", "-", task) or "task"
            self.names[task] = name if name not in self.names.values() else f"{name}-{len(self.names)}"

    def table(self, task: str | None, *several: Table | None) -> tuple[str, ...]:
        links = []
        for table in several:
            if table is not None:
                name = table.name if task is None else f"{self.names[task]}-{table.name}"
                links.append(self._put(f"tables/{name}.csv", table.frame.write_csv().encode()))
        return tuple(links)

    def figure(self, task: str, name: str, drawn: figures.Figure) -> tuple[str, ...]:
        stem = f"figures/{self.names[task]}-{re.sub(r'[^A-Za-z0-9._=-]+', '-', name)}"
        return tuple(self._put(f"{stem}.{kind}", content) for kind, content in figures.rendered(drawn).items())

    def _put(self, name: str, content: bytes) -> str:
        write_atomically(self._out / name, content)
        return name


def _section(study: Study, look: dict[str, Look], files: _Files) -> Section:
    task = study.task
    blocks = (
        _robustness(study, look, files),
        _ablations(study, look, files),
        _tabled(files, task, "How much better?", tables.improvements(study), _against_the_best(study),
                "The best group against every other one, by the mean OOD return of their runs.",
                "sweeps of two or more algorithms are needed, `rapo sweep RUN...` makes them"),
        _tabled(files, task, "Worst cases found", tables.found(study), None,
                "A search of the whole test box, all parameters at once, beside the worst of the axes.",
                "`rapo search RUN` looks for them"),
        _maps(study, files),
        Block("The mixture of models", figure=charts.mixtures(study),
              missing="training with an ensemble records it: `rapo train TASK --algo rapo`"),
        Block("Temperature and budget use", figure=charts.temperatures(study),
              missing="training with robust targets records them: `rapo train TASK --algo rapo`"),
        _tabled(files, task, "Size of the ensemble", tables.sensitivity(study), None,
                "K models in the ensemble, m of them drawn for each target, as normalised return (mean ± deviation).",
                "runs that differ in `models` or `samples` and were swept are needed, `rapo grid FILE` makes them"),
        replace(
            _tabled(files, task, "Learning at equal cost", tables.matched(study), None, "", ""),
            figure=(curve := charts.training(study)),
            about=curve.caption if curve else "",
            missing="`rapo train` records it once an episode has ended",
        ),
        _tabled(files, task, "Cost", tables.cost(study), None,
                "Steps are those that the policy learned from; branch steps are one-step simulations under other models.",
                "`rapo train` records it"),
        _tabled(files, task, "Runs", tables.runs(study), None, "", ""),
    )  # fmt: skip
    return Section(f"task-{files.names[task]}", task, blocks)


def _robustness(study: Study, look: dict[str, Look], files: _Files) -> Block:
    chart = charts.robustness(
        study,
        study.groups,
        "robustness",
        "Robustness",
        "Mean return as one parameter is scaled and the others stay nominal. Bands are 95% intervals over seeds, the shaded "
        "scales are those of training. Click a name to hide its curve.",
    )
    links = _drawn(study, chart, study.groups, look, files)
    links += files.table(study.task, tables.scores(study), tables.curves(study), tables.kept_ranges(study))
    return Block(
        "Robustness",
        figure=chart,
        table=tables.scores(study),
        files=links,
        missing="`rapo sweep RUN` measures it",
    )


def _ablations(study: Study, look: dict[str, Look], files: _Files) -> Block:
    family = [m for m in study.groups if m.group.algo == "rapo" or m.group.algo.startswith("rapo-")]
    chart = None
    if len({m.group.algo for m in family if m.swept}) > 1:
        chart = charts.robustness(
            study,
            family,
            "ablations",
            "Ablations",
            "RAPO beside itself without some of its parts; bands and shading as above.",
        )
    return Block(
        "Ablations",
        figure=chart,
        files=_drawn(study, chart, family, look, files),
        missing="sweeps of `rapo` and of a variant are needed, such as `rapo train TASK --algo rapo-no-advnet`",
    )


def _drawn(
    study: Study, chart: Figure | None, groups: Iterable[Measured], look: dict[str, Look], files: _Files
) -> tuple[str, ...]:
    if chart is None:
        return ()
    swept = [m for m in groups if m.swept]
    drawn = figures.robustness(swept, study, look, chart.choices[""][0]["range"])
    return files.figure(study.task, chart.name, drawn)


def _maps(study: Study, files: _Files) -> Block:
    chart = charts.heatmaps(study)
    links: tuple[str, ...] = ()
    printed: set[str] = set()
    for m in study.groups:  # on paper, one of each algorithm
        choice = next((c for c in (chart.choices if chart else {}) if c.startswith(f"{m.label}, seed ")), None)
        if chart is not None and choice is not None and m.group.algo not in printed:
            printed.add(m.group.algo)
            links += files.figure(study.task, f"heatmap-{m.group.algo}", figures.maps(chart.choices[choice], choice))
    return Block("What training saw as hard", figure=chart, files=links, missing="`rapo train` records it as it goes")


def _tabled(
    files: _Files, task: str, title: str, table: Table | None, shown: Table | None, about: str, missing: str
) -> Block:
    return Block(title, about, table=shown or table, missing=missing, files=files.table(task, table))


def _against_the_best(study: Study) -> Table | None:
    table = tables.improvements(study)
    if table is None:
        return None
    return replace(table, frame=table.frame.filter(table.frame["algorithm"] == study.ranking[0].label))


def _lede(loaded: Loaded) -> str:
    groups = [group for groups in loaded.tasks.values() for group in groups]
    algos = {group.algo for group in groups}
    parts = [_count(sum(len(g.runs) for g in groups), "run"), _count(len(algos), "algorithm")]
    words = f"{parts[0]} of {parts[1]} on {_count(len(loaded.tasks), 'task')}: {', '.join(loaded.tasks)}."
    if loaded.shared:
        options = ", ".join(f"{name}={value}" for name, value in loaded.shared.items())
        words += f" All of them with {options}."
    return words


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
