"""``bulk``: work on many stored threads at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from enum import StrEnum
from multiprocessing import get_context
from typing import Annotated, Any

import msgspec
import typer

from agui_reasoning import bulk as threads
from agui_reasoning.cli._output import counted, progress, put, put_json
from agui_reasoning.errors import ConfigurationError, MissingExtraError


class Step(StrEnum):
    """What to do with each thread."""

    UPGRADE = "upgrade"
    REKEY = "rekey"
    REDUCE = "reduce"
    CHECK = "check"
    ERASE = "erase"
    AUDIT = "audit"


_READS = frozenset({Step.CHECK, Step.AUDIT})


def bulk(
    step: Annotated[Step, typer.Argument(metavar="STEP", help="What to do with each thread.")],
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="JSON lines or Parquet: an address, also with wildcards.")
    ],
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="The folder of the results and their reports.")
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=1, help="The number of processes.")
    ] = 1,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", metavar="ADDRESS", help="A Dask scheduler to work on.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Work on the stored threads of many files.

    STEP is upgrade, rekey, reduce, check, erase or audit. A thread is a line of JSON or a row of Parquet,
    with threadId, and messages or events. Each file of SOURCE becomes one of TARGET, written whole or not at
    all; if the command is interrupted, it goes on at the next start. Workers take the keys from their
    environment.
    """
    if target is None and step not in _READS:
        raise ConfigurationError(
            f"{step.value} writes threads, but there is no TARGET.",
            code="no_target",
            hint="Pass a folder for them.",
        )
    parts = threads.parts(source, target)
    with _mapped(workers, scheduler) as mapped, progress("bulk", len(parts), quiet=as_json) as bar:

        def counting(function: Callable[[Any], Any], given: Iterable[Any]) -> Iterator[Any]:
            for done in mapped(function, given):
                yield done
                bar.advance(1)

        summary = threads.run(parts, getattr(threads, step.value), map=counting)
    if as_json:
        put_json(msgspec.to_builtins(summary))
    else:
        put(f"{counted(summary.threads, 'thread')} in {counted(summary.parts, 'part')}")
        for code, count in sorted(summary.counts.items()):
            put(f"{count:>12}  {code}")
    if any(code.startswith("error.") for code in summary.counts):
        raise typer.Exit(1)


@contextmanager
def _mapped(workers: int, scheduler: str | None) -> Iterator[Callable[..., Iterable[Any]]]:
    if scheduler is not None:
        open_client, as_completed = _dask()

        with open_client(scheduler) as client:
            yield lambda function, parts: (
                done.result() for done in as_completed(client.map(function, list(parts), pure=False))
            )
    elif workers > 1:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            yield pool.map
    else:
        yield map


def _dask() -> tuple[Any, Any]:
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise MissingExtraError("agui-reasoning bulk --scheduler", "bulk") from None
    return Client, as_completed
