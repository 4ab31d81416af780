"""Work spread over the processes of Ray, on this machine or on a cluster.

Ray is imported only here, and only when asked for. A piece of work whose process dies is given to another
process, so work must be such that it can be begun again.
"""

import logging
import os
import socket
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from rapo.errors import InputError
from rapo.runs.interrupt import interrupts

RETRIES = 5
"""How often work is given to another process after the first has died."""
PATIENCE = 5.0
"""Seconds to wait for a cluster to answer."""
POLL = 0.5
"""Seconds between two looks at whether Ctrl-C was pressed."""
FAREWELL = 120.0
"""Seconds to wait, after Ctrl-C, for work to save what it has."""
LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Where Ray looks whether nodes may join it from elsewhere: if not, on whatever system, it uses loopback."""
SETTINGS = b"\4"
"""The kind of frame that HTTP/2 begins with."""
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + SETTINGS + b"\0\0\0\0\0"
"""How a client of HTTP/2 begins, with settings that change nothing."""


@dataclass(frozen=True)
class Died:
    """Work that was lost again and again, or that Ray gave up."""

    why: str
    """What Ray says, in a sentence."""


def each(
    work: Callable[[Any], Any], items: Sequence[Any], address: str | None = None
) -> Iterator[tuple[int, Any]]:
    """The place of each item and what `work` makes of it, or `Died`, as they are finished.

    A Ray that this process has started already is used as it is; otherwise one is started here, or joined at
    `address`, and left in the end. Every piece of work takes one core.
    """
    with _joined(address) as ray, interrupts() as interrupted:
        remote = ray.remote(num_cpus=1, max_retries=RETRIES)(work)
        places = {remote.remote(item): i for i, item in enumerate(items)}
        waiting = list(places)
        try:
            while waiting:
                found, waiting = ray.wait(waiting, num_returns=1, timeout=POLL)
                if interrupted():
                    waiting = [*found, *waiting]
                    raise KeyboardInterrupt
                if not found:
                    continue
                (ready,) = found
                try:
                    yield places[ready], ray.get(ready)
                except ray.exceptions.RayError as error:
                    yield places[ready], Died(_why(error))
        except (KeyboardInterrupt, GeneratorExit):
            for reference in waiting:
                ray.cancel(reference)
            if waiting:
                ray.wait(waiting, num_returns=len(waiting), timeout=FAREWELL)
            raise


@contextmanager
def _joined(address: str | None) -> Generator[Any]:
    """Ray, quiet and without its dashboard and its statistics; one that is started here is for this machine
    alone."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address is None:
        _keep_to_this_machine()
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
        from ray.exceptions import RayError
    except ImportError:
        raise InputError(
            "Ray is not installed and --ray was asked for: install it with pip install 'rapo[cluster]'"
        ) from None
    if ray.is_initialized():
        yield ray
        return
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    try:
        if address is None:
            ray.init("local", include_dashboard=False, **quiet)
        else:
            _check_answers(address)
            ray.init(address, **quiet)
    except (ConnectionError, TimeoutError, ValueError, RuntimeError, RayError) as error:
        if isinstance(error, InputError):
            raise
        raise _unreachable(address, error) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _keep_to_this_machine() -> None:
    """Let a Ray that is started here listen on loopback only, and to those only who know its token."""
    os.environ.setdefault(LOOPBACK, "0")
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    if "RAY_AUTH_TOKEN_PATH" not in os.environ:
        os.environ.setdefault("RAY_AUTH_TOKEN", token_hex(32))


def _check_answers(address: str) -> None:
    """Refuse an address where no Ray can be, before Ray itself tries for minutes.

    Ray speaks gRPC: whoever is there must answer the greeting of HTTP/2 with settings of its own.
    """
    if address in ("auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InputError(
            f"Ray address '{address}' was given: allowed are HOST:PORT, ray://HOST:PORT and auto"
        )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), PATIENCE) as connection:
            if os.environ.get("RAY_USE_TLS") == "1":
                return
            connection.sendall(GREETING)
            answer = connection.recv(9, socket.MSG_WAITALL)
    except OSError as error:
        raise _unreachable(address, error) from None
    if answer[3:4] != SETTINGS:
        raise _unreachable(address, "who listens there is not Ray")


def _unreachable(address: str | None, why: object) -> InputError:
    reason = str(getattr(why, "strerror", None) or why).split("\n")[0].strip().rstrip(".")
    if address is None:
        return InputError(f"Ray can't be started on this machine: {reason}")
    return InputError(f"Ray address '{address}' can't be reached: {reason}")


def _why(error: Exception) -> str:
    """What was wrong with the work if that is known, else the first sentence of what Ray has to say."""
    cause = getattr(error, "cause", None) or error
    said = " ".join(str(cause).split()).split(". ")[0]
    return f"Ray gave it up, at the latest after {RETRIES + 1} attempts: {type(cause).__name__}, {said}"
