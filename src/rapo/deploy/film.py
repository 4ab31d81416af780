"""Films and still strips of clips: a panel for each, with its dynamics and return in the picture."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rapo.deploy.clips import Clip
from rapo.deploy.extras import needed
from rapo.deploy.renderer import Picture, Renderer, headless
from rapo.errors import InputError
from rapo.evaluation.stills import TEXT
from rapo.files import check_writable, write_atomically
from rapo.heavy import mujoco

Draw = Callable[[Clip, float], Picture]
"""Draws a clip at some time, in seconds."""

WIDTH, HEIGHT = 400, 320
"""Pixels of a panel."""
RATE = 30
"""Pictures in a second of film; a second of film is a second of simulation."""
STILLS = 6
"""Pictures in a strip, for each panel."""
BYTES_PER_PIXEL = 0.25
"""What a film takes on disk at most, for each pixel of each picture."""


def write_film(
    rows: Sequence[Sequence[Clip]],
    path: Path,
    *,
    seconds: float = 20,
    advance: Callable[[], None] = lambda: None,
) -> None:
    """Write clips as a film, .mp4, or as a strip of stills, .png: a row of panels for each row of clips.

    seconds: the film ends after so many at the latest. advance: called after every picture.
    """
    path = check_film(path, seconds)
    if path.suffix == ".png":
        write_atomically(path, strip_of(rows, seconds, advance=advance))
        return
    with renderers(rows) as draw:
        times = _times(rows, seconds)
        _encode(path, (_picture(rows, draw, t, advance) for t in times), rows, len(times))


def strip_of(
    rows: Sequence[Sequence[Clip]],
    seconds: float,
    about: Mapping[str, Any] | None = None,
    advance: Callable[[], None] = lambda: None,
) -> bytes:
    """A strip of stills as PNG, a line for each clip; about: what its text says, if it says anything."""
    with renderers(rows) as draw:
        return _png(_strip(rows, draw, seconds, advance), about)


def check_film(path: Path, seconds: float) -> Path:
    """The file that a film goes into, links followed; refused if none can be written there."""
    if path.suffix not in (".mp4", ".png"):
        raise InputError(f"film '{path}' can't be written: names must end in .mp4 or .png")
    if not 0 < seconds < inf:
        raise InputError(f"a film of {seconds:g} seconds was asked for: allowed are finite numbers above 0")
    if path.suffix == ".mp4":
        needed("imageio_ffmpeg", "video")
    return check_writable(path)


def pictures(rows: Sequence[Sequence[Clip]], path: Path, seconds: float) -> int:
    """How often `advance` is called for a film."""
    return sum(map(len, rows)) if path.suffix == ".png" else len(_times(rows, seconds))


def _times(rows: Sequence[Sequence[Clip]], seconds: float) -> NDArray[np.float64]:
    return np.arange(0, length(rows, seconds), 1 / RATE)


def length(rows: Sequence[Sequence[Clip]], seconds: float) -> float:
    """How many seconds a film of these clips takes: until the last one has ended."""
    return min(seconds, max(len(clip.poses) * clip.task.dt for row in rows for clip in row))


@contextmanager
def renderers(rows: Sequence[Sequence[Clip]]) -> Generator[Draw]:
    """A function that draws a clip at some time, without a display."""
    made: dict[int, Renderer] = {}
    with headless(WIDTH, HEIGHT):
        try:
            for clip in (clip for row in rows for clip in row):
                made[id(clip)] = Renderer(_own_model(clip), WIDTH, HEIGHT)
            yield lambda clip, time: made[id(clip)](clip.pose(time))
        finally:
            for renderer in made.values():
                renderer.close()


def _own_model(clip: Clip) -> mujoco.MjModel:
    """The model under the dynamics of a clip: some show, such as the length of a cable."""
    model = clip.task.model.__copy__()
    clip.task.dynamics.write(model, clip.dynamics)
    return model


def _picture(
    rows: Sequence[Sequence[Clip]],
    draw: Draw,
    time: float,
    advance: Callable[[], None],
) -> Picture:
    """All panels at one time, those of a row side by side."""
    widest = max(map(len, rows))
    blank = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    lines = [
        np.concatenate([*(_panel(clip, draw, time) for clip in row), *[blank] * (widest - len(row))], axis=1)
        for row in rows
    ]
    advance()
    return np.concatenate(lines)


def _panel(clip: Clip, draw: Draw, time: float) -> Picture:
    ended = len(clip.poses) * clip.task.dt
    over = time >= ended
    end = "physics failed" if clip.diverged else "ended"
    stopped = over and (clip.terminated or clip.diverged)
    state = f"{end} after {ended:.1f} s" if stopped else f"{min(time, ended):.1f} s"
    return _written(draw(clip, time), (clip.name, f"return {clip.returned:,.0f}    {state}"))


def _written(picture: Picture, lines: Sequence[str]) -> Picture:
    """A picture with lines of text at its top, made smaller where they would not fit."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.fromarray(picture)
    pen = ImageDraw.Draw(image, "RGBA")
    pen.rectangle((0, 0, WIDTH, 4 + 18 * len(lines)), fill=(0, 0, 0, 150))
    for i, line in enumerate(lines):
        size = 14
        while size > 7 and pen.textlength(line, ImageFont.load_default(size)) > WIDTH - 12:
            size -= 1
        pen.text((6, 3 + 18 * i), line, fill="white", font=ImageFont.load_default(size))
    return np.asarray(image)


