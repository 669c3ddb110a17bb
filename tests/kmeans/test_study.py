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


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "  "}),
        ("name", {"name": 5}),
        ("name", {"name": "\ud800"}),
        ("name", {"name": "visits\x1b[2J"}),
        ("n_clusters", {"n_clusters": 0}),
        ("n_clusters", {"n_clusters": -1}),
        ("n_clusters", {"n_clusters": 1025}),
        ("n_clusters", {"n_clusters": 2.0}),
        ("n_clusters", {"n_clusters": True}),
        ("n_clusters", {"n_clusters": "3"}),
        ("n_clusters", {"n_clusters": None}),
        ("bounds", {"bounds": None}),
        ("bounds", {"bounds": []}),
        ("bounds", {"bounds": [(1, 0)]}),
        ("bounds", {"bounds": [(0, 1)] * 257}),
        ("bounds[1]", {"bounds": [(0, float("nan"))]}),
        ("epsilon", {"epsilon": None}),
        ("epsilon", {"epsilon": 0}),
        ("epsilon", {"epsilon": 21}),
        ("epsilon", {"epsilon": float("nan")}),
        ("epsilon", {"epsilon": True}),
        ("name", {"name": "x" * 1001}),
        ("scale", {"scale": "range"}),
        ("scale", {"scale": [1, 2]}),
        ("scale", {"scale": [1, 1e-60], "bounds": [(0, 1)] * 2}),
        ("bounds", {"scale": "none", "bounds": [(0, 1), (0, 1e-60)]}),
    ],
)
def test_bad_parameters_are_named(name: str, change: dict[str, Any]) -> None:
    good: dict[str, Any] = {"name": "x", "n_clusters": 3, "bounds": [(0, 1)], "epsilon": 0.5}
    with pytest.raises(ParameterError) as caught:
        KMeansStudy(**{**good, **change})
    assert caught.value.name == name


def test_the_ends_of_the_ranges_are_allowed() -> None:
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


@pytest.mark.parametrize("change", [{"epsilon": "0.50"}, {"epsilon": 0.5}, {"extra": 1}, {"type": "mean"}])
def test_another_form_of_the_same_study_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="not the one that to_json writes|malformed|not of type kmeans"):
        KMeansStudy.from_json(as_text({**FIELDS, **change}))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(FIELDS),
        json.dumps(FIELDS, indent=1),
        as_text(dict(reversed(FIELDS.items()))),
        as_text({**FIELDS, "version": 2.0}),
        STUDY.to_json() + "\n",
        STUDY.to_json().replace("0.0", "0"),
        STUDY.to_json().encode(),
    ],
)
def test_a_study_has_one_text(text: Any) -> None:
    """So that the SHA-256 of what was received is the digest."""
    with pytest.raises(ProtocolError, match="its text is not the one that to_json writes|not a JSON object"):
        KMeansStudy.from_json(text)


@pytest.mark.parametrize("version", [1, 3, "2", None])
def test_a_study_of_another_version_is_refused_with_a_plain_sentence(version: Any) -> None:
    sentence = (
        "The study is refused: its text is not of type kmeans, version 2; write it anew with this version of hybriddp."
    )
    with pytest.raises(ProtocolError, match=f"^{re.escape(sentence)}$"):
        KMeansStudy.from_json(as_text({**FIELDS, "version": version}))


@pytest.mark.parametrize("neighbors", ["add-remove", "replace", None])
def test_a_study_with_other_neighbors_is_refused_with_a_plain_sentence(neighbors: object) -> None:
    sentence = "The study is refused: its neighbors must be 'replace-one', which is all that is supported."
    with pytest.raises(ProtocolError, match=f"^{re.escape(sentence)}$"):
        KMeansStudy.from_json(as_text({**FIELDS, "neighbors": neighbors}))


@pytest.mark.parametrize("text", ["", "null", "[]", "5", "{", "[" * 100_000, "1" * 5000, None, 5, b"\xff"])
def test_what_is_no_object_is_refused(text: Any) -> None:
    with pytest.raises(ProtocolError, match="The thing is refused: it is not a JSON object"):
        parsed(text, "thing")


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


BOX = Box.of([(-5, 15), (100, 110)], "none")


