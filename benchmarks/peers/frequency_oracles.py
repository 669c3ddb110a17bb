"""Run the frequency oracles of pure-LDP and multi-freq-ldpy on items from a file, in an environment of their own.

    build/frequency-peers/bin/python benchmarks/peers/frequency_oracles.py INPUT.npz > OUTPUT.json

The file holds ``items`` (numbers of categories), ``n_categories``, ``epsilon`` and a ``seed``. Printed, for every
oracle: estimated shares, and the processor time that devices and curator took.
"""

import json
import random
import sys
import time
from typing import Any

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

Result = tuple[np.ndarray, float, float]
"""Shares, and the seconds that drawing and counting took."""


def pure_ldp(kind: str, items: list[int], k: int, epsilon: float) -> Result:
    """Shares as they come, which may be negative."""
    client, server = {
        "randomized response": lambda: (DEClient(epsilon, k), DEServer(epsilon, k)),
        "unary encoding": lambda: (UEClient(epsilon, k, use_oue=True), UEServer(epsilon, k, use_oue=True)),
        "local hashing": lambda: (LHClient(epsilon, k, use_olh=True), LHServer(epsilon, k, use_olh=True)),
    }[kind]()
    began = time.process_time()
    reports = [client.privatise(item + 1) for item in items]
    drawn = time.process_time()
    server.aggregate_all(reports)
    shares = np.asarray(server.estimate_all(range(1, k + 1), suppress_warnings=True)) / len(items)
    return shares, drawn - began, time.process_time() - drawn


def multi_freq(kind: str, items: list[int], k: int, epsilon: float) -> Result:
    """Shares without negative ones, scaled to a sum of 1, as this library gives them."""
    oracles: dict[str, tuple[Any, Any]] = {
        "randomized response": (GRR_Client, lambda r: GRR_Aggregator_MI(r, k, epsilon)),
        "subset selection": (SS_Client, lambda r: SS_Aggregator_MI(r, k, epsilon)),
        "unary encoding": (UE_Client, lambda r: UE_Aggregator_MI(r, epsilon)),
        "local hashing": (LH_Client, lambda r: LH_Aggregator_MI(r, k, epsilon)),
    }
    client, aggregate = oracles[kind]
    client(items[0], k, epsilon)  # compiled here
    began = time.process_time()
    reports = [client(item, k, epsilon) for item in items]
    drawn = time.process_time()
    shares = aggregate(reports)
    return np.asarray(shares), drawn - began, time.process_time() - drawn


ORACLES = {
    "pure-LDP": (pure_ldp, ("randomized response", "unary encoding", "local hashing")),
    "multi-freq-ldpy": (
        multi_freq,
        ("randomized response", "subset selection", "unary encoding", "local hashing"),
    ),
}


def main() -> None:
    """Run every oracle once."""
    with np.load(sys.argv[1]) as given:
        items, k = given["items"].tolist(), int(given["n_categories"])
        epsilon, seed = float(given["epsilon"]), int(given["seed"])
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  (what these libraries draw from)
    runs = []
    for library, (run, kinds) in ORACLES.items():
        for kind in kinds:
            shares, drawing, counting = run(kind, items, k, epsilon)
            runs.append(
                {
                    "library": library,
                    "oracle": kind,
                    "shares": shares.tolist(),
                    "drawing_seconds": drawing,
                    "counting_seconds": counting,
                }
            )
    json.dump(runs, sys.stdout)


if __name__ == "__main__":
    main()
