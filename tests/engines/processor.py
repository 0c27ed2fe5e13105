"""The CUDA kernel compiled for the processor: its text runs where there is no GPU.

Each thread becomes a block of one: what threads share is then nobody else's, and barriers have
nothing to wait for. The operations of the kernel round as the processor's do; contraction is off.
"""

from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from whitecrow.neighbours.devices import NUMPY, Device, Launch

_AROUND = """
#include <math.h>
#define __device__
#define __global__
#define __noinline__
#define __forceinline__ inline
#define __shared__ static thread_local
struct Index { int x, y; };
static thread_local Index blockIdx, threadIdx;
static long long min(long long a, long long b) { return a < b ? a : b; }
static int __syncthreads_or(int open) { return open; }
static void __syncthreads() {}
static double __dadd_rn(double a, double b) { return a + b; }
static double __dsub_rn(double a, double b) { return a - b; }
static double __dmul_rn(double a, double b) { return a * b; }
static double __ddiv_rn(double a, double b) { return a / b; }
static float __fadd_rn(float a, float b) { return a + b; }
static float __fsub_rn(float a, float b) { return a - b; }
static float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static void atomicAdd(unsigned long long *where, unsigned long long much) { *where += much; }
%s
extern "C" void start(int across, int down, void **given)
{
    for (blockIdx.y = 0; blockIdx.y < down; ++blockIdx.y)
        for (blockIdx.x = 0; blockIdx.x < across; ++blockIdx.x)
            %s;
}
"""
_EXACTLY = (
    "count_tiles((double *)given[0], (long long *)given[1], (double *)given[2], "
    "(double *)given[3], (long long *)given[4], (long long *)given[5])"
)
_CALLS = {
    "count_tiles": _EXACTLY,
    "count_filtered": _EXACTLY.replace("count_tiles", "count_filtered")[:-1]
    + ", (float *)given[6], (float *)given[7], (float *)given[8])",
}


def processor_device() -> Device | None:
    """Return numpy's device with kernels compiled by the system's compiler; None without one."""
    compiler = shutil.which("g++")
    if compiler is None:
        return None
    folder = tempfile.TemporaryDirectory(prefix="whitecrow-kernel-")

    def compile_(source: str, name: str) -> Launch:
        text = _AROUND % (source.replace("#define THREADS 128", "#define THREADS 1"), _CALLS[name])
        place = Path(folder.name) / hashlib.sha256(text.encode()).hexdigest()[:16]
        written, library = place.with_suffix(".cpp"), place.with_suffix(".so")
        written.write_text(text, encoding="utf-8")
        options = ["-O1", "-ffp-contract=off", "-w", "-shared", "-fPIC"]
        subprocess.run([compiler, *options, "-o", str(library), str(written)], check=True)
        start = ctypes.CDLL(str(library)).start

        def launch(grid: tuple[int, int], threads: int, arrays: tuple[Any, ...]) -> None:
            assert all(array.flags.c_contiguous for array in arrays)
            given = (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])
            start(grid[0] * threads, grid[1], given)

        return launch

    return dataclasses.replace(NUMPY, compile=compile_)
