"""Studies and their boxes: parameters, texts, scaling, and points as units."""

import json
import re
from typing import Any

import numpy as np
import pytest

from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.grid import Grid
from hybriddp.kmeans.estimator import HybridKMeans
from hybriddp.kmeans.study import Box, KMeansStudy, integer_of_units, units_of, values_of
from hybriddp.study.document import parsed
from tests.kmeans.servers import as_text
from tests.refusals import not_refused

STUDY = KMeansStudy("visits", n_clusters=3, bounds=[(0, 24), (-1.5, 60)], epsilon=0.5)
FIELDS = json.loads(STUDY.to_json())


def test_text_and_study_are_inverses() -> None:
    again = KMeansStudy.from_json(STUDY.to_json())
    assert again == STUDY
    assert again.digest == STUDY.digest
    assert hash(again) == hash(STUDY)


def test_equal_studies_have_equal_digests_and_others_do_not() -> None:
    parameters: dict[str, Any] = {"n_clusters": 3, "bounds": [(0, 24), (-1.5, 60)], "epsilon": 0.5}
    assert KMeansStudy("visits", **{**parameters, "epsilon": "0.50", "bounds": ([-0.0, 24.0], (-1.5, 60))}) == STUDY
    others = [
        KMeansStudy("calls", **parameters),
        *(
            KMeansStudy("visits", **{**parameters, **change})
            for change in (
                {"n_clusters": 4},
                {"bounds": [(0, 24)]},
                {"bounds": [(0, 24), (-1.5, 61)]},
                {"epsilon": 0.51},
                {"scale": "none"},
                {"scale": [1, 2]},
                {"scale": [2, 1]},
            )
        ),
    ]
    assert len({study.digest for study in [STUDY, *others]}) == 9


def test_bad_parameters_are_named_and_the_ends_of_the_ranges_allowed() -> None:
    good: dict[str, Any] = {"name": "x", "n_clusters": 3, "bounds": [(0, 1)], "epsilon": 0.5}
    nan = float("nan")
    wrong: dict[str, list[Any]] = {
        "name": ["", "  ", 5, "\ud800", "visits\x1b[2J", "x" * 1001],
        "n_clusters": [0, -1, 1025, 2.0, True, "3", None],
        "bounds": [None, [], [(1, 0)], [(0, 1)] * 257],
        "epsilon": [None, 0, 21, nan, True],
        "scale": ["range", [1, 2]],
    }
    changes: list[tuple[str, dict[str, Any]]] = [(name, {name: value}) for name in wrong for value in wrong[name]]
    changes += [
        ("bounds[1]", {"bounds": [(0, nan)]}),
        ("scale", {"scale": [1, 1e-60], "bounds": [(0, 1)] * 2}),
        ("bounds", {"scale": "none", "bounds": [(0, 1), (0, 1e-60)]}),
    ]
    for name, change in changes:
        with pytest.raises(ParameterError) as caught:
            KMeansStudy(**{**good, **change})
        assert caught.value.name == name
    KMeansStudy("x", n_clusters=1024, bounds=[(0, 1)] * 256, epsilon=0.01)
    KMeansStudy("x", n_clusters=1, bounds=[(0, 1)], epsilon=20)


@pytest.mark.parametrize("name", FIELDS)
def test_a_text_with_one_field_broken_is_refused(name: str) -> None:
    values: list[object] = [None, [], {}, "", -1, 1.5, "x", [[0]], [0, 1], [["a", "b"]], float("inf")]
    if name == "name":
        values.remove("x")  # a good name
    cases = [(repr(value), as_text({**FIELDS, name: value})) for value in values]
    cases.append(("left out", as_text({other: value for other, value in FIELDS.items() if other != name})))
    assert not_refused(cases, KMeansStudy.from_json, ProtocolError, "The study is refused") == []


def test_a_study_has_one_text() -> None:
    """So that the SHA-256 of what was received is the digest."""
    changes: list[dict[str, Any]] = [{"epsilon": "0.50"}, {"epsilon": 0.5}, {"extra": 1}, {"type": "mean"}]
    for change in changes:
        with pytest.raises(ProtocolError, match="not the one that to_json writes|malformed|not of type kmeans"):
            KMeansStudy.from_json(as_text({**FIELDS, **change}))
    others: list[Any] = [json.dumps(FIELDS), json.dumps(FIELDS, indent=1), as_text(dict(reversed(FIELDS.items())))]
    others += [as_text({**FIELDS, "version": 2.0}), STUDY.to_json() + "\n", STUDY.to_json().replace("0.0", "0")]
    for text in [*others, STUDY.to_json().encode()]:
        with pytest.raises(ProtocolError, match="its text is not the one that to_json writes|not a JSON object"):
            KMeansStudy.from_json(text)
    for none in ("", "null", "[]", "5", "{", "[" * 100_000, "1" * 5000, None, 5, b"\xff"):
        with pytest.raises(ProtocolError, match="The thing is refused: it is not a JSON object"):
            parsed(none, "thing")