@pytest.mark.parametrize(
    "bounds",
    [
        None,
        [],
        5,
        "ab",
        [(0, 1, 2)],
        [(0,)],
        [5],
        [(1, 0)],
        [(1, 1)],
        [(0, float("nan"))],
        [(0, float("inf"))],
        [(0, True)],
        [("0", "1")],
        [(0, 1e200)],
        [(0, 1), (None, 1)],
    ],
)
def test_bounds_that_are_none_are_refused(bounds: Any) -> None:
    with pytest.raises(ParameterError, match="^bounds"):
        Box.of(bounds)


def test_the_widest_dimension_is_the_unit() -> None:
    np.testing.assert_array_equal(BOX.widths, [1.0, 0.5])
    np.testing.assert_array_equal(BOX.units, [20, 20])
    np.testing.assert_array_equal(BOX.place([[-5, 100], [15, 110], [5, 105]]).points, [[0, 0], [1, 0.5], [0.5, 0.25]])


def test_coordinates_of_next_to_nothing_are_zero() -> None:
    """Subnormal numbers take a processor longer; points that are not the least bit smaller stay as they are."""
    box = Box.of([(0, 1), (0, 1)])
    np.testing.assert_array_equal(
        box.place([[1e-310, 1.0], [5e-324, 9e-101], [1e-100, 0.3], [0.0, -0.0]]).points,
        [[0.0, 1.0], [0.0, 0.0], [1e-100, 0.3], [0.0, 0.0]],
    )


def test_by_default_every_dimension_is_measured_by_its_bounds() -> None:
    box = Box.of([(-5, 15), (100, 110)])
    assert box == Box.of([(-5, 15), (100, 110)], "bounds") != BOX
    np.testing.assert_array_equal(box.widths, [1, 1])
    np.testing.assert_array_equal(box.units, [20, 10])
    np.testing.assert_array_equal(box.place([[-5, 100], [15, 110], [5, 105]]).points, [[0, 0], [1, 1], [0.5, 0.5]])


def test_weights_are_of_ranges_and_only_their_ratios_count() -> None:
    box = Box.of([(-5, 15), (100, 110)], [1, 4])
    np.testing.assert_array_equal(box.widths, [0.25, 1])
    np.testing.assert_array_equal(box.units, [80, 10])
    again = Box.of([(-5, 15), (100, 110)], (0.5, 2.0))
    np.testing.assert_array_equal(again.place([[3, 107]]).points, box.place([[3, 107]]).points)
    as_it_is = Box.of([(-5, 15), (100, 110)], [20, 10])
    np.testing.assert_allclose(as_it_is.units, BOX.units)


def test_in_a_box_with_equal_sides_there_is_one_scale() -> None:
    points = np.random.default_rng(0).uniform(-4, 9, (500, 3))
    sides = [(-3, 7), (-3, 7), (-3, 7)]
    first, *others = (Box.of(sides, scale).place(points).points for scale in ("none", "bounds", [3, 3, 3]))
    for other in others:
        np.testing.assert_array_equal(first, other)  # to the last bit


@pytest.mark.parametrize(
    "scale",
    [
        "",
        "Bounds",
        None,
        1,
        1.5,
        [],
        [1],
        [1, 2, 3],
        [1, 0],
        [1, -1],
        [1, np.nan],
        [1, np.inf],
        ["1", "2"],
        [True, 1],
        {"a": 1, "b": 2},
        {1, 2},
        "ab",
    ],
)
def test_scales_that_are_none_are_refused(scale: Any) -> None:
    with pytest.raises(ParameterError, match="^scale must be"):
        Box.of([(0, 1), (0, 2)], scale)


@pytest.mark.parametrize("scale", ["bounds", "none", [1, 3]])
def test_points_and_places_are_inverses(scale: Any) -> None:
    box = Box.of([(-5, 15), (100, 110)], scale)
    points = np.random.default_rng(0).uniform([-5, 100], [15, 110], (100, 2))
    np.testing.assert_allclose(box.values(box.place(points).points), points, rtol=1e-12)
    np.testing.assert_allclose(box.scaled(points), box.place(points).points, rtol=1e-12, atol=1e-15)


def test_points_outside_are_moved_to_the_border_and_counted_once() -> None:
    placed = BOX.place([[-6, 99], [16, 105], [0, 111], [0, 105], [1e300, -1e300]])
    np.testing.assert_array_equal(
        placed.points, BOX.place([[-5, 100], [15, 105], [0, 110], [0, 105], [15, 100]]).points
    )
    assert placed.clamped == 4


