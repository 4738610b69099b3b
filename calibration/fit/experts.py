"""Solve the residuals of a profile's file again, without the measurements.

`python -m calibration.fit.experts FILE …` reads profiles (`.json` or `.json.gz`), solves their
residuals as a fit does (`calibration.fit.student_noise`) and writes them back.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import msgspec
from msgspec.structs import replace

from calibration.fit.gpu import written
from calibration.fit.student_noise import solved
from simulator.timing.profile import Profile


def main() -> None:
    """Solve the residuals of each file again."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, help="profiles, .json or .json.gz")
    for path in parser.parse_args().files:
        packed = path.suffix == ".gz"
        text = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
        known = msgspec.json.decode(text, type=Profile)
        residuals = {name: solved(residual) for name, residual in known.residuals.items()}
        text = written(replace(known, residuals=residuals))
        path.write_bytes(gzip.compress(text, mtime=0) if packed else text)


if __name__ == "__main__":
    main()
