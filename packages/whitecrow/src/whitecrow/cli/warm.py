"""``whitecrow warm``: compile now what questions about many records would compile."""

from __future__ import annotations

import time

import click

from whitecrow._compiled import kept_in
from whitecrow.cli.screen_output import Output


@click.command("warm", epilog="Example: whitecrow warm")
@click.pass_obj
def command(output: Output) -> None:
    """Compile every kernel once and keep the machine code.

    Nobody needs to: what a question needs is compiled when it is first asked. The code is kept in
    the installed package, or where that cannot be written in your own cache; NUMBA_CACHE_DIR names
    another folder.
    """
    from whitecrow.curator.warming import warm

    start = time.perf_counter()
    with output.progress() as progress:
        if progress is None:
            warm()
        else:
            warm(lambda percent: progress(percent, 100, "compiling"))
    seconds, folder = round(time.perf_counter() - start, 1), kept_in()
    place = "nowhere: set NUMBA_CACHE_DIR to a folder of your own" if folder is None else folder
    output.show(
        {"folder": folder, "seconds": seconds},
        f"All kernels are compiled ({seconds} s), kept in {place}",
    )
