"""The array library and the device on which the engine ``gpu`` counts.

CuPy and PyTorch are used through what their arrays have in common with numpy's: operators,
indexing and ``sum``. The little in which they differ is a :class:`Device`. Neither is imported
before an engine is opened.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from whitecrow._arrays import Array
from whitecrow.errors import MissingExtra, NoDevice

_PROCESSOR_BYTES = 1 << 25  # what a tile's arrays may take on a processor: about its cache


class Launch(Protocol):
    """A compiled kernel: started with a grid, the threads of a block, and arrays."""

    def __call__(self, grid: tuple[int, int], threads: int, arrays: tuple[Any, ...]) -> None:
        """Start the kernel; operations on its arrays wait for it."""


Compile = Callable[[str, str], Launch | None]
"""Takes CUDA source and the name of a kernel in it; returns None where no compiler is found."""


@dataclass(frozen=True)
class Device:
    """Where arrays live, and the operations that libraries spell differently."""

    name: str  # the library and the hardware, for people
    # put, fetch: Copy a numpy array to the device, and an array of the device to numpy.
    put: Callable[[Array], Any]
    fetch: Callable[[Any], Array]
    maximum: Callable[[Any, Any], Any]  # the larger of two arrays, element by element
    single: Callable[[Any], Any]  # rounds an array to float32
    free: Callable[[], int]  # how many bytes of the device's memory may still be taken
    # Compiles a CUDA kernel; without it the plain array operations are used.
    compile: Compile | None = None


def _single(values: Any) -> Any:
    return values.astype(np.float32)


NUMPY = Device("numpy", np.array, np.asarray, np.maximum, _single, lambda: _PROCESSOR_BYTES)
"""No GPU at all: the same code on the processor, to test it anywhere."""


def find_device() -> Device:
    """Return the GPU of this machine through CuPy or, failing that, PyTorch."""
    devices = []
    for name, device in (("cupy", cupy_device), ("torch", torch_device)):
        module = _imported(name)
        if module is not None:
            devices.append(name)
            if _has_gpu(module):
                return device()
    if devices:
        raise NoDevice(
            f"The engine 'gpu' is not available here: {' and '.join(devices)} found no GPU with a "
            "working driver on this machine. Use engine='local', which gives the same answers."
        )
    raise MissingExtra(
        "The engine 'gpu' is not installed here: it needs CuPy (pip install cupy-cuda12x, or "
        "cupy-cuda13x where the driver is of CUDA 13) or PyTorch (pip install torch). Install one "
        "of them, or use engine='local', which gives the same answers."
    )


@cache
def cupy_device() -> Device:
    """Return the current GPU through CuPy."""
    cupy: Any = importlib.import_module("cupy")
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)

    def free() -> int:
        pool = cupy.get_default_memory_pool()
        return int(cupy.cuda.Device().mem_info[0] + pool.free_bytes())

    def compile_(source: str, name: str) -> Launch:
        kernel = cupy.RawKernel(source, name, options=("--fmad=false",))
        kernel.compile()

        def launch(grid: tuple[int, int], threads: int, arrays: tuple[Any, ...]) -> None:
            kernel(grid, (threads,), arrays)

        return launch

    return Device(
        f"CuPy {cupy.__version__}, {properties['name'].decode()}",
        cupy.asarray,
        cupy.asnumpy,
        cupy.maximum,
        _single,
        free,
        # On AMD's devices the intrinsics do not forbid fused operations.
        None if cupy.cuda.runtime.is_hip else compile_,
    )


@cache
def torch_device(where: str = "cuda") -> Device:
    """Return a device of PyTorch; ``cpu`` runs the same operations on the processor."""
    torch: Any = importlib.import_module("torch")
    on_gpu = where != "cpu"

    def put(values: Array) -> Any:
        return torch.tensor(values, device=where)

    def fetch(values: Any) -> Array:
        return np.asarray(values.cpu().numpy())

    def free() -> int:
        if not on_gpu:
            return _PROCESSOR_BYTES
        unused = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        return int(torch.cuda.mem_get_info()[0] + unused)

    hardware = torch.cuda.get_device_name() if on_gpu else "cpu"
    name = f"PyTorch {torch.__version__}, {hardware}"
    return Device(name, put, fetch, torch.maximum, torch.Tensor.float, free, None)


def _imported(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except (ImportError, OSError):  # OSError: a library of CUDA that it needs is missing
        return None


def _has_gpu(module: Any) -> bool:
    try:
        return bool(module.cuda.is_available())
    except RuntimeError:
        return False
