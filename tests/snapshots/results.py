"""One seeded result of every kind, as plain values that fit into a small file."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hybriddp.distribution import DistributionStudy
from hybriddp.items import HeavyHitterStudy
from hybriddp.kmeans import HybridKMeans
from hybriddp.mean import MeanStudy
from hybriddp.shares import FrequencyStudy

FOLDER = Path(__file__).parent / "stored"
_LONG = 24
"""Numbers of a list that are stored one by one."""

RNG = np.random.default_rng(0)
MINUTES = RNG.gamma(2.0, 20.0, 12_000)
BROWSERS = RNG.choice(["Chrome", "Firefox", "Safari", "Lynx"], 12_000, p=[0.6, 0.2, 0.15, 0.05]).tolist()
YES = RNG.choice(["yes", "no"], 6000, p=[0.3, 0.7]).tolist()
ITEMS = RNG.choice(["fig", "pear", "plum", "medlar", "quince"], 9000, p=[0.5, 0.3, 0.15, 0.04, 0.01]).tolist()
POINTS = {d: RNG.choice([[0.2] * d, [0.7] * d], 6000) + 0.05 * RNG.standard_normal((6000, d)) for d in (2, 5)}

MEAN = MeanStudy("minutes", bounds=(0, 240), epsilon=1)
GAUSSIAN = MeanStudy("minutes", bounds=(0, 240), epsilon=1, delta=1e-6, sd_at_most=60)
SHARES = FrequencyStudy("browser", categories=["Chrome", "Firefox", "Safari"], epsilon=1, other=True)
BINARY = FrequencyStudy("opened", categories=["yes", "no"], epsilon=1)
QUANTILES = DistributionStudy("minutes", bounds=(0, 240), epsilon=1, scale="log")
LIST = HeavyHitterStudy("fruit", epsilon=1, delta=1e-6)
DICTIONARY = HeavyHitterStudy("fruit", epsilon=1, domain=["fig", "pear", "plum"])
DISCOVERY = HeavyHitterStudy("fruit", epsilon=4, delta=1e-6, alphabet="letters")


def _answer(study: Any, values: Any, n_trusted: int, **options: Any) -> Any:
    trusted, local = values[:n_trusted] if n_trusted else None, values[n_trusted:]
    reports = study.randomize(local, random_state=1) if len(local) else None
    single = not n_trusted or not len(local)
    return study.estimate(trusted=trusted, local=reports, single_group=single, random_state=2, **options)


def _parts(study: Any, values: Any) -> Mapping[Any, Any]:
    pairs, size = {}, len(values) // 3
    for at, key in enumerate(("DE", "FR", "IT")):
        part, own = study.part("country", key), values[at * size : (at + 1) * size]
        local = None if key == "IT" else part.summarize_local(part.randomize(own[500:], random_state=at))
        trusted = None if key == "FR" else part.summarize_trusted(own[:500])
        pairs[key] = trusted, local
    found: Mapping[Any, Any] = study.estimate_parts("country", pairs, single_group=True, random_state=3)
    return found


def _list() -> Any:
    released = LIST.release(ITEMS[:3000], random_state=1)
    reports = LIST.question(released).randomize(ITEMS[3000:], random_state=2)
    return LIST.estimate(trusted=released, local=reports, random_state=3)


def _dictionary() -> Any:
    reports = DICTIONARY.dictionary.randomize(ITEMS[1000:], random_state=1)
    return DICTIONARY.estimate(trusted=ITEMS[:1000], local=reports, random_state=2)


def _discovery() -> Any:
    reports = DISCOVERY.discovery.randomize(ITEMS[100:], random_state=1)
    return DISCOVERY.estimate(trusted=ITEMS[:100], local=reports, random_state=2)


def _clusters(d: int) -> Any:
    points = POINTS[d]
    model = HybridKMeans(2, epsilon=2, bounds=[(0, 1)] * d, random_state=1, name="visits")
    return model.fit(trusted_points=points[:2000], local_points=points[2000:]).result_


RESULTS: dict[str, Callable[[], Any]] = {
    "mean": lambda: _answer(MEAN, MINUTES, 600),
    "mean, Gaussian": lambda: _answer(GAUSSIAN, MINUTES, 600),
    "mean, privacy weight": lambda: _answer(MEAN, MINUTES, 600, weight="privacy"),
    "mean, known variance": lambda: _answer(MEAN, MINUTES, 600, weight="known-variance", sd=28.0),
    "mean, groups differ": lambda: _answer(MEAN, np.sort(MINUTES)[::-1].copy(), 3000),
    "mean, trusted only": lambda: _answer(MEAN, MINUTES, 12_000),
    "mean, local only": lambda: _answer(MEAN, MINUTES, 0),
    "mean, parts": lambda: _parts(MEAN, MINUTES),
    "shares": lambda: _answer(SHARES, BROWSERS, 600),
    "shares of yes and no": lambda: _answer(BINARY, YES, 600),
    "shares, groups differ": lambda: _answer(SHARES, sorted(BROWSERS), 3000),
    "shares, local only": lambda: _answer(SHARES, BROWSERS, 0),
    "shares, parts": lambda: _parts(SHARES, BROWSERS),
    "quantiles": lambda: _answer(QUANTILES, MINUTES, 600),
    "quantiles, groups differ": lambda: _answer(QUANTILES, np.sort(MINUTES)[::-1].copy(), 3000),
    "quantiles, trusted only": lambda: _answer(QUANTILES, MINUTES, 12_000),
    "quantiles, parts": lambda: _parts(QUANTILES, MINUTES),
    "items, list": _list,
    "items, dictionary": _dictionary,
    "items, discovery": _discovery,
    "K-means in 2 dimensions": lambda: _clusters(2),
    "K-means in 5 dimensions": lambda: _clusters(5),
}


def shown(result: Any) -> Any:
    """Everything that a result says, as plain values: short lists whole, long ones as sums."""
    if isinstance(result, Mapping):
        return {str(key): shown(one) for key, one in result.items()}
    plain = json.loads(result.to_json(full=True))
    return {"json": _short(plain), "explain": result.explain().split("\n"), "str": str(result).split("\n")}


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, list):
        if len(value) > _LONG and all(isinstance(one, float | int) for one in value):
            places = range(1, len(value) + 1)
            weighted = sum(place * one for place, one in zip(places, value, strict=True))
            return {"n": len(value), "sum": _short(float(sum(value))), "weighted": _short(float(weighted))}
        return [_short(one) for one in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


def stored(name: str) -> Path:
    """Name the file of a result."""
    return FOLDER / f"{name.lower().replace(',', '').replace(' ', '-')}.json"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, make in RESULTS.items():
        stored(name).write_text(json.dumps(shown(make()), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
