"""A process that can be given work which never ends, or which ends the process."""

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from torture.tally import outcome


class Worker:
    """Calls a function in another process, which is replaced when it dies or takes too long."""

    def __init__(self, work: Callable[[Any], object], seconds: float, **environment: str) -> None:
        """`work` is a function of a module; each call may take so many seconds."""
        self._work, self._seconds, self._environment = work, seconds, environment
        self._process: Any = None

    def __call__(self, given: Any) -> str:
        """What came of `work(given)`, as `torture.tally.outcome` says it."""
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, other = context.Pipe()
            self._process = context.Process(target=_serve, args=(self._work, other), daemon=True)
            before = dict(os.environ)
            os.environ |= self._environment
            self._process.start()
            os.environ |= {name: before.get(name, "") for name in self._environment}
            other.close()
        self._pipe.send(given)
        if not self._pipe.poll(self._seconds):
            self.close()
            return f"no end within {self._seconds:g} seconds"
        try:
            return self._pipe.recv()
        except EOFError:
            self._process.join()
            status = self._process.exitcode
            self.close()
            return f"the process ended with status {status}"

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None


def _serve(work: Callable[[Any], object], pipe: Connection) -> None:
    while True:
        pipe.send(outcome(work, pipe.recv()))
