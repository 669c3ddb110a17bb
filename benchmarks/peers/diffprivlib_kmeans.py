"""Run diffprivlib's K-means on points from a file. It needs an older scikit-learn, and so an environment of its own.

    build/peers/bin/python benchmarks/peers/diffprivlib_kmeans.py INPUT.npz > OUTPUT.json

The file holds ``points``, ``lower`` and ``upper`` ends of the box, ``n_clusters``, a ``seed`` and the ``epsilons`` to
run with. Printed: its version, and the centers and the processor time of each run.
"""

import json
import sys
import time

import diffprivlib
import numpy as np
from diffprivlib.models import KMeans


def main() -> None:
    """Fit once for each epsilon."""
    with np.load(sys.argv[1]) as given:
        points, lower, upper = given["points"], given["lower"], given["upper"]
        n_clusters, seed, epsilons = int(given["n_clusters"]), int(given["seed"]), given["epsilons"].tolist()
    KMeans(n_clusters, epsilon=1.0, bounds=(lower, upper), random_state=0).fit(points[:1000])  # pays for what is lazy
    runs = []
    for number, epsilon in enumerate(epsilons):
        model = KMeans(n_clusters, epsilon=epsilon, bounds=(lower, upper), random_state=len(epsilons) * seed + number)
        began = time.process_time()
        model.fit(points)
        runs.append({"centers": model.cluster_centers_.tolist(), "cpu_seconds": time.process_time() - began})
    json.dump({"version": diffprivlib.__version__, "runs": runs}, sys.stdout)


if __name__ == "__main__":
    main()
