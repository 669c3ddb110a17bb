"""Make vectors/channels.json: what every client must do with known bytes, and what it must refuse.

    python scripts/make_vectors.py

Inputs and random bytes are SHAKE-256 streams of a seed, so that a hundred thousand of them take one line: see
vectors/README.md for how a client reads the file.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from hybriddp.channels import RandomizedResponse, UnaryEncoding, WindowChannel
from hybriddp.channels.channel import FiniteChannel
from hybriddp.channels.shapes import least_worst
from hybriddp.channels.window import Window
from hybriddp.channels.window_channel import SHARE_BITS, whole_values
from hybriddp.grid import UNITS, Grid
from hybriddp.mean import MeanStudy

TARGET = Path(__file__).parent.parent / "vectors" / "channels.json"
STUDY_TARGET = Path(__file__).parent.parent / "vectors" / "study.json"
COUNT = 100_000
DRAWS = 400_000
NUMERIC = [
    ("0.01", (0.0, 1.0)),
    ("0.1", (0.0, 240.0)),
    ("0.5", (-60.0, 1440.0)),
    ("1", (0.0, 1.0)),
    ("2", (-1.0, 1.0)),
    ("4", (0.1, 0.7)),
    ("8", (1e6, 1e6 + 3.0)),
    ("15", (-1e-3, 1e-3)),
]
CATEGORIES = [("0.5", 2), ("1", 10), ("3", 256), ("2", 1000), ("1", 3000), ("12", 40)]


TABLE = (
    '{"type":"table","version":2,"epsilon":"1","values":[-83886160,83886160],'
    '"rows":[[2576980378,1717986918],[1717986918,2576980378]]}'
)


def stream(seed: str, count: int) -> np.ndarray:
    """The first bytes of the seed's SHAKE-256 stream."""
    return np.frombuffer(hashlib.shake_256(seed.encode()).digest(count), np.uint8)


def values(seed: str, bounds: tuple[float, float], count: int) -> np.ndarray:
    """Numbers of which a third lie outside of the bounds."""
    share = stream(f"{seed} inputs", 4 * count).view("<u4") / 2**32 * 1.5 - 0.25
    return np.asarray(bounds[0] + (bounds[1] - bounds[0]) * share)


def categories(seed: str, n: int, count: int) -> np.ndarray:
    """Categories."""
    return np.asarray(stream(f"{seed} inputs", 4 * count).view("<u4") % n)


def numeric_case(epsilon: str, bounds: tuple[float, float]) -> dict[str, Any]:
    """Codes of a window channel, and their distribution at the lower bound."""
    channel = WindowChannel(epsilon=epsilon)
    seed = f"hybriddp window {epsilon}"
    units = Grid.of(bounds).place(values(seed, bounds, COUNT)).units
    return {
        **case(channel, seed, channel.codes(units, stream(f"{seed} bytes", COUNT * channel.bytes_per_report))),
        "bounds": list(bounds),
        "distribution": distribution(channel, bounds),
    }


def probabilities(channel: WindowChannel, units: int) -> np.ndarray:
    """The exact probabilities of the codes."""
    p = np.zeros(channel.n_codes)
    inside = (units & 4095) / 4096
    for edge, chance in ((units >> 12, 1 - inside), ((units >> 12) + 1, inside)):
        row, share = divmod(int(channel.lookup[edge]), 1 << SHARE_BITS)
        for j, part in ((row, 1 - share / (1 << SHARE_BITS)), (row + 1, share / (1 << SHARE_BITS))):
            p += chance * part * np.array(channel.weights(min(j, channel.n_rows - 1))) / (1 << channel.bits)
    return p


