"""Texts of distribution studies and their channels for vectors/distribution.json: odd ones, and wrong ones."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from frequency_texts import plain
from make_vectors import entry, small_window, tampered, text

from hybriddp.channels import MaskedResponse, RandomizedResponse
from hybriddp.channels.window import Window
from hybriddp.distribution import DistributionStudy
from hybriddp.grid import UNITS
from hybriddp.mean import MeanStudy
from hybriddp.release.event import Part

CUBES = [(i / 254) ** 3 for i in range(255)]
KAPPAS = (1e-6, 1.0000000000000002e-06, 0.001, 0.1, 1.0, 3.3333333333333335, 999.9999999999999, 5e4, 1e6)
BOUNDS = ((0.0, 1.0), (-50.0, 250.0), (0.1, 0.7), (1e6, 1e6 + 3.0), (-1e-7, 1e22), (-1e139, 1e120))


def short() -> dict[str, str]:
    """Long lists that many texts share, and what stands for them in the file."""
    unit = DistributionStudy("x", bounds=(0, 1), epsilon=1, scale=CUBES).bins
    lists = {
        "equal": DistributionStudy("x", bounds=(0, 1), epsilon=1).bins.cuts.tolist(),
        "log": DistributionStudy("x", bounds=(0, 1), epsilon=1, scale="log").bins.cuts.tolist(),
        "cubes": unit.cuts.tolist(),
        "edges": CUBES,
    }
    return {f"<{name}>": json.dumps(values, separators=(",", ":")) for name, values in lists.items()}


def accepted() -> Iterator[dict[str, Any]]:
    """Studies that look odd and are fine, with their digests."""
    studies = [
        DistributionStudy(name, bounds=(0, 1), epsilon=1, **options)
        for name, options in (
            ("page load ms", {"scale": "log"}),
            ('עִברִית 🙂 "quoted" \\ \u2028 ½', {}),
            ("\ufeff", {}),
            ("groups", {"min_group_size": 10**15}),
            ("part", {"users": Part("country", "DE")}),
            ("part", {"users": Part("country", "\ufeffDE"), "scale": CUBES}),
            ("part", {"users": Part("cell", 123456789012345678901234567890)}),
            ("part", {"users": Part("cell", -1)}),
            ("other labels", {"channel": MaskedResponse(epsilon=1, label_bits=8)}),
            ("edges a unit apart", {"scale": [0.0, *(np.arange(1, 254) / UNITS).tolist(), 1.0]}),
        )
    ]
    odd_bounds = ((-1e-140, 1e-139), (1e-5, 1e16), (-0.5, 1e15), (5e-324, 1.0), (1e16, 1e16 + 2), (-1e139, 1e120))
    studies += [DistributionStudy("bounds", bounds=bounds, epsilon=1) for bounds in odd_bounds]
    rng = np.random.default_rng(18)
    for number, kappa in enumerate([*KAPPAS, *np.exp(rng.uniform(-12, 13.8, 27)).tolist()]):
        bounds = BOUNDS[number % len(BOUNDS)]
        studies.append(DistributionStudy("log", bounds=bounds, epsilon=1, scale="log", kappa=kappa))
    for study in studies:
        yield {"text": study.to_json(), "digest": study.digest}


def refused_channels() -> Iterator[dict[str, str]]:
    """Texts of channels that no client may accept when ε = 1 was promised, and why."""
    masked = json.loads(MaskedResponse(epsilon="1").to_json())
    yield from tampered(masked, ("low", "extra"))
    raised = {"low": masked["low"] - 1, "extra": masked["extra"] + 4}
    yield entry("masked: odds raised with the sum kept", text(masked, **raised))
    for labels in (3, 6, 255, 257, 512, 65536):
        fields = Window.for_epsilon("1", n_codes=labels, width=1).fields()
        yield entry(f"masked: {labels} labels", text(masked, labels=labels, **fields))
    for bad in (0, 1, -4, 2, 8, 4.5, "4", True, None, [4], 10**400):
        yield entry(f"masked: {str(bad)[:10]!r} labels", text(masked, labels=bad))
    yield entry("masked: a float as its number of labels", text(masked).replace('"labels":4', '"labels":4.0'))
    for bits in (0, 16, 33, 48, 64, "32", 32.5, True):
        yield entry(f"masked: bits are {bits!r}", text(masked, bits=bits))
    for nothing in ("", "null", "[]", "{}", '"masked"', "7", '{"type":"masked"}', "[" * 20_000 + "]" * 20_000):
        yield entry(f"{nothing[:17]!r}", nothing)


def refused() -> Iterator[dict[str, str]]:
    """Texts of studies that no client may accept when ε = 1 was promised, and why."""
    study = DistributionStudy("½ values", bounds=(0, 1), epsilon=1)
    own = study.channel.to_json()
    for bad in tampered(json.loads(own), ("low", "extra")):
        yield entry(f"channel {bad['why']}", study.to_json().replace(own, bad["text"]))
    yield from wrong_fields()
    yield from wrong_bins()
    yield from wrong_forms()


def wrong_fields() -> Iterator[dict[str, str]]:
    """Values that no study has."""
    study = json.loads(DistributionStudy("values", bounds=(0, 1), epsilon=1).to_json())
    response = json.loads(RandomizedResponse(epsilon=1, n_categories=4).to_json())
    window = json.loads(small_window().to_json())
    country = [{"by": "country", "key": key} for key in ("DE ", " DE", "", None, True, 1.5, ["DE"], "D\x00")]
    changes: dict[str, list[Any]] = {
        "type": ["mean", None, "Distribution", "frequency"],
        "version": [1, 3, 0, "2", True, None],
        "name": [None, "", " ", "\u3000", 7, ["x"], "a\x1b[2J", "a\nb", "\u202esmeti", "a\u2069", "a\x7f", "a\ufffe"],
        "bounds": [None, "01", [], [0.5], [0.5, 1.5, 2.5], ["0", "1"], [1.5, 0.5], [0.5, 0.5], [[0.5], [1.5]], {}],
        "epsilon": ["2", "1.0", 1, None, ""],
        "min_group_size": [0, -1, 2.5, True, "2", None, [2]],
        "channel": [None, [], {}, "masked", 7, response, window],
        "users": [{}, False, 0, "", [], {"by": "country"}, {"by": "", "key": "DE"}, [["by", "c"]], *country],
    }
    changes["bounds"] += [[0, 1], [0.0, 1e140], [0.0, 1e-140], [-1e308, 1e308], [True, False]]
    changes["users"] += [{"by": "country", "key": "DE", "of": "EU"}, {"key": "DE", "by": "country"}]
    for field, values in changes.items():
        for value in values:
            yield entry(f"{field} is {str(value)[:30]!r}", plain(study, **{field: value}))
    for new in ("[-0.0,1.0]", "[0.0,1.00]", "[0.0,1e0]", "[0.0,1]", "[0.0,1.0e0]", "[0.0,1e999]", "[0.0,NaN]"):
        yield entry(f"bounds are {new}", plain(study).replace("[0.0,1.0]", new))
    yield entry("a float as its smallest group", plain(study).replace('"min_group_size":2', '"min_group_size":2.0'))
    yield entry("half a character in its name", plain(study, name="half").replace('"half"', '"half \\ud800"'))


def wrong_bins() -> Iterator[dict[str, str]]:
    """Scales that are none, and cuts that do not follow from the scale."""
    made = {
        "equal": DistributionStudy("values", bounds=(0, 1), epsilon=1),
        "log": DistributionStudy("values", bounds=(0, 1), epsilon=1, scale="log"),
        "edges": DistributionStudy("values", bounds=(0, 1), epsilon=1, scale=CUBES),
    }
    fields = {name: json.loads(study.to_json()) for name, study in made.items()}
    for name, study in fields.items():
        cuts = study["cuts"]
        for other in fields:
            if other != name:
                yield entry(f"{name}: cuts of {other}", plain(study, cuts=fields[other]["cuts"]))
        for place in (0, 1, 127, 253, 254):
            for step in (-1, 1):
                changed = [*cuts[:place], cuts[place] + step, *cuts[place + 1 :]]
                yield entry(f"{name}: cut {place} is off by {step}", plain(study, cuts=changed))
        others: list[Any] = [None, [], cuts[:-1], [*cuts, UNITS + 1], cuts[::-1], {}, "", 0, [True, *cuts[1:]]]
        for bad in others:
            yield entry(f"{name}: cuts are {str(bad)[:20]}", plain(study, cuts=bad))
        yield entry(f"{name}: a cut as a float", plain(study).replace("[1,", "[1.0,"))
    scales: list[Any] = [None, "log", "edges", "Equal", "", 0, True, [], {}, CUBES, {"equal": None}, {"power": 3.0}]
    for bad in scales:
        yield entry(f"scale is {str(bad)[:20]!r}", plain(fields["equal"], scale=bad))
    log = fields["log"]
    for kappa in (0, 0.0, -1.0, 1000, 1001.0, 9.99e-7, 1e-47, 1e7, 1e300, None, True, "1000", [1000.0], 10**400):
        yield entry(f"kappa is {str(kappa)[:20]}", plain(log, scale={"log": kappa}))
    yield entry("kappa and edges", plain(log, scale={"log": 1000.0, "edges": CUBES}))
    for new in ("1e3", "1000.00", "1.0e3", "1e999", "NaN", "Infinity", "-0.0"):
        yield entry(f"kappa is {new}", plain(log).replace("1000.0", new, 1))
    yield from wrong_edges(fields["edges"])
    yield entry("log: fewer numbers than edges between the bounds", plain(log, bounds=[1e16, 1e16 + 64]))
    yield entry("edges of other bounds", plain(fields["edges"], bounds=[0.1, 0.7]))


def wrong_edges(study: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Edges that are none."""
    swapped = [*CUBES[:100], CUBES[101], CUBES[100], *CUBES[102:]]
    close = [0.0, 1e-9, *CUBES[2:]]
    closer = [0.0, *(0.5 + np.arange(1, 254) * 1e-9).tolist(), 1.0]
    lists: list[tuple[str, Any]] = [
        ("254", CUBES[1:]),
        ("256", [*CUBES, 2.0]),
        ("no", []),
        ("texts as", [str(edge) for edge in CUBES]),
        ("booleans among", [False, *CUBES[1:-1], True]),
        ("integers among", [0, *CUBES[1:-1], 1]),
        ("null among", [*CUBES[:-2], None, 1.0]),
        ("nested", [CUBES]),
        ("nests among", [[0.0], *CUBES[1:]]),
        ("swapped", swapped),
        ("equal", [*CUBES[:100], CUBES[101], *CUBES[101:]]),
        ("decreasing", CUBES[::-1]),
        ("within a unit of the bound", close),
        ("within a unit of each other", closer),
        ("beginning above the bound", [1e-9, *CUBES[1:]]),
        ("ending below the bound", [*CUBES[:-1], 0.999]),
        ("an object for", {"length": 255}),
        ("a text for", "x" * 255),
        ("a number for", 255),
        ("null for", None),
    ]
    for why, edges in lists:
        yield entry(f"{why} edges", plain(study, scale={"edges": edges}))
    written = plain(study)
    middle = f",{CUBES[100]!r},"
    replaced = [("[0.0,", "[-0.0,"), (middle, ",1e999,"), (middle, ",-1e999,"), (middle, ",NaN,"), (middle, ",0,")]
    replaced += [(",1.0]", f",{last}]") for last in ("1e0", "1.00", "1e999", "NaN")]
    first = written.index('"edges"')
    for old, new in replaced:
        yield entry(f"edges with {new}", written[:first] + written[first:].replace(old, new, 1))


