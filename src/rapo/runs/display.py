"""How a run is doing, as it goes: a live panel on a terminal, plain lines elsewhere."""

from collections import deque
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rapo.runs.run import Display
from rapo.screen import duration
from rapo.training.config import Config

BLOCKS = "▁▂▃▄▅▆▇█"
MANY = 0.01
"""Share of the steps of an update that may diverge without being shown."""
LINES = 20
"""Plain lines in a whole run, about."""


class _Facts:
    """What is shown of a run, on a terminal and elsewhere."""

    def __init__(self, config: Config) -> None:
        self.total = config.updates
        self.steps = config.updates * config.steps_per_update
        self.update = 0
        self._names = [config.task.dynamics.names[i] for i in config.task.dynamics.movable]
        self._per_update = config.steps_per_update
        self._diverged = 0
        self._returns: deque[tuple[float, int]] = deque(maxlen=20)
        self._times: deque[tuple[float, int]] = deque(maxlen=11)

    def take(self, metrics: Mapping[str, Any]) -> dict[str, str]:
        """The facts to show after an update, by name, as text."""
        self.update = metrics["update"]
        if metrics["return"] is not None:
            self._returns.append((metrics["return"], metrics["episodes"]))
        self._times.append((perf_counter(), metrics["steps"]))
        shown = {"steps": f"{metrics['steps']:,} of {self.steps:,}", "return": self._return()}
        share = (metrics["divergences"] - self._diverged) / self._per_update
        self._diverged = metrics["divergences"]
        if share > MANY:
            shown["diverged"] = f"{share:.0%} of the steps of this update: their numbers were not finite"
        if "robust_gap" in metrics:
            shown["robust gap"] = f"{metrics['robust_gap']:.3g}"
        if "sensitivity" in metrics:
            shown["what matters"] = _shares(self._names, metrics["sensitivity"])
            poor = " (too low to trust the directions)" if metrics["sensitivity_poor"] else ""
            shown["sensitivities"] = f"R2 {metrics['sensitivity_r2']:.2f}{poor}"
        if len(metrics.get("mixture", ())) > 1:
            shown["mixture"] = _bars(metrics["mixture"])
        (t0, s0), (t1, s1) = self._times[0], self._times[-1]
        if s1 > s0:
            rate = (s1 - s0) / (t1 - t0)
            shown["speed"] = f"{rate:,.0f} steps/s"
            shown["left"] = duration((self.steps - s1) / rate)
        return shown

    def _return(self) -> str:
        """The mean of recent episodes."""
        number = sum(n for _, n in self._returns)
        return f"{sum(r * n for r, n in self._returns) / number:,.0f}" if number else "-"


@contextmanager
def shown(config: Config, console: Console) -> Generator[Display]:
    """A display of a run on `console`."""
    progress = _Facts(config)
    name = f"{config.algorithm.name} on {config.task.name}, seed {config.seed}"
    if not console.is_terminal:
        every = max(1, config.updates // LINES)

        def line(metrics: Mapping[str, Any]) -> None:
            facts = progress.take(metrics)
            if metrics["update"] % every == 0 or metrics["update"] in (1, config.updates):
                console.print(f"{name}: " + ", ".join(f"{k} {v}" for k, v in facts.items()), soft_wrap=True)

        yield line
        return
    with Live(console=console, refresh_per_second=4) as live:
        live.update(Text(f"{name}: compiling and taking the first steps"))

        def panel(metrics: Mapping[str, Any]) -> None:
            facts = progress.take(metrics)
            table = Table.grid(padding=(0, 2))
            for key, value in facts.items():
                table.add_row(Text(key, style="dim"), value)
            live.update(
                Group(Text(name, style="bold"), ProgressBar(progress.total, progress.update, 50), table)
            )

        yield panel


def _shares(names: list[str], sizes: list[float]) -> str:
    """Parameters by their share in the sensitivity of the value, the largest first."""
    total = sum(sizes) or 1.0
    ordered = sorted(zip(names, sizes, strict=True), key=lambda pair: -pair[1])
    return ", ".join(f"{name} {size / total:.0%}" for name, size in ordered)


def _bars(weights: list[float]) -> str:
    top = max(weights)
    return "".join(BLOCKS[round(w / top * (len(BLOCKS) - 1))] for w in weights) + f"  largest {top:.2f}"