def distribution(channel: WindowChannel, bounds: tuple[float, float]) -> dict[str, Any]:
    """The exact probabilities of the codes of one input, wrong ones, and chi-square's limit over codes not too rare."""
    value = bounds[0] + 0.3217 * (bounds[1] - bounds[0])
    units = int(Grid.of(bounds).place(value).units[0])
    p = probabilities(channel, units)
    wrong = p.min() + np.where(p > 1.5 * p.min(), 0.8, 0.0) * (p - p.min())  # the extra weight 20 % too small
    if float(channel.epsilon) > 5:  # where nearly all draws are inside of the window: an input off by 20 % of a row
        wrong = probabilities(channel, units + UNITS // (5 * channel.n_rows))
    common = p * DRAWS >= 10
    bins = np.count_nonzero(common) + (p[~common].sum() * DRAWS >= 10)  # the rare codes are one bin together
    return {
        "input": value,
        "probabilities": p.tolist(),
        "wrong": (wrong / wrong.sum()).tolist(),
        "critical": float(stats.chi2.isf(1e-7, bins - 1)),
    }


def case(channel: FiniteChannel, seed: str, codes: np.ndarray) -> dict[str, Any]:
    """What all cases have in common; codes are hashed as bytes, two each (little endian) where one is not enough."""
    raw = codes.astype(codes.dtype.newbyteorder("<")).tobytes()
    return {
        "text": channel.to_json(),
        "digest": channel.digest,
        "epsilon": channel.epsilon,
        "seed": seed,
        "count": len(codes),
        "bytes_per_report": channel.bytes_per_report,
        "sha256": hashlib.sha256(raw).hexdigest(),
        "first": codes[:20].tolist(),
    }


def category_cases(kind: type[RandomizedResponse] | type[UnaryEncoding], count: int) -> Iterator[dict[str, Any]]:
    """Codes of channels for categories."""
    for epsilon, n in CATEGORIES:
        channel = kind(epsilon=epsilon, n_categories=n)
        seed = f"hybriddp {channel.kind} {epsilon} {n}"
        inputs = categories(seed, n, count).astype(np.int64)
        raw = stream(f"{seed} bytes", count * channel.bytes_per_report)
        yield {**case(channel, seed, channel.codes(inputs, raw)), "categories": n}


def text(fields: Any, **changes: Any) -> str:
    """A text as channels write it, with some of its fields changed."""
    return json.dumps({**fields, **changes}, separators=(",", ":"))


def entry(why: str, written: str) -> dict[str, str]:
    """A text that is refused, and why."""
    return {"why": why, "text": written}


def tampered(fields: dict[str, Any], keys: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """What nobody may make of a channel's text, with ``keys`` being its weights."""
    kind = fields["type"]
    for key in keys:
        for step in (-1, 1):
            if not (kind == "unary" and (key, step) in (("one", -1), ("zero", 1))):  # those are more private
                yield entry(f"{kind}: {key} off by {step}", text(fields, **{key: fields[key] + step}))
        for bad, why in (
            (0, "zero"),
            (-fields[key], "negative"),
            (fields[key] + 0.5, "not whole"),
            (True, "a boolean"),
            (str(fields[key]), "a text"),
            (None, "null"),
            ([fields[key]], "a list"),
            (2**64 + fields[key], "beyond all weights"),
            (10**400, "beyond all floats"),
        ):
            yield entry(f"{kind}: {key} is {why}", text(fields, **{key: bad}))
        yield entry(
            f"{kind}: {key} as a float", text(fields).replace(f'"{key}":{fields[key]}', f'"{key}":{fields[key]}.0')
        )
    for key, value in fields.items():
        yield entry(f"{kind}: without {key}", text({name: fields[name] for name in fields if name != key}))
        doubled = text(fields)[:-1] + f',"{key}":{json.dumps(value, separators=(",", ":"))}}}'
        yield entry(f"{kind}: {key} twice", doubled)
    for epsilon in (
        "1.0",
        "01",
        "+1",
        "1e0",
        " 1",
        "",
        "0",
        "0.009",
        "20.000000000000000000001",
        "21",
        "NaN",
        "Infinity",
    ):
        yield entry(f"{kind}: epsilon written as {epsilon!r}", text(fields, epsilon=epsilon))
    for odd in (1, 1.0, True, None, ["1"]):
        yield entry(f"{kind}: epsilon is {odd!r}, not a text", text(fields, epsilon=odd))
    yield entry(f"{kind}: made for a smaller epsilon", text(fields, epsilon="0.99"))
    yield entry(f"{kind}: another version", text(fields, version=1))
    yield entry(f"{kind}: another type", text(fields, type="windows"))
    yield entry(f"{kind}: one more key", text(fields, note="hello"))
    yield entry(f"{kind}: prototype key", text(fields)[:-1] + ',"__proto__":{}}')
    yield entry(f"{kind}: spaces", json.dumps(fields))
    yield entry(f"{kind}: trailing line", text(fields) + "\n")
    yield entry(f"{kind}: another order", text(dict(reversed(fields.items()))))


def small_window() -> WindowChannel:
    """Make a window channel of 16 codes, which is private, and refused: a report of a number fills a byte."""
    channel, shape = WindowChannel.__new__(WindowChannel), least_worst(1.0, 16)
    channel.epsilon, channel.window = "1", Window.for_epsilon("1", n_codes=16, width=shape.width)
    channel.half = whole_values(shape, channel.window)
    return channel


def refused() -> Iterator[dict[str, str]]:
    """Texts that no client may accept, and why."""
    window = json.loads(WindowChannel(epsilon="1").to_json())
    response = json.loads(RandomizedResponse(epsilon="1", n_categories=10).to_json())
    unary = json.loads(UnaryEncoding(epsilon="1", n_categories=10).to_json())

    for fields, keys in ((window, ("low", "extra")), (response, ("low", "extra")), (unary, ("one", "zero"))):
        yield from tampered(fields, keys)

    step = window["window"]  # keeps the sum: n codes lose `step` each, k codes gain `n` each
    raised = {"low": window["low"] - step, "extra": window["extra"] + window["codes"]}
    yield entry("window: odds raised with the sum kept", text(window, **raised))
    yield entry(
        "response: odds raised with the sum kept", text(response, low=response["low"] - 1, extra=response["extra"] + 10)
    )
    yield entry("unary: true weight raised", text(unary, one=unary["one"] + 1000))
    yield entry("window: 10^9 codes", text(window, codes=10**9))
    yield entry("window: 16 codes", small_window().to_json())
    yield entry("window: odd number of codes", text(window, codes=255))
    yield entry("window: as wide as the codes", text(window, window=256))
    yield entry("window: no window", text(window, window=0))
    for bits in (0, 31, 33, 53, 64, 10**9, "32", 32.5, True):
        yield entry(f"window: bits are {bits!r}", text(window, bits=bits))
    half = window["half"]
    for values, why in (
        (half[:-1], "one value missing"),
        ([*half, half[-1]], "one value too many"),
        ([v // 2 for v in half], "values that do not cover the range"),
        ([0] * len(half), "values that are all zero"),
        ([-1, *half[1:]], "a negative value"),
        ([*half[:-1], 2**41], "a huge value"),
        ([*half[:-1], half[-1] + 0.5], "a value that is not whole"),
        ([*half[:-1], True], "a boolean value"),
        ([*half[:-1], str(half[-1])], "a text value"),
        ([*half[:-1], [half[-1]]], "a nested value"),
        ("x" * len(half), "a text for values"),
        ({"length": len(half)}, "an object for values"),
        (None, "no values"),
    ):
        yield entry(f"window: {why}", text(window, half=values))
    yield entry("unary: 10^9 categories", text(unary, categories=10**9))
    yield entry("response: one category", text(response, categories=1))
    for written, why in (
        ("", "nothing"),
        ("null", "null"),
        ("[]", "a list"),
        ('"window"', "a text"),
        ("7", "a number"),
        ("{}", "an empty object"),
        ('{"type":"window"', "cut off"),
        ("[" * 20_000 + "]" * 20_000, "nested 20,000 deep"),
        ('{"type":"toString"}', "a name that every object has"),
        (TABLE, "a table of two codes, which no study uses"),
    ):
        yield entry(why, written)


def study_case() -> dict[str, str]:
    """A study's text, the curator's with public knowledge of the spread, and the digest of both."""
    name, bounds = "session minutes, ½ hours too", (0.0, 240.0)
    study = MeanStudy(name, bounds=bounds, epsilon=1)
    told = MeanStudy(name, bounds=bounds, epsilon=1, sd_at_most=62.5)
    return {"text": study.to_json(), "digest": study.digest, "curator": told.to_json()}


def main() -> None:
    """Write the file."""
    vectors = {
        "window": [numeric_case(epsilon, bounds) for epsilon, bounds in NUMERIC],
        "response": list(category_cases(RandomizedResponse, COUNT)),
        "unary": list(category_cases(UnaryEncoding, 200)),
        "refused": list(refused()),
    }
    TARGET.write_text(json.dumps(vectors, indent=1) + "\n", encoding="utf-8")
    STUDY_TARGET.write_text(json.dumps(study_case(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(vectors['refused'])} refused texts, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
