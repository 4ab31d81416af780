"""`rapo zoo`: trained policies that come with the package."""

from dataclasses import dataclass
from pathlib import Path

from rapo.screen import console, number_table


@dataclass(frozen=True)
class ZooCommand:
    """List the trained policies that come with the package: what was measured of them, and their commands.

    Commands that measure or show runs take them by name: `rapo eval nominal zoo:hopper-rapo`, and so `rapo
    sweep`, `search`, `video`, `play`, `export`, `report`. What is measured goes into runs/zoo.
    """

    add: tuple[Path, ...] = ()
    """Put the policies of these runs into the zoo of this installation: finished and swept runs of built-in
    tasks and algorithms. The figures are those of their sweep.csv and search.json."""

    def run(self) -> None:
        """Print the table, then versions and commands."""
        from rapo.deploy.zoo import add_to_zoo, zoo
        from rapo.runs.run import trained_runs

        for run in trained_runs(self.add) if self.add else ():
            console.print(f"Wrote {add_to_zoo(run)}", soft_wrap=True, markup=False, highlight=False)
        known = zoo()
        table = number_table("Mean return", ("policy",), ("steps", "nominal", "ID", "OOD", "worst", "search"))
        table.columns[0].no_wrap = True
        table.caption = (
            "ID and OOD: all settings of a sweep inside and outside of the training ranges; worst: the worst "
            "of them; search: the worst that was found in the whole test box."
        )
        for name, policy in known.items():
            figures = policy.facts["figures"]
            shown = (figures.get(key) for key in ("nominal", "inside", "outside", "worst", "searched"))
            cells = ("" if value is None else f"{value:,.0f}" for value in shown)
            table.add_row(f"zoo:{name}", f"{policy.facts['steps'] / 1e6:.1f}M", *cells)
        console.print(table)
        for name, policy in known.items():
            facts = policy.facts
            said = f"{facts['algorithm']} on {facts['task']}, rapo {facts['rapo']}: {facts['command']}"
            console.print(f"zoo:{name} is {said}", soft_wrap=True, markup=False, highlight=False)