def wrong_forms() -> Iterator[dict[str, str]]:
    """Texts that say the same in another form, and texts that say nothing."""
    study = json.loads(DistributionStudy("½ values", bounds=(0, 1), epsilon=1).to_json())
    own = plain(study)
    for field, value in study.items():
        yield entry(f"without {field}", plain({name: study[name] for name in study if name != field}))
        again = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        yield entry(f"{field} twice", f'{own[:-1]},"{field}":{again}}}')
    yield entry("one more field", plain(study, delta="0"))
    yield entry("no study of a mean", plain(study, mean_study=None))
    mean = MeanStudy("session minutes", bounds=(0, 1), epsilon=1)
    of_mean = {"name": mean.name, "channel": json.loads(mean.channel.to_json())}
    yield entry("reports for a mean", plain(study, **of_mean, mean_study=json.loads(mean.device_json())))
    yield entry("prototype field", own[:-1] + ',"__proto__":{}}')
    yield entry("another order", plain(dict(reversed(study.items()))))
    yield entry("spaces", json.dumps(study, ensure_ascii=False))
    yield entry("escapes", json.dumps(study, separators=(",", ":")))
    yield entry("an escape that is not needed", own.replace('"equal"', '"\\u0065qual"'))
    yield entry("trailing line", own + "\n")
    yield entry("leading space", " " + own)
    yield entry("leading mark", "\ufeff" + own)
    yield entry("cut off", own[:-1])
    deep = "[" * 20_000 + "]" * 20_000
    yield entry("cuts nested deeply", plain(study, cuts=0).replace('"cuts":0', f'"cuts":{deep}'))
    yield entry("channel nested deeply", plain(study, channel=0).replace('"channel":0', f'"channel":{deep}'))
    for nothing in ("", "null", "[]", "{}", '"distribution"', "7", deep):
        yield entry(f"{nothing[:14]!r}", nothing)
