"""How long the command line takes to answer: each command as a process, beside a Python that does nothing.

The commands are those that should answer at once: help, version, lists, and the refusal of a wrong option.
A round starts every command once and `python -c pass` once, every other round in the opposite order, so that
a noisy machine slows all of them alike.
"""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

COMMANDS: dict[tuple[str, ...], int] = {
    ("--help",): 0,
    ("--version",): 0,
    ("tasks",): 0,
    ("options", "rapo"): 0,
    ("train", "hopper", "--set", "epsilonn=1"): 2,
}
"""Arguments of `rapo`, and the exit status that they should end with."""
FEWEST_ROUNDS = 3
PASS = ("-c", "pass")


@dataclass(frozen=True)
class StartRow:
    """One line of the benchmark: a command beside `python -c pass`, medians over the rounds."""

    command: str
    seconds: float
    """From the start of the command's process to its end."""
    pass_seconds: float
    """The same for `python -c pass`."""
    ratio: float
    """`seconds` over `pass_seconds`."""


def measure(seconds: float) -> list[StartRow]:
    """A row for each of `COMMANDS`, after about so many seconds for all of them together."""
    calls = [(PASS, 0), *((("-m", "rapo", *command), status) for command, status in COMMANDS.items())]
    for arguments, status in calls:
        process_seconds(arguments, status)  # not counted: the first start finds its files on the disk
    times: list[list[float]] = [[] for _ in calls]
    start, rounds = perf_counter(), 0
    while rounds < FEWEST_ROUNDS or perf_counter() - start < seconds:
        turns = list(zip(calls, times, strict=True))
        for (arguments, status), taken in reversed(turns) if rounds % 2 else turns:
            taken.append(process_seconds(arguments, status))
        rounds += 1
    pass_seconds, *command_seconds = map(median, times)
    return [
        StartRow(" ".join(("rapo", *command)), taken, pass_seconds, taken / pass_seconds)
        for command, taken in zip(COMMANDS, command_seconds, strict=True)
    ]


def process_seconds(arguments: Sequence[str], status: int) -> float:
    """How long this Python takes with these arguments; an error if it ends with another exit status."""
    start = perf_counter()
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    seconds = perf_counter() - start
    if done.returncode != status:
        raise RuntimeError(
            f"'python {' '.join(arguments)}' ended with status {done.returncode} instead of {status}: "
            f"{done.stderr.strip()}"
        )
    return seconds
