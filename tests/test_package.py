import subprocess
import sys

import hybriddp
from hybriddp import channels, theory

HEAVY = ["scipy.stats", "scipy.special", "scipy.optimize", "matplotlib", "opendp", "pandas", "polars", "cryptography"]


def test_the_public_names_are_these() -> None:
    assert sorted(hybriddp.__all__) == [
        "DistributionStudy",
        "Frequencies",
        "FrequencyStudy",
        "HeavyHitterStudy",
        "HybridKMeans",
        "Ledger",
        "MeanStudy",
        "Privacy",
        "__version__",
        "amplify",
        "channels",
        "errors",
        "heavy_hitters",
        "plan",
        "simulate",
        "solve",
        "summarize",
        "theory",
    ]


def test_the_public_names_of_channels_are_these() -> None:
    assert sorted(channels.__all__, key=str.casefold) == [
        "Channel",
        "channel_from_json",
        "ChoiceResponse",
        "LocalHashing",
        "MaskedResponse",
        "RandomizedResponse",
        "UnaryEncoding",
        "WindowChannel",
    ]


def test_the_public_names_of_theory_are_these() -> None:
    assert sorted(theory.__all__, key=str.casefold) == [
        "Beta",
        "critical_trusted_fraction",
        "ErrorParts",
        "gaussian_delta",
        "gaussian_epsilon",
        "gaussian_noise",
        "gaussian_sigma",
        "laplace_critical_trusted_fraction",
        "laplace_critical_users",
        "laplace_gain_at_crossover",
        "laplace_gain_supremum",
        "laplace_noise",
        "laplace_privacy_weight_wins_below",
        "Noise",
        "Population",
        "Setting",
        "trusted_only_wins_between",
        "UC_SALARIES",
        "UserRange",
    ]


def test_import_loads_nothing_heavy() -> None:
    script = f"import sys, hybriddp; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