def test_another_version_and_other_neighbors_are_refused_with_a_plain_sentence() -> None:
    version = "its text is not of type kmeans, version 2; write it anew with this version of hybriddp."
    neighbors = "its neighbors must be 'replace-one', which is all that is supported."
    for name, values, reason in (
        ("version", (1, 3, "2", None), version),
        ("neighbors", ("add-remove", "replace", None), neighbors),
    ):
        for value in values:
            with pytest.raises(ProtocolError, match=f"^{re.escape(f'The study is refused: {reason}')}$"):
                KMeansStudy.from_json(as_text({**FIELDS, name: value}))


@pytest.mark.parametrize("d", [1, 2, 3, 256])
def test_a_repr_fits_into_a_log(d: int) -> None:
    name, epsilon = "\u2028'\"" * 300, "5.3333333333333333333337"
    bounds = [(-123456.789012345, 1234567.89012345)] * d
    study = KMeansStudy(name, n_clusters=1024, bounds=bounds, epsilon=epsilon, scale=[1.23456789] * d)
    assert repr(study).startswith("KMeansStudy(")
    assert len(repr(study)) < 200
    for rng in (None, 12345678901, np.random.default_rng(0)):
        for by_name in (bounds, {f"a column {j}": pair for j, pair in enumerate(bounds)}):
            model = HybridKMeans(
                1024, epsilon=epsilon, bounds=by_name, name=name, scale=[1.23456789] * d, random_state=rng
            )
            assert repr(model).startswith("HybridKMeans(n_clusters=1024, epsilon='5.33")
            assert len(repr(model)) < 200


def test_a_small_study_shows_all_of_itself() -> None:
    study = KMeansStudy("visits", n_clusters=3, bounds=[(0, 24), (0, 60)], epsilon=2)
    assert repr(study) == (
        "KMeansStudy('visits', n_clusters=3, bounds=[(0.0, 24.0), (0.0, 60.0)], epsilon='2', scale='bounds')"
    )


# Boxes

SIDES = [(-5, 15), (100, 110)]
BOX = Box.of(SIDES, "none")


def test_bounds_and_scales_that_are_none_are_refused() -> None:
    nan, inf = float("nan"), float("inf")
    wrong: list[Any] = [None, [], 5, "ab", [(0, 1, 2)], [(0,)], [5], [(1, 0)], [(1, 1)], [(0, nan)], [(0, inf)]]
    wrong += [[(0, True)], [("0", "1")], [(0, 1e200)], [(0, 1), (None, 1)]]
    for bounds in wrong:
        with pytest.raises(ParameterError, match="^bounds"):
            Box.of(bounds)
    wrong = ["", "Bounds", None, 1, 1.5, [], [1], [1, 2, 3], [1, 0], [1, -1], [1, nan], [1, inf], ["1", "2"], [True, 1]]
    for scale in [*wrong, {"a": 1, "b": 2}, {1, 2}, "ab"]:
        with pytest.raises(ParameterError, match="^scale must be"):
            Box.of([(0, 1), (0, 2)], scale)


def test_distances_are_measured_by_bounds_by_weights_or_as_they_are() -> None:
    corners = [[-5, 100], [15, 110], [5, 105]]
    points: Any
    by_bounds = Box.of(SIDES)
    assert by_bounds == Box.of(SIDES, "bounds") != BOX
    for box, widths, units, points in (
        (BOX, [1, 0.5], [20, 20], [[0, 0], [1, 0.5], [0.5, 0.25]]),
        (by_bounds, [1, 1], [20, 10], [[0, 0], [1, 1], [0.5, 0.5]]),
        (Box.of(SIDES, [1, 4]), [0.25, 1], [80, 10], [[0, 0], [0.25, 1], [0.125, 0.5]]),
    ):
        np.testing.assert_array_equal(box.widths, widths)
        np.testing.assert_array_equal(box.units, units)
        np.testing.assert_array_equal(box.place(corners).points, points)
    again = Box.of(SIDES, (0.5, 2.0))  # only ratios of weights count
    np.testing.assert_array_equal(again.place([[3, 107]]).points, Box.of(SIDES, [1, 4]).place([[3, 107]]).points)
    np.testing.assert_allclose(Box.of(SIDES, [20, 10]).units, BOX.units)
    points, sides = np.random.default_rng(0).uniform(-4, 9, (500, 3)), [(-3, 7)] * 3  # equal sides have one scale
    first, *others = (Box.of(sides, scale).place(points).points for scale in ("none", "bounds", [3, 3, 3]))
    for other in others:
        np.testing.assert_array_equal(first, other)  # to the last bit