def test_what_is_so_far_outside_that_it_overflows_is_still_only_outside() -> None:
    placed = Box.of([(0, 1e-100)]).place([[1e300], [-1e300]])
    np.testing.assert_array_equal(placed.points, [[1], [0]])
    assert placed.clamped == 2


def test_rounding_does_not_take_centers_out_of_the_bounds() -> None:
    rng = np.random.default_rng(0)
    for lower, width in rng.uniform(0, 1, (1000, 2)):
        box = Box.of([(lower, lower + width), (0, 3 * width)])
        low, high = np.array(box.bounds).T
        corners = box.values(np.array([box.widths, 0 * box.widths]))
        assert (corners <= high).all()
        assert (corners >= low).all()


@pytest.mark.parametrize(
    "points",
    [
        np.array([[1, 105]], np.int8),
        np.array([[1, 105]], np.uint64),
        np.array([[1, 105]], np.float16),
        np.array([[1, 105]], np.float32),
        np.array([[1, 105]], ">f8"),
        np.array([[1, 105]], np.longdouble),
        np.array([[1, 105]], order="F"),
        np.array([[1, 0, 105, 0]])[:, ::2],
        np.ma.array([[1, 105]], mask=False),
        [[1, 105.0]],
        ((1, 105),),
    ],
)
def test_numbers_of_every_type_are_understood(points: Any) -> None:
    placed = BOX.place(points)
    np.testing.assert_allclose(placed.points, [[0.3, 0.25]], rtol=1e-12)
    assert placed.points.dtype == np.float64
    assert placed.clamped == 0


def test_placing_leaves_the_callers_array_as_it_was() -> None:
    points = np.array([[100.0, 100.0]])
    BOX.place(points)
    np.testing.assert_array_equal(points, [[100, 100]])


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[1, np.nan]], "1 of 1 hold NaN or infinity"),
        ([[1, 2], [np.inf, 0], [0, -np.inf]], "2 of 3 hold NaN or infinity"),
        (np.ma.array([[1.0, 2.0]], mask=[[True, False]]), "masked"),
        ([[1, 2, 3]], "with 2 columns"),
        ([1, 2], "with 2 columns"),
        ([[[1, 2]]], "with 2 columns"),
        ([["1", "2"]], "table of numbers"),
        ([[True, False]], "table of numbers"),
        ([[1, 2], [3]], "table of numbers"),
        ([[1, None]], "table of numbers"),
        ([[1j, 2]], "table of numbers"),
        (None, "table of numbers"),
        ("points", "table of numbers"),
        ({}, "table of numbers"),
    ],
)
def test_what_is_no_table_of_finite_numbers_is_refused(points: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"^visits must .*{message}"):
        BOX.place(points, "visits")


def test_no_points_are_points() -> None:
    assert BOX.place(np.empty((0, 2))).points.shape == (0, 2)


PLACE = Box.of([(0, 10), (-5, 5)])


def test_each_coordinate_is_on_its_own_grid() -> None:
    point = [3.7, -1.25]
    grids = [Grid.of(bounds) for bounds in PLACE.bounds]
    assert units_of(PLACE, point) == tuple(int(grid.place([x]).units[0]) for grid, x in zip(grids, point, strict=True))
    assert units_of(PLACE, [-1, 100]) == (0, 1 << 24)


def test_values_are_within_half_a_step_of_the_point() -> None:
    points = np.random.default_rng(0).uniform([0, -5], [10, 5], (50, 2))
    back = values_of(PLACE, [units_of(PLACE, point) for point in points.tolist()])
    assert np.abs(back - points).max() <= 10 / (1 << 24) / 2 * 1.001
    assert values_of(PLACE, []).shape == (0, 2)


def test_an_integer_holds_the_units_in_their_order() -> None:
    assert integer_of_units((1, 2)).to_bytes(9) == b"\1" + b"\0\0\0\1" + b"\0\0\0\2"
    assert integer_of_units((0, 0)) != integer_of_units((0,))


@pytest.mark.parametrize("point", [[1.0], [1.0] * 3, [1.0, float("nan")], [float("inf"), 1.0], [1.0, "x"], [True, 1]])
def test_what_is_no_point(point: list[float]) -> None:
    with pytest.raises(DataError, match="2 finite numbers"):
        units_of(PLACE, point)
