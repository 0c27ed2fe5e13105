"""Puts machine code into a wheel, so that no machine of one kind compiles anything.

``scripts/platform-wheel WHEEL OUT`` takes the wheel that ``scripts/release`` has built, compiles
every kernel for the kinds of processors named (by default x86-64-v4 and x86-64-v3, which is nearly
every x86-64 server since 2015), and writes a wheel for this platform and this version of Python
beside it. The code is that of the installed numba: with another one, or on another processor, it
is left alone, and kernels are compiled when first needed, as with the plain wheel.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

FOLDER = "whitecrow/_machine_code"
"""Where :mod:`whitecrow._code_store` looks for what a wheel carries."""
KINDS = ("x86-64-v4", "x86-64-v3")
PARTS = "from whitecrow.curator.warming import PARTS; print(*PARTS)"


def tag() -> str:
    """For whom: this Python, this system."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise SystemExit("machine code is put into wheels for Linux on x86-64 only")
    python = "cp{}{}".format(*sys.version_info[:2])
    return f"{python}-{python}-linux_x86_64"


def compiled(package: Path, kind: str, out: Path) -> None:
    """Fill a folder with the code of every kernel, for one kind of processor."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    env |= {
        "PYTHONPATH": str(package),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CPU_NAME": kind,
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(out),
    }

    def run(*words: str) -> str:
        command = [sys.executable, *words]
        return subprocess.run(
            command, env=env, cwd=package, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    for part in run("-c", PARTS).split():
        run("-m", "whitecrow.curator.warming", part)


def filled(wheel: Path, kinds: tuple[str, ...]) -> dict[str, bytes]:
    """The code of every kernel of a wheel, by the path it has inside."""
    with tempfile.TemporaryDirectory() as folder:
        package, out = Path(folder) / "package", Path(folder) / "code"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(package)
        for kind in kinds:
            compiled(package, kind, out)
        return {f"{FOLDER}/{file.name}": file.read_bytes() for file in sorted(out.iterdir())}


def joined(wheel: Path, code: dict[str, bytes], for_whom: str) -> tuple[str, bytes]:
    """Name and content of the wheel with the code in it."""
    with zipfile.ZipFile(wheel) as archive:
        files = {one.filename: archive.read(one) for one in archive.infolist() if not one.is_dir()}
        date = min(one.date_time for one in archive.infolist())
    record = next(name for name in files if name.endswith(".dist-info/RECORD"))
    about = record.removesuffix("RECORD") + "WHEEL"
    files[about] = (
        files[about]
        .replace(b"Root-Is-Purelib: true", b"Root-Is-Purelib: false")
        .replace(b"Tag: py3-none-any", f"Tag: {for_whom}".encode())
    )
    files |= code
    del files[record]
    files[record] = _recorded(files, record)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            one = zipfile.ZipInfo(name, date)
            one.compress_type = zipfile.ZIP_DEFLATED
            one.external_attr = 0o644 << 16
            archive.writestr(one, content)
    return wheel.name.replace("py3-none-any", for_whom), packed.getvalue()


def _recorded(files: dict[str, bytes], record: str) -> bytes:
    """What a wheel says it holds."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.writerow([name, f"sha256={digest}", len(content)])
    rows.writerow([record, "", ""])
    return text.getvalue().encode()


def main() -> None:
    """Read a wheel, write one."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("wheel", type=Path, help="the wheel for every platform")
    given.add_argument("out", type=Path, help="where the wheel for this one goes")
    given.add_argument("--kind", action="append", choices=KINDS, help="for these processors only")
    said = given.parse_args()
    code = filled(said.wheel, tuple(said.kind or KINDS))
    name, content = joined(said.wheel, code, tag())
    said.out.mkdir(parents=True, exist_ok=True)
    (said.out / name).write_bytes(content)
    sys.stdout.write(f"{name}: {len(content) / 1e6:.1f} MB, {len(code)} files of machine code\n")


if __name__ == "__main__":
    main()
