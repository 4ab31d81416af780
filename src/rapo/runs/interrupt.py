"""Ctrl-C at a good moment: the first one is remembered, so that an update can be finished and saved."""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts() -> Generator[Callable[[], bool]]:
    """Give a function that says whether Ctrl-C was pressed since; a second Ctrl-C stops at once.

    Only the main thread receives signals: in any other thread the function always says no.
    """
    asked = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, remember)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
