"""Redoing papers on all cores: sections that share no computation run in processes of their own."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any

from whitecrow.neighbours import parallel
from whitecrow_research.papers.report import Context, Paper, Progress, Section, run

Results = list[tuple[Paper, list[Section]]]

_told: Any = None
"""In a process of its own: the queue on which it says what it computes."""


def run_all(papers: Sequence[Paper], context: Context, progress: Progress | None = None) -> Results:
    """Compute every section of some papers; the same sections as one after the other."""
    context.out.mkdir(parents=True, exist_ok=True)
    total = sum(len(paper.sections) for paper in papers)
    tasks = list(_tasks(papers))
    spawn = multiprocessing.get_context("spawn")
    queue = spawn.SimpleQueue()
    listener = threading.Thread(target=_listen, args=(queue, total, progress))
    listener.start()
    try:
        with ProcessPoolExecutor(
            min(parallel.workers(), len(tasks)), spawn, initializer=_begin, initargs=(queue,)
        ) as pool:
            begun: list[tuple[Paper, tuple[str, ...], Future[list[Section]]]] = [
                (paper, keys, pool.submit(_compute, paper.name, context, keys))
                for paper, keys in tasks
            ]
            sections = {
                (paper.name, key): section
                for paper, keys, future in begun
                for key, section in zip(keys, future.result(), strict=True)
            }
    finally:
        queue.put(None)
        listener.join()
    return [(paper, [sections[paper.name, key] for key in paper.sections]) for paper in papers]


def _tasks(papers: Sequence[Paper]) -> Iterator[tuple[Paper, tuple[str, ...]]]:
    """Yield the sections that one process computes; what takes long comes first."""
    ordered = sorted(papers, key=lambda paper: (-len(paper.apart), -len(paper.sections)))
    for paper in ordered:
        yield paper, tuple(key for key in paper.sections if key not in paper.apart)
    for paper in ordered:
        yield from ((paper, (key,)) for key in paper.apart)


def _begin(queue: Any) -> None:
    global _told
    _told = queue
    parallel.limit(1)  # as many processes as cores


def _compute(name: str, context: Context, keys: Sequence[str]) -> list[Section]:
    from whitecrow_research.papers import load

    return run(load(name), context, keys, lambda done, total, what: _told.put(what))


def _listen(queue: Any, total: int, progress: Progress | None) -> None:
    done = 0
    while (what := queue.get()) is not None:
        if progress is not None:
            progress(done, total, what)
        done += 1
