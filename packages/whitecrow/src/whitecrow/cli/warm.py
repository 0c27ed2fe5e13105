"""``whitecrow warm``: compile now what the first large question would compile."""

from __future__ import annotations

import time

import click

from whitecrow._code_store import folder_to_fill
from whitecrow.cli.screen_output import Output
from whitecrow.errors import InvalidInput


@click.command("warm", epilog="Example: whitecrow warm")
@click.pass_obj
def command(output: Output) -> None:
    """Compile every kernel once and keep the machine code, on all cores.

    Questions about few records need little of it; the first one about many would compile for about
    15 seconds. The code is kept in the installed package, for everyone who uses it, or where that
    cannot be written in your own cache; NUMBA_CACHE_DIR names another folder. It is made for this
    very processor; of another version, or of other sources, it is compiled anew.
    """
    from whitecrow.curator.warming import Kernel, side_by_side

    folder = folder_to_fill()
    if folder is None:
        raise InvalidInput(
            "There is no folder to keep compiled code in: the installed package and your cache "
            "cannot be written, or others can write to them too. Set NUMBA_CACHE_DIR to a folder "
            "that only you can write to."
        )
    start, found = time.perf_counter(), list[Kernel]()

    def tell(kernel: Kernel) -> None:
        found.append(kernel)
        output.say(f"compiled {kernel.name}, {kernel.seconds:.1f} s")

    if not side_by_side(tell):
        raise InvalidInput(f"Not everything could be compiled; the rest is kept in {folder}.")
    seconds = round(time.perf_counter() - start, 1)
    said = f"{len(found)} kernels compiled" if found else "Everything was compiled already"
    output.show(
        {
            "folder": str(folder),
            "seconds": seconds,
            "compiled": {kernel.name: kernel.seconds for kernel in found},
        },
        f"{said}, {seconds} s. Kept in {folder}",
    )
