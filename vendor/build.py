"""Builds the viewer's vendored JavaScript, and compares it with what is checked in.

Needs Node and npm; users and the rest of the build do not. `--write` takes the new build.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TARGET = HERE.parent / "src" / "steadyrl" / "viewer" / "vendor"
SHIPPED = ("uplot", "preact", "htm")
BUILD = (
    "node_modules/.bin/esbuild vendor.mjs --bundle --minify --format=iife --global-name=vendor "
    "--legal-comments=none --target=es2020 --outfile=vendor.js"
)


def build(folder: Path) -> dict[str, bytes]:
    """Install what package-lock.json names, checked against its checksums, and bundle it."""
    for name in ("package.json", "package-lock.json", "vendor.mjs"):
        shutil.copy(HERE / name, folder / name)
    install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    subprocess.run(install, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(BUILD.split(), cwd=folder, check=True, stdout=subprocess.DEVNULL)
    modules = folder / "node_modules"
    files = {
        "vendor.js": (folder / "vendor.js").read_bytes(),
        "vendor.css": (modules / "uplot" / "dist" / "uPlot.min.css").read_bytes(),
    }
    for name in SHIPPED:
        files[f"LICENSE-{name}.txt"] = (modules / name / "LICENSE").read_bytes()
    locked = json.loads((HERE / "package-lock.json").read_text("utf-8"))["packages"]
    about = {
        "packages": {
            name: {key: locked[f"node_modules/{name}"][key] for key in ("version", "integrity")}
            for name in (*SHIPPED, "esbuild")
        },
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    files["VENDOR.json"] = (json.dumps(about, indent=2) + "\n").encode()
    return files


def main(arguments: list[str]) -> int:
    """Compare, or write."""
    with tempfile.TemporaryDirectory() as folder:
        files = build(Path(folder))
    if "--write" in arguments:
        TARGET.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (TARGET / name).write_bytes(content)
    kept = {file.name: file.read_bytes() for file in TARGET.iterdir() if file.is_file()}
    apart = sorted(name for name in files.keys() | kept.keys() if files.get(name) != kept.get(name))
    if apart:
        way_out = "'python vendor/build.py --write' takes the new build"
        sys.stderr.write(f"not as it is built: {', '.join(apart)}; {way_out}.\n")
        return 1
    sys.stdout.write(f"{len(files)} files in {TARGET.name} are as they are built\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
