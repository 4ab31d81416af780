"""`rapo video`: watch policies under changed physics."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from rapo.cli.own_code import own_code
from rapo.errors import InputError
from rapo.screen import console, progress_bar


@dataclass(frozen=True)
class VideoCommand:
    """Film policies, beside each other and from the same initial state, with their returns in the picture.

    For example: rapo video runs/ppo runs/rapo --dynamics mass=1.5,torque=0.8 --out film.mp4. A name that ends
    in .png gives a strip of stills instead. No display is needed.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or exported policies."""
    out: Path | None = None
    """The film, .mp4, or a strip of stills, .png; by default film.mp4 in the run folder, where a report finds
    it, and of several runs in this folder."""
    dynamics: str | None = None
    """Values of parameters as NAME=VALUE, several with commas; the others are nominal."""
    worst: bool = False
    """Show the worst dynamics that `rapo search` has found for each run."""
    sweep: str | None = None
    """A parameter: both ends of its test range and its nominal value are shown beside each other."""
    seconds: float = 20
    """The film ends after so many seconds at the latest."""
    seed: int = 1000
    """Where the initial state comes from."""
    task: str | None = None
    """The task of the runs as FILE:CLASS, where it is not built in."""
    algo: str | None = None
    """The algorithm of the runs as FILE:NAME, where it is not built in."""

    def run(self) -> None:
        """Play, render and write, with progress bars."""
        from rapo.deploy.clips import clips
        from rapo.deploy.film import check_film, pictures, write_film
        from rapo.deploy.policy_file import named_runs
        from rapo.evaluation.stills import FILM
        from rapo.runs.interrupt import interrupts

        if self.out is not None:
            check_film(self.out, self.seconds)
        runs = named_runs(self.runs, *own_code(self.task, self.algo))
        home = runs[0].folder if len(runs) == 1 else Path()
        out = home / FILM if self.out is None else self.out
        check_film(out, self.seconds)
        with progress_bar() as progress:
            playing = progress.add_task("playing", total=None)
            rows = clips(
                runs,
                dynamics=_values(self.dynamics),
                worst=self.worst,
                sweep=self.sweep,
                seed=self.seed,
                advance=lambda: progress.advance(playing),
            )
            progress.remove_task(playing)
            drawing = progress.add_task("drawing", total=pictures(rows, out, self.seconds))
            with interrupts() as interrupted:  # an unfinished film is taken away first

                def drawn() -> None:
                    if interrupted():
                        raise KeyboardInterrupt
                    progress.advance(drawing)

                write_film(rows, out, seconds=self.seconds, advance=drawn)
        for clip in (clip for row in rows for clip in row):
            end = ", then the task ended it" if clip.terminated else ""
            end = ", then the physics failed" if clip.diverged else end
            said = f"return {clip.returned:,.0f} in {len(clip.poses):,} steps{end}"
            console.print(f"{clip.name}: {said}", soft_wrap=True, markup=False, highlight=False)
        console.print(f"Wrote {out}", soft_wrap=True, markup=False, highlight=False)


def _values(given: str | None) -> dict[str, float]:
    """Parameter values by name."""
    found: dict[str, float] = {}
    for pair in (given or "").split(",") if given else ():
        name, _, value = pair.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            raise InputError(f"dynamics '{pair}' were given: allowed is NAME=VALUE, as in mass=1.5") from None
    return found