def test_points_and_places_are_inverses() -> None:
    points = np.random.default_rng(0).uniform([-5, 100], [15, 110], (100, 2))
    scales: list[Any] = ["bounds", "none", [1, 3]]
    for box in (Box.of(SIDES, scale) for scale in scales):
        np.testing.assert_allclose(box.values(box.place(points).points), points, rtol=1e-12)
        np.testing.assert_allclose(box.scaled(points), box.place(points).points, rtol=1e-12, atol=1e-15)
    for lower, width in np.random.default_rng(0).uniform(0, 1, (1000, 2)):  # rounding does not leave the bounds
        box = Box.of([(lower, lower + width), (0, 3 * width)])
        low, high = np.array(box.bounds).T
        corners = box.values(np.array([box.widths, 0 * box.widths]))
        assert (corners <= high).all()
        assert (corners >= low).all()


def test_points_outside_are_moved_to_the_border_and_counted_once() -> None:
    placed = BOX.place([[-6, 99], [16, 105], [0, 111], [0, 105], [1e300, -1e300]])
    inside = [[-5, 100], [15, 105], [0, 110], [0, 105], [15, 100]]
    np.testing.assert_array_equal(placed.points, BOX.place(inside).points)
    assert placed.clamped == 4
    placed = Box.of([(0, 1e-100)]).place([[1e300], [-1e300]])  # even if that overflows
    np.testing.assert_array_equal(placed.points, [[1], [0]])
    assert placed.clamped == 2
    # Subnormal numbers take a processor longer; points that are not the least bit smaller stay as they are.
    tiny = Box.of([(0, 1), (0, 1)]).place([[1e-310, 1.0], [5e-324, 9e-101], [1e-100, 0.3], [0.0, -0.0]]).points
    np.testing.assert_array_equal(tiny, [[0.0, 1.0], [0.0, 0.0], [1e-100, 0.3], [0.0, 0.0]])


def test_numbers_of_every_type_are_understood_and_left_as_they_are() -> None:
    types = (np.int8, np.uint64, np.float16, np.float32, ">f8", np.longdouble)
    forms: list[Any] = [np.array([[1, 105]], kind) for kind in types]
    forms += [np.array([[1, 105]], order="F"), np.array([[1, 0, 105, 0]])[:, ::2], [[1, 105.0]], ((1, 105),)]
    for points in [*forms, np.ma.array([[1, 105]], mask=False)]:
        placed = BOX.place(points)
        np.testing.assert_allclose(placed.points, [[0.3, 0.25]], rtol=1e-12)
        assert placed.points.dtype == np.float64
        assert placed.clamped == 0
    far = np.array([[100.0, 100.0]])
    BOX.place(far)
    np.testing.assert_array_equal(far, [[100, 100]])
    assert BOX.place(np.empty((0, 2))).points.shape == (0, 2)


def test_what_is_no_table_of_finite_numbers_is_refused() -> None:
    refused: list[tuple[Any, str]] = [
        ([[1, np.nan]], "1 of 1 hold NaN or infinity"),
        ([[1, 2], [np.inf, 0], [0, -np.inf]], "2 of 3 hold NaN or infinity"),
        (np.ma.array([[1.0, 2.0]], mask=[[True, False]]), "masked"),
        *((table, "with 2 columns") for table in ([[1, 2, 3]], [1, 2], [[[1, 2]]])),
        *((table, "table of numbers") for table in ([["1", "2"]], [[True, False]], [[1, 2], [3]], [[1, None]])),
        *((nothing, "table of numbers") for nothing in ([[1j, 2]], None, "points", dict[str, int]())),
    ]
    for points, message in refused:
        with pytest.raises(DataError, match=f"^visits must .*{message}"):
            BOX.place(points, "visits")


# Points as units


def test_each_coordinate_is_on_its_own_grid_and_values_within_half_a_step() -> None:
    box, point = Box.of([(0, 10), (-5, 5)]), [3.7, -1.25]
    grids = [Grid.of(bounds) for bounds in box.bounds]
    assert units_of(box, point) == tuple(int(grid.place([x]).units[0]) for grid, x in zip(grids, point, strict=True))
    assert units_of(box, [-1, 100]) == (0, 1 << 24)
    points = np.random.default_rng(0).uniform([0, -5], [10, 5], (50, 2))
    back = values_of(box, [units_of(box, point) for point in points.tolist()])
    assert np.abs(back - points).max() <= 10 / (1 << 24) / 2 * 1.001
    assert values_of(box, []).shape == (0, 2)
    assert integer_of_units((1, 2)).to_bytes(9) == b"\1" + b"\0\0\0\1" + b"\0\0\0\2"
    assert integer_of_units((0, 0)) != integer_of_units((0,))
    nothing: list[Any] = [[1.0], [1.0] * 3, [1.0, float("nan")], [float("inf"), 1.0], [1.0, "x"], [True, 1]]
    for none in nothing:
        with pytest.raises(DataError, match="2 finite numbers"):
            units_of(box, none)
