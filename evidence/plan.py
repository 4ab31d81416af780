"""What the evidence consists of: a file of results for each experiment, the grids that make its runs, and
how far it has come."""

from dataclasses import dataclass
from pathlib import Path

from evidence.markdown import table
from evidence.read import rows
from rapo.grids.grid_file import GridRun, read_grid

GRIDS = Path(__file__).parents[1] / "grids"


@dataclass(frozen=True)
class Experiment:
    """Runs that answer one question, and the file that their sweeps are gathered in."""

    file: str
    question: str
    grids: tuple[str, ...]
    searched: bool = False
    """Whether the worst dynamics that searches find for its runs are part of the evidence."""

    def planned(self) -> list[GridRun]:
        """All runs that its grids are made of."""
        return [run for name in self.grids for run in read_grid(GRIDS / f"{name}.toml").runs]

    def made(self) -> int:
        """How many of them the file holds: task, algorithm, options, steps and seed are the same."""
        found = rows(self.file)
        if found is None:
            return 0
        keys = ("task", "algorithm", "options", "steps", "seed")
        held = set(found.select(keys).unique().rows())
        return sum(_key(run) in held for run in self.planned())


def _key(run: GridRun) -> tuple[str, str, str, int, int]:
    config = run.config()
    steps = config.updates * config.steps_per_update
    return run.task, config.algorithm.name, config.changes, steps, run.seed


EXPERIMENTS = (
    Experiment(
        "curves.csv",
        "RAPO beside its baselines, 3,000,000 steps",
        ("curves-hopper", "curves-walker2d", "curves-halfcheetah", "curves-ant"),
        searched=True,
    ),
    Experiment(
        "baselines-tuning.csv",
        "Settings of the baselines, on tuning seeds",
        ("baselines-tuning", "baselines-tuning-more"),
    ),
    Experiment("paper-literal.csv", "The paper's literal algorithm", ("paper-literal",)),
    Experiment("ablations.csv", "What each part adds", ("ablations",)),
    Experiment("ensemble-size.csv", "How many models K", ("ensemble-size",)),
    Experiment("samples.csv", "How many samples m", ("samples",)),
    Experiment("equal-time.csv", "PPO and PPO-DR given the time of RAPO", ("equal-time",)),
)


def progress() -> str:
    """How many runs of each experiment are in its file, as a table."""
    lines = []
    for experiment in EXPERIMENTS:
        made, planned = experiment.made(), len(experiment.planned())
        grids = ", ".join(f"`grids/{name}.toml`" for name in experiment.grids)
        lines.append([experiment.question, grids, f"`{experiment.file}`", f"{made} of {planned}"])
    return table(("experiment", "grids", "file", "runs"), lines, text=3)
