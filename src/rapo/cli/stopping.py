"""Ctrl-C on the command line: one line and status 130, at any moment.

An exception could be lost in an import, a compilation or a callback, so that the process ends at once; files
are whole or not there at any moment. What has to save or to tidy up first remembers Ctrl-C meanwhile, by
`rapo.runs.interrupt.interrupts`.
"""

import os
import signal
import sys
from contextlib import suppress
from typing import Any

INTERRUPTED = 130
"""The status of a process that Ctrl-C has ended."""
SHOW_CURSOR = "\x1b[?25h\n"


class Stop:
    """Ends the process when a signal comes."""

    def __init__(self) -> None:
        self.words = "interrupted"
        """What is said."""

    def __call__(self, number: int, frame: Any) -> None:
        """Say it and end."""
        said = f"{SHOW_CURSOR if os.isatty(2) else ''}rapo: {self.words}\n"
        os.write(2, said.encode(errors="replace"))
        os._exit(INTERRUPTED)


def stop_on_interrupt() -> None:
    """End at once on Ctrl-C, from now on."""
    signal.signal(signal.SIGINT, Stop())


def say_on_interrupt(words: str) -> None:
    """Add some words to what is said at Ctrl-C, if that ends the process at once."""
    handler = signal.getsignal(signal.SIGINT)
    if isinstance(handler, Stop):
        handler.words = f"interrupted, {words}"


def leave() -> None:
    """End after Ctrl-C without taking the interpreter down: threads of libraries may still be at work."""
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(INTERRUPTED)