def _strip(
    rows: Sequence[Sequence[Clip]],
    draw: Draw,
    seconds: float,
    advance: Callable[[], None],
) -> Picture:
    """Stills of every clip, from left to right, a line for each clip."""
    times = np.linspace(0, length(rows, seconds), STILLS)
    lines = []
    for clip in (clip for row in rows for clip in row):
        lines.append(np.concatenate([_panel(clip, draw, t) for t in times], axis=1))
        advance()
    return np.concatenate(lines)


def _png(picture: Picture, about: Mapping[str, Any] | None) -> bytes:
    from io import BytesIO

    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    file, text = BytesIO(), PngInfo()
    if about is not None:
        text.add_text(TEXT, json.dumps(about))
    Image.fromarray(picture).save(file, "png", optimize=True, pnginfo=text)
    return file.getvalue()


def _encode(path: Path, pictures: Iterator[Picture], rows: Sequence[Sequence[Clip]], count: int) -> None:
    """Write pictures as a film, whole or not at all."""
    ffmpeg = needed("imageio_ffmpeg", "video")
    size = WIDTH * max(map(len, rows)), HEIGHT * len(rows)
    most = int(BYTES_PER_PIXEL * size[0] * size[1] * count)
    free = shutil.disk_usage(path.resolve().parent).free
    if most > free:
        raise InputError(
            f"film '{path}' may take {most / 1e6:,.0f} MB: the disk has room for {free / 1e6:,.0f} MB"
        )
    unfinished = path.with_name(f".{path.stem}.unfinished.mp4")
    given = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", str(RATE), "-i", "-")
    made = ("-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(unfinished))
    command = [ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error", *given, *made]
    try:
        with Popen(command, stdin=PIPE, stderr=PIPE) as encoder:
            assert encoder.stdin is not None
            assert encoder.stderr is not None
            with suppress(BrokenPipeError):  # what went wrong is said on the other pipe
                for picture in pictures:
                    encoder.stdin.write(picture.tobytes())
                encoder.stdin.close()
            said = " ".join(encoder.stderr.read().decode(errors="replace").split())[:200]
        if encoder.returncode:
            raise InputError(f"film '{path}' can't be encoded: {said}")
        unfinished.replace(path)
    except OSError as error:
        raise InputError(f"film '{path}' can't be encoded: {error.strerror}") from None
    finally:
        unfinished.unlink(missing_ok=True)
