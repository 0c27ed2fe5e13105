"""Builds wheel and source archive twice, compares them, and writes what belongs to a release.

``scripts/release OUT [--key FILE]`` takes the newest commit, builds it in two folders of different
names with different hash seeds, and fails unless both are the same, bit for bit. OUT then holds the
wheel, the source archive, ``sbom.cdx.json`` (CycloneDX: what the service needs, with versions and
licences as installed), ``SHA256SUMS``, and with a key (64 hexadecimal digits) its signature.
``scripts/release --verify OUT --public HEX`` checks sums and signature.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import uuid
from datetime import UTC, datetime
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("server", "postgres")
"""What the service is installed with."""
SUMS, SIGNATURE, SBOM = "SHA256SUMS", "SHA256SUMS.sig", "sbom.cdx.json"


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True).stdout


def moment() -> int:
    """When: SOURCE_DATE_EPOCH, or the time of the newest commit."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct"))


def built(folder: Path, seed: str, epoch: int) -> dict[str, bytes]:
    """Build the newest commit in a folder; return the files."""
    source, out = folder / "source", folder / "out"
    with tarfile.open(fileobj=BytesIO(_git("archive", "--format=tar", "HEAD"))) as archive:
        archive.extractall(source, filter="data")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(out)],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "PYTHONHASHSEED": seed},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def twice(epoch: int) -> dict[str, bytes]:
    """Build in two places; refuse what is not the same."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory(prefix="else-") as other:
        first = built(Path(one), "1", epoch)
        second = built(Path(other) / "deeper", "2", epoch)
    different = [name for name in {*first, *second} if first.get(name) != second.get(name)]
    if different or not first:
        raise SystemExit(f"not reproducible: {', '.join(sorted(different)) or 'nothing was built'}")
    return first


def declared() -> tuple[str, list[str]]:
    """The version, and what the service is declared to need."""
    said = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = said["optional-dependencies"]
    return said["version"], [*said["dependencies"], *(one for e in EXTRAS for one in extras[e])]


def needed(lines: list[str]) -> dict[str, metadata.Distribution]:
    """The distributions that requirements name, and all those need, as installed here."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [(line, "") for line in lines]
    seen = set()
    while waiting:
        line, extra = waiting.pop()
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        try:
            one = metadata.distribution(requirement.name)
        except metadata.PackageNotFoundError:
            continue  # for another system
        found[re.sub(r"[-_.]+", "-", requirement.name).lower()] = one
        for each in {"", *requirement.extras}:
            if (requirement.name, each) not in seen:
                seen.add((requirement.name, each))
                waiting += [(more, each) for more in one.requires or ()]
    return found


def licence(one: metadata.Distribution) -> dict[str, Any]:
    """The licence of a distribution, as it says itself."""
    said = one.metadata
    if said.get("License-Expression"):
        return {"expression": said["License-Expression"]}
    named = [
        line.rpartition(" :: ")[2]
        for line in said.get_all("Classifier") or ()
        if line.startswith("License ::")
    ]
    short = (said.get("License") or "").strip().partition("\n")[0][:80]
    return {"license": {"name": "; ".join(named) or short or "see its files"}}


def sbom(epoch: int) -> dict[str, Any]:
    """What the service is made of: CycloneDX 1.5."""
    version, lines = declared()
    found = needed(lines)
    parts = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{key}@{one.version}",
            "name": key,
            "version": one.version,
            "purl": f"pkg:pypi/{key}@{one.version}",
            "licenses": [licence(one)],
        }
        for key, one in sorted(found.items())
    ]
    whole = f"pkg:pypi/whitecrow@{version}"
    said = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).isoformat(),
            "component": {
                "type": "application",
                "bom-ref": whole,
                "name": "whitecrow",
                "version": version,
                "purl": whole,
                "licenses": [{"expression": "Apache-2.0"}],
            },
        },
        "components": parts,
        "dependencies": [{"ref": whole, "dependsOn": [str(one["bom-ref"]) for one in parts]}],
    }
    content = json.dumps(said, sort_keys=True)
    return {**said, "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}"}


def sums(files: dict[str, bytes]) -> str:
    """Checksums as ``sha256sum`` writes them."""
    rows = (f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    return "".join(rows)


def signature(text: bytes, key: Path) -> tuple[str, str]:
    """Sign; return signature and public key, hexadecimal."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(key.read_text().strip()))
    return private.sign(text).hex(), private.public_key().public_bytes_raw().hex()


def verified(folder: Path, public: str) -> str:
    """Say what is wrong with a release, or nothing."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    text = (folder / SUMS).read_bytes()
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex((folder / SIGNATURE).read_text().strip()), text)
    except (InvalidSignature, ValueError, OSError):
        return "the signature is not that of this key"
    for line in text.decode().splitlines():
        expected, _, name = line.partition("  ")
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != expected:
            return f"{name} is not what was signed"
    return ""


def main() -> None:
    """Build, or check."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("out", type=Path, help="the folder of the release")
    given.add_argument("--key", type=Path, help="sign with this Ed25519 key")
    given.add_argument("--verify", action="store_true", help="check a release instead")
    given.add_argument("--public", default="", help="whose signature it must have")
    said = given.parse_args()
    if said.verify:
        wrong = verified(said.out, said.public)
        raise SystemExit(wrong or 0)
    epoch = moment()
    files = twice(epoch)
    files[SBOM] = (json.dumps(sbom(epoch), indent=1, sort_keys=True) + "\n").encode()
    text = sums(files).encode()
    said.out.mkdir(parents=True, exist_ok=True)
    for name, content in {**files, SUMS: text}.items():
        (said.out / name).write_bytes(content)
    sys.stdout.write(text.decode())
    if said.key is not None:
        signed, public = signature(text, said.key)
        (said.out / SIGNATURE).write_text(f"{signed}\n")
        sys.stdout.write(f"signed by {public}\n")


if __name__ == "__main__":
    main()
