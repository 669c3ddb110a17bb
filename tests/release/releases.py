"""One value per kind of release: a study, two trusted groups that differ, and what is published."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from hybriddp.distribution import DistributionStudy
from hybriddp.items import HeavyHitterStudy
from hybriddp.kmeans import HybridKMeans, KMeansStudy
from hybriddp.kmeans.protocol.round import RoundTally
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.mean import MeanStudy
from hybriddp.shares import FrequencyStudy

Release = Callable[..., object]
"""From the trusted group (0 or 1) and options, such as a ledger, to what is published."""

N, N_LOCAL = 3000, 5000
RNG = np.random.default_rng(0)
VALUES = (np.full(N, -5.0), RNG.uniform(0, 900, N))  # all below the bounds; within, at and above them
ANSWERS = (["a"] * N, RNG.choice(list("abcxy"), N).tolist())
ITEM_NAMES = ["fig", *(f"{a}{b}" for a in "abcde" for b in "klmn")]
WORDS = (["a"] * N, [ITEM_NAMES[i % len(ITEM_NAMES)] for i in range(N)])
YES = (["a"] * N, ["b"] * N)
POINTS = {d: (np.full((N, d), 7.0), RNG.random((N, d))) for d in (1, 2, 6)}
LOCAL = RNG.uniform(0, 100, N_LOCAL)

MEANS = {
    "mean": MeanStudy("m", bounds=(0, 100), epsilon=1),
    "mean, Gaussian": MeanStudy("m", bounds=(0, 100), epsilon=1, delta=1e-6),
}
MEAN = MEANS["mean"]
QUANTILES = DistributionStudy("d", bounds=(0, 100), epsilon=1)
SHARES = FrequencyStudy("f", categories=["a", "b", "c"], epsilon="0.01", other=True)
BINARY = FrequencyStudy("f", categories=["a", "b"], epsilon="0.01")
ITEMS = HeavyHitterStudy("h", epsilon=1, delta=1e-6, alphabet="letters")
DICTIONARY = HeavyHitterStudy("h", epsilon="0.01", domain=["fig", "kiwi", "plum"])
KMEANS = {f"K-means in {d}": KMeansStudy("k", n_clusters=3, bounds=[(0, 1)] * d, epsilon=4) for d in (1, 2, 6)}

REPORTS = {name: study.randomize(LOCAL, random_state=1) for name, study in MEANS.items()}
QUANTILE_REPORTS = QUANTILES.randomize(LOCAL, random_state=1)
SHARE_REPORTS = SHARES.randomize(RNG.choice(list("abcz"), N_LOCAL).tolist(), random_state=1)
BINARY_REPORTS = BINARY.randomize(RNG.choice(list("ab"), N_LOCAL).tolist(), random_state=1)
DICTIONARY_REPORTS = DICTIONARY.dictionary.randomize(["fig"] * 4000 + ["kiwi"] * 2000, random_state=1)
DISCOVERY_REPORTS = ITEMS.discovery.randomize(["fig"] * 4000 + ["kiwi"] * 2000, random_state=1)


OF_PARTS = {
    "mean": MEAN.part("c", "p").randomize(LOCAL, random_state=2),
    "quantiles": QUANTILES.part("c", "p").randomize(LOCAL, random_state=2),
    "shares": SHARES.part("c", "p").randomize(RNG.choice(list("abcz"), N_LOCAL).tolist(), random_state=2),
}


def parts(study: Any, group: Any, reports: Any, **options: Any) -> Mapping[Any, object]:
    """Two parts of a study, one of which has no local users."""
    pairs = {
        "p": (study.part("c", "p").summarize_trusted(group), study.part("c", "p").summarize_local(reports)),
        "q": (study.part("c", "q").summarize_trusted(group), None),
    }
    found: Mapping[Any, object] = study.estimate_parts("c", pairs, single_group=True, **options)
    return found


class KMeansRounds:
    """K-means by rounds. The answers to a round depend on its text alone, so they are the same for both groups."""

    def __init__(self, study: KMeansStudy) -> None:
        self.study, self.d = study, study.box.n_dimensions
        self.local = np.random.default_rng(5).random((30_000, self.d))
        self.answers: dict[str, RoundTally] = {}

    def __call__(self, group: int, **options: Any) -> object:
        points = POINTS[self.d][group]
        server = HybridKMeansServer(self.study, n_local=30_000, trusted=points, **options)
        server.start()
        texts, asked = [server.to_json()], 0
        while (current := server.round) is not None:
            count = int(current.user_fraction * 30_000)
            if (text := current.to_json()) not in self.answers:
                reports = current.answer(self.local[asked : asked + count])
                self.answers[text] = current.count(reports)
            asked += count
            server.absorb(self.answers[text])
            texts.append(server.to_json())
        return texts, HybridKMeans.from_server(server)


RELEASES: dict[str, Release] = {
    **{
        name: lambda group, name=name, **options: MEANS[name].estimate(
            trusted=VALUES[group], local=REPORTS[name], **options
        )
        for name in MEANS
    },
    "mean of the trusted group": lambda group, **options: MEAN.estimate(
        trusted=VALUES[group], local=None, single_group=True, **options
    ),
    **{
        f"mean, weight {weight}": lambda group, weight=weight, **options: MEAN.estimate(
            trusted=VALUES[group],
            local=REPORTS["mean"],
            weight=weight,
            sd=20.0 if weight == "known-variance" else None,
            **options,
        )
        for weight in ("known-variance", "privacy", "naive", "trusted-only")
    },
    "parts of a mean": lambda group, **options: parts(MEAN, VALUES[group], OF_PARTS["mean"], **options),
    "quantiles": lambda group, **options: QUANTILES.estimate(trusted=VALUES[group], local=QUANTILE_REPORTS, **options),
    "quantiles of the trusted group": lambda group, **options: QUANTILES.estimate(
        trusted=VALUES[group], local=None, single_group=True, **options
    ),
    "parts of quantiles": lambda group, **options: parts(QUANTILES, VALUES[group], OF_PARTS["quantiles"], **options),
    "shares": lambda group, **options: SHARES.estimate(trusted=ANSWERS[group], local=SHARE_REPORTS, **options),
    "shares of yes and no": lambda group, **options: BINARY.estimate(
        trusted=YES[group], local=BINARY_REPORTS, **options
    ),
    "shares of the trusted group": lambda group, **options: SHARES.estimate(
        trusted=ANSWERS[group], local=None, single_group=True, **options
    ),
    "parts of shares": lambda group, **options: parts(SHARES, ANSWERS[group], OF_PARTS["shares"], **options),
    "shares of a dictionary": lambda group, **options: DICTIONARY.estimate(
        trusted=WORDS[group], local=DICTIONARY_REPORTS, **options
    ),
    "list of items": lambda group, **options: ITEMS.release(WORDS[group], **options),
    "shares of a list": lambda group, **options: ITEMS.estimate(
        trusted=ITEMS.release(WORDS[group], **options), local=None, single_group=True
    ),
    "items found by reports": lambda group, **options: ITEMS.estimate(
        trusted=WORDS[group], local=DISCOVERY_REPORTS, **options
    ),
    **{name: KMeansRounds(study) for name, study in KMEANS.items()},
}

SLOW = ("items found by reports",)
EVERY_KIND = [pytest.param(kind, marks=pytest.mark.slow) if kind in SLOW else kind for kind in RELEASES]
