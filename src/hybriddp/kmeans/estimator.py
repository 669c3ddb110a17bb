"""K-means with both groups, as an estimator in the manner of scikit-learn."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.kmeans.clustering import nearest
from hybriddp.kmeans.points import (
    PointArray,
    TrustedPoints,
    columns_by_name,
    names_of,
    require_alike,
    warn_of_names,
)
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.study import KMeansStudy, short_parameters
from hybriddp.randomness import simulation_generator
from hybriddp.release.ledger.ledger import Ledger

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_RAW = ("labels_", "inertia_", "fit_predict", "fit_transform", "score")  # of scikit-learn's KMeans

_LONGEST = 180  # characters of the parameters in a `repr`


@dataclass(frozen=True, slots=True)
class Clamped:
    """Number of points of each group outside of the bounds. Not private: for the curator's eyes."""

    trusted: int
    local: int


class HybridKMeans:
    """K-means of the points of people who trust the curator and of people who do not.

    Statistics of the trusted group's points are released with noise; every local user answers one question, through a
    channel with all of ε. Bounds are required and never read from the data. There are no ``labels_`` and no
    ``inertia_``: they would be raw numbers about private points.

    Parameters
    ----------
    n_clusters : int
        Number of centers.
    epsilon : float or str
        What every user is promised in total.
    bounds : sequence of (float, float), or dict
        The public range of each dimension, chosen without looking at the data. A dict has it by the name of a column,
        and `fit` takes these columns of the dataframes that it is given.
    random_state : int or numpy.random.Generator, optional
        For simulation only: what comes out is **not** a private release.
    name : str
        What the points are. It is in the ledger's lines; a ledger tells studies apart by all of a study, its digest.
    scale : {"bounds", "none"} or sequence of float
        What distances are measured by. By default every dimension by the width of its bounds, so that units do not
        matter; with positive weights, dimension *j* counts ``scale[j]`` times as much as that; with ``"none"``, by the
        units of the data as they are.

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (n_clusters, n_features)
        The centers.
    standard_errors_ : ndarray, shape (n_clusters, n_features)
        How uncertain each coordinate is, through noise and sampling. What an unlucky start costs is not in it.
    doubt_ : float
        The mean squared error of the least certain center, over the mean squared distance of a user to their center:
        0 is sure, and 1 is a center that may be anywhere in its cluster. By what was released.
    doubtful_ : bool
        Whether the cost (WCSS) may well be more than 1.2 times that of the best centers: ``doubt_`` above 0.07 up
        to three dimensions, or above 0.012 if other first centers looked even better on a coarse grid; above 0.15 in
        more. Also if a center may be empty or, up to three dimensions, if two are less than a step of the grid apart.
    doubts_ : Doubts
        Which of these it is, and for which centers: ``empty``, ``close``, ``noisy`` and ``contested``.
    start_ : StartDoubt or None
        Up to three dimensions, the first centers beside the best other ones, if there were any: ``cost`` and
        ``rival_cost``, mean squared distances where distances are measured; ``difference_sd``, what their difference
        is uncertain by; ``n_vertices`` of the grid that both were found on.
    sizes_ : ndarray, shape (n_clusters,)
        The fraction of users nearest to each center, as released.
    size_errors_ : ndarray, shape (n_clusters,)
        The standard error of each size. A center whose size is below three of them may be empty.
    trusted_weight_ : ndarray, shape (n_clusters,)
        How much of each center the trusted group decided, from 0 to 1.
    n_iter_ : int
        Number of steps.
    feature_names_in_ : ndarray of str
        The names of the columns, if the bounds or the points had any.
    n_trusted_, n_local_ : int
        The sizes of the groups.
    implausible_reports_ : int
        Lower bound on the number of local answers that did not come out of the study's channels. If it is above 0, the
        result begins with a warning wherever it is shown.
    spending_ : tuple of Spending
        What each step cost whom.
    result_ : KMeansResult
        All of these as a result, with `to_json`, `to_pandas`, `to_html` and what else results have.
    study_ : KMeansStudy
        What was asked, under which promise.
    privacy_ : Privacy
        What was promised to everybody.
    trusted_used_ : bool
        Whether the trusted group took part. One that cannot help is not used, and its users pay nothing.
    clamped_ : Clamped
        Number of points outside of the bounds. Not private: not for publication, and not pickled with the model.
    private_release_ : bool
        Whether the result may be published: not if a ``random_state`` was given.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> points = rng.choice([[2.0, 3.0], [7.0, 8.0]], 50_000) + 0.3 * rng.standard_normal((50_000, 2))
    >>> model = HybridKMeans(n_clusters=2, epsilon=1, bounds=[(0, 10), (0, 10)], random_state=1)
    >>> model = model.fit(trusted_points=points[:500], local_points=points[500:])
    >>> np.sort(model.cluster_centers_, axis=0).round()
    array([[2., 3.],
           [7., 8.]])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: float | str | None = None,
        bounds: Sequence[tuple[float, float]] | Mapping[str, tuple[float, float]] | None = None,
        random_state: int | np.random.Generator | None = None,
        name: str = "points",
        scale: str | Sequence[float] = "bounds",
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.bounds = bounds
        self.random_state = random_state
        self.name = name
        self.scale = scale

    @property
    def study(self) -> KMeansStudy:
        """The study that the parameters describe: what server and devices share."""
        if self.epsilon is None:
            raise ParameterError("epsilon", "what every user is promised, a number from 0.01 to 20", None)
        if self.bounds is None:
            raise ParameterError("bounds", "one public pair (lower, upper) for each dimension", None)
        return KMeansStudy(
            self.name,
            n_clusters=self.n_clusters,
            bounds=list(self.bounds.values()) if isinstance(self.bounds, Mapping) else self.bounds,
            scale=self.scale,
            epsilon=self.epsilon,
        )

    def fit(
        self,
        trusted_points: ArrayLike | None = None,
        local_points: ArrayLike | None = None,
        *,
        ledger: Ledger | None = None,
    ) -> "HybridKMeans":
        """Run the whole protocol in memory: server, trusted group and the devices of the local users.

        Parameters
        ----------
        trusted_points, local_points : array_like or dataframe, shape (n, n_features), optional
            The points of the groups. Columns with names are put in the order of the bounds if these have names, else of
            the trusted group's columns; see ``feature_names_in_``. If only one group has names, it is refused: nothing
            would say that the orders agree. Without one of the groups the study is that of the other alone, and
            `explain` says so.
        ledger : Ledger, optional
            Where releases are recorded before their noise is drawn; `BudgetError` if there is not enough left.
        """
        study = self.study
        if isinstance(trusted_points, TrustedPoints):
            raise DataError(
                "trusted_points must be an array or a dataframe. Points that hybriddp.tables.trusted_points has read "
                "are for HybridKMeansServer(trusted=...). Nothing has been spent."
            )
        names = self._names(trusted_points, local_points)
        groups = {"trusted_points": trusted_points, "local_points": local_points}
        require_alike(groups, bounds_have_names=isinstance(self.bounds, Mapping))
        trusted_points = columns_by_name(trusted_points, names, "trusted_points")
        local_points = columns_by_name(local_points, names, "local_points")
        nobody = np.empty((0, study.box.n_dimensions))
        trusted = None if trusted_points is None else PointArray(study.box, trusted_points, "trusted_points")
        local = PointArray(study.box, nobody if local_points is None else local_points, "local_points")
        curator_state, device_state = self.random_state, self.random_state
        if isinstance(curator_state, (int, np.integer)):  # one seed must not give both the same noise
            curator_state, device_state = (simulation_generator(curator_state, who) for who in ("curator", "devices"))
        server = HybridKMeansServer(
            study, n_local=local.count, trusted=trusted, ledger=ledger, random_state=curator_state
        )
        server.run(local, device_state)
        self.clamped_ = Clamped(0 if trusted is None else trusted.clamped, local.clamped)
        return self._take(server, names or ())

    def _names(self, *tables: object) -> tuple[str, ...] | None:
        """Return the names of the dimensions.

        They come from the bounds, or else from the columns of the first table that has names.
        """
        named = (names for names in map(names_of, tables) if names is not None)
        names = tuple(self.bounds) if isinstance(self.bounds, Mapping) else next(named, None)
        for name in names or ():
            _check.text("the name of a column", name, "what is in it")
        return names

    @classmethod
    def from_server(cls, server: HybridKMeansServer, *, names: Sequence[str] = ()) -> "HybridKMeans":
        """Make the fitted model of a server that has ended; ``names`` are those of its columns."""
        study = server.study
        box, epsilon = study.box, study.privacy.epsilon
        model = cls(study.n_clusters, epsilon=epsilon, bounds=box.bounds, name=study.name, scale=box.scale)
        return model._take(server, tuple(names))

    def _take(self, server: HybridKMeansServer, names: tuple[str, ...]) -> "HybridKMeans":
        """Set the attributes from a server that has ended."""
        result = replace(server.result, columns=names)
        self.result_ = result
        self.study_, self.privacy_, self.spending_ = result.study, result.study.privacy, result.steps
        self.cluster_centers_, self.standard_errors_ = result.centers, result.standard_errors
        self.sizes_, self.size_errors_, self.trusted_weight_ = result.sizes, result.size_errors, result.trusted_weight
        self.doubt_, self.doubtful_, self.doubts_, self.start_ = (
            result.doubt,
            bool(result.doubts),
            result.doubts,
            result.start,
        )
        self.n_iter_, self.n_features_in_ = len(result.steps), result.study.box.n_dimensions
        self.n_trusted_, self.n_local_, self.trusted_used_ = result.n_trusted, result.n_local, result.trusted_used
        self.implausible_reports_, self.private_release_ = result.implausible_reports, not result.privacy.seeded
        self.__dict__.pop("feature_names_in_", None)
        if names:
            self.feature_names_in_ = np.array(names, object)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:  # noqa: N803  (scikit-learn's name)
        """Return the nearest center of each row of ``X``, for your own use.

        The labels of private points are private.

        Columns are put in the order of ``feature_names_in_`` if both have names, and `DataError` is raised if one is
        missing. Distances are measured as in the study, by its ``scale``.
        """
        box = self._require_fitted().study_.box
        return nearest(self._scaled(X), box.scaled(self.cluster_centers_))

    def transform(self, X: ArrayLike) -> FloatArray:  # noqa: N803
        """Return the distance of each row of ``X`` to each center, for your own use.

        The array has the shape (n, n_clusters).

        `predict` compares the same distances: with ``scale="none"`` in the units of the data; else 1 is the whole
        range of a dimension (of the one with the largest weight).
        """
        box = self._require_fitted().study_.box
        points, centers = self._scaled(X), box.scaled(self.cluster_centers_)
        distances = np.stack([np.sqrt(np.sum((points - center) ** 2, axis=1)) for center in centers], axis=1)
        return distances * box.units[0] if box.scale == "none" else distances

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the column names of `transform`.

        Each name is the name of the class and a number, as in scikit-learn's KMeans.
        """
        self._require_fitted()
        return np.array([f"hybridkmeans{k}" for k in range(len(self.cluster_centers_))], object)

    def _scaled(self, X: ArrayLike) -> FloatArray:  # noqa: N803
        """Return the rows in the space where distances are measured."""
        names = getattr(self, "feature_names_in_", None)
        warn_of_names(X, names)
        points = self.study_.box.check(columns_by_name(X, names, "X"), "X")
        return self.study_.box.scaled(points.astype(np.float64))

    def explain(self) -> str:
        """Explain what was spent where, how much each group decided, and how uncertain the centers are."""
        return self._require_fitted().result_.explain()

    def plot(self, path: Path | str | None = None, *, dimensions: tuple[int, int] = (0, 1)) -> "Figure":
        """Draw the centers with ellipses of their uncertainty (95 %), in two of the dimensions; .png, .svg or .pdf."""
        return self._require_fitted().result_.plot(path, dimensions=dimensions)

    def _repr_html_(self) -> str:
        fitted = self.__sklearn_is_fitted__()
        return self.result_._repr_html_() if fitted else f"<pre>{escape(repr(self))}</pre>"

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> "HybridKMeans":  # noqa: ANN401
        """Change parameters by name."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ParameterError("the name of a parameter", f"one of {', '.join(known)}", name, shown_as="name")
            setattr(self, name, value)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a model without the counts that are not public."""
        return {name: value for name, value in self.__dict__.items() if name != "clamped_"}

    if not TYPE_CHECKING:  # to type checkers, unknown attributes stay errors

        def __getattr__(self, name: str) -> NoReturn:
            """Say why what scikit-learn's KMeans has is not here."""
            sentence = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name in _RAW:
                sentence += (
                    ": it would be a raw number about private points. See 'Why there are no labels and no inertia' in "
                    "the documentation of K-means; predict() tells the nearest centers of points of your own"
                )
            raise AttributeError(f"{sentence}.", name=name, obj=self)

    def __sklearn_is_fitted__(self) -> bool:
        return "cluster_centers_" in self.__dict__

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        data = {"target_tags": TargetTags(required=False), "input_tags": InputTags()}
        return Tags(estimator_type="clusterer", transformer_tags=TransformerTags(), **data)

    def _require_fitted(self) -> "HybridKMeans":
        if not self.__sklearn_is_fitted__():
            raise ProtocolError("This HybridKMeans is not fitted. Call fit() first.")
        return self

    def __repr__(self) -> str:
        shown = {name: value for name, value in self.get_params().items() if value is not None}
        text = short_parameters(shown)
        return f"HybridKMeans({text if len(text) < _LONGEST else short_parameters(shown, 16)})"
