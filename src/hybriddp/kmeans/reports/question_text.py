"""Questions from the plain values of a message: checked, since a device answers what strangers ask."""

from typing import Any

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.errors import ProtocolError
from hybriddp.kmeans.reports.codebook import Directions, Pairs, codebook_size, order_of
from hybriddp.kmeans.reports.direction import DirectionQuestion, LengthQuestion, SecondMomentQuestion
from hybriddp.kmeans.reports.limits import CENTERS_PER_CLUSTER, MOST_SIGNS, MOST_VERTICES, most_directions, most_pairs
from hybriddp.kmeans.reports.questions import GridQuestion, Labels, Projection, Question, ResidualQuestion
from hybriddp.kmeans.study import MOST_CLUSTERS

# With numbers of at most this size, and steps and radii of at least that, nothing that a device computes overflows: an
# infinity less another would be no number, and not one of the symbols that the channel hides among each other. Nor does
# it become so small that a processor takes longer over it, which would tell whose point made it that small.
_LARGEST, _SMALLEST = 1e100, 1e-100


def question_of(d: int, fields: dict[str, Any], n_clusters: int = MOST_CLUSTERS) -> Question:
    """The question with these plain values, for points of ``d`` dimensions; `ProtocolError` if they are not one.

    Nor if it is larger than a study that wants ``n_clusters`` has a use for (see `limits`).
    """
    kinds = {
        "grid": _grid_of,
        "residual": _residual_of,
        "direction": _direction_of,
        "pair": _pair_of,
        "length": _length_of,
    }
    if not isinstance(fields, dict) or not isinstance(fields.get("kind"), str) or fields["kind"] not in kinds:
        raise ProtocolError(f"The question is refused: its kind is none of {', '.join(kinds)}.")
    try:
        _require_few_centers(fields, CENTERS_PER_CLUSTER * n_clusters)
        return kinds[fields["kind"]](d, fields)
    except (KeyError, TypeError, ValueError, OverflowError) as reason:
        raise ProtocolError(f"The question is refused: it is incomplete or malformed ({reason}).") from None


def _grid_of(d: int, fields: dict[str, Any]) -> Question:
    view = _view_of(d, fields)
    q = d if view is None else len(view.axes)
    sizes = tuple(fields["sizes"])
    low, step = _array(fields, "low", (q,)), _array(fields, "step", (q,))
    if (
        len(sizes) != q
        or not all(type(size) is int and 2 <= size <= MOST_VERTICES for size in sizes)
        or (step < _SMALLEST).any()
    ):
        raise ProtocolError("The question is refused: its grid is malformed.")
    return GridQuestion(view, low, step, sizes)


def _labels_of(d: int, fields: dict[str, Any]) -> tuple[Labels, FloatArray, FloatArray]:
    k = len(fields["centers"])
    centers, radii = _array(fields, "centers", (k, d)), _array(fields, "radii", (k,))
    view = _view_of(d, fields)
    seen = centers if view is None else _array(fields, "label_centers", (k, len(view.axes)))
    if not k or (radii < _SMALLEST).any():
        raise ProtocolError("The question is refused: it has no centers, or radii that are not positive.")
    return Labels(seen, view), centers, radii


def _residual_of(d: int, fields: dict[str, Any]) -> Question:
    labels, centers, radii = _labels_of(d, fields)
    variants = len(fields["coordinates"])
    if not 0 < variants <= d:
        raise ProtocolError(f"The question is refused: it comes in other than 1 to {d} variants.")
    coordinates = np.array(fields["coordinates"], np.int64).reshape(variants, -1)
    signs = coordinates.shape[1]
    twice = any(len(set(row)) < signs for row in coordinates.tolist())
    if signs > min(d, MOST_SIGNS) or twice or ((coordinates < 0) | (coordinates >= d)).any():
        raise ProtocolError("The question is refused: its coordinates are malformed.")
    return ResidualQuestion(labels, centers, radii, coordinates)


def _direction_of(d: int, fields: dict[str, Any]) -> Question:
    return DirectionQuestion(
        *_labels_of(d, fields), _directions_of(d, fields, "flips", most_directions(d)), _chosen_of(d, fields)
    )


def _pair_of(d: int, fields: dict[str, Any]) -> Question:
    center, radius = _ball_of(d, fields)
    left, right = (_directions_of(d, fields, side, most_pairs(d)) for side in ("left", "right"))
    if left.sign_flips.shape != right.sign_flips.shape:
        raise ProtocolError("The question is refused: its pairs of directions do not match.")
    return SecondMomentQuestion(center, radius, Pairs(left, right), _chosen_of(d, fields))


def _length_of(d: int, fields: dict[str, Any]) -> Question:
    return LengthQuestion(*_ball_of(d, fields))


def _ball_of(d: int, fields: dict[str, Any]) -> tuple[FloatArray, float]:
    radius = fields["radius"]
    if type(radius) is not float or not _SMALLEST <= radius <= _LARGEST:
        raise ProtocolError("The question is refused: its radius is not a positive number.")
    return _array(fields, "center", (d,)), radius


def _directions_of(d: int, fields: dict[str, Any], name: str, most: int) -> Directions:
    bases = len(fields[name])
    if not 0 < bases <= most:
        raise ProtocolError(f"The question is refused: it has other than 1 to {most} rows of directions.")
    sign_flips = _array(fields, name, (bases, d))
    if not (np.abs(sign_flips) == 1).all() or bases * order_of(d) % codebook_size(d):
        raise ProtocolError("The question is refused: its directions are malformed.")
    return Directions(sign_flips.astype(np.int64))


def _chosen_of(d: int, fields: dict[str, Any]) -> int:
    chosen, most = fields["chosen"], codebook_size(d)
    if type(chosen) is not int or not 1 <= chosen <= most:
        raise ProtocolError(f"The question is refused: it chooses other than 1 to {most} directions.")
    return chosen


def _view_of(d: int, fields: dict[str, Any]) -> Projection | None:
    if "axes" not in fields:
        return None
    axes = len(fields["axes"])
    if not 0 < axes <= d:
        raise ProtocolError(f"The question is refused: it looks in other than 1 to {d} directions.")
    return Projection(_array(fields, "origin", (d,)), _array(fields, "axes", (axes, d)))


def _require_few_centers(fields: dict[str, Any], most: int) -> None:
    if "centers" in fields and len(fields["centers"]) > most:
        raise ProtocolError(f"The question is refused: it has more than {most} centers.")


def _array(fields: dict[str, Any], name: str, shape: tuple[int, ...]) -> FloatArray:
    array = np.array(fields[name], np.float64)
    size = np.abs(array)
    if array.shape != shape or not ((array == 0) | ((size >= _SMALLEST) & (size <= _LARGEST))).all():
        raise ProtocolError(
            f"The question is refused: its {name} must be numbers up to {_LARGEST:g} of shape {shape}, and those that "
            f"are not 0 at least {_SMALLEST:g} in size."
        )
    return array
