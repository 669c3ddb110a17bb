"""Run diffprivlib's quantiles on values from a file. It needs an older scikit-learn, and so an environment of its own.

    build/peers/bin/python benchmarks/peers/diffprivlib_quantiles.py INPUT.npz > OUTPUT.json

The file holds ``values``, a row per trial, the quantiles ``at`` and ``epsilon``, which all quantiles of a row share.
Printed: its version, and the answers of each row.
"""

import json
import sys

import diffprivlib
import numpy as np
from diffprivlib.tools import quantile


def main() -> None:
    """Answer each row."""
    with np.load(sys.argv[1]) as given:
        values, at, epsilon = given["values"], given["at"].tolist(), float(given["epsilon"])
    answers = [quantile(row, at, epsilon=epsilon, bounds=(0.0, 1.0), random_state=i) for i, row in enumerate(values)]
    json.dump({"version": diffprivlib.__version__, "answers": [row.tolist() for row in answers]}, sys.stdout)


if __name__ == "__main__":
    main()
