"""Columns by name, in every kind of table that has names."""

import warnings
from collections.abc import Callable
from datetime import date
from functools import cache
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans

from hybriddp.errors import DataError, ParameterError
from hybriddp.kmeans.estimator import HybridKMeans
from hybriddp.kmeans.points import columns_by_name, names_of
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.tables import trusted_points

BOUNDS = {"age": (18, 90), "income": (0, 250_000)}
RNG = np.random.default_rng(5)
POINTS = np.array([[25.0, 25_000], [70, 60_000]])[RNG.integers(2, size=8000)] + RNG.standard_normal((8000, 2)) * [
    3,
    4000,
]
POINTS = np.round(POINTS)
TRUSTED, LOCAL = POINTS[:500], POINTS[500:]

KINDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas of whole numbers": lambda columns: pd.DataFrame(columns).astype("int64"),
    "pandas that may miss values": lambda columns: pd.DataFrame(columns).astype("Float64"),
    "pandas in Arrow": lambda columns: pd.DataFrame(columns).astype("double[pyarrow]"),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "narwhals": lambda columns: nw.from_native(pl.DataFrame(columns)),
}


def _frame(kind: str, points: np.ndarray, names: tuple[str, ...] = ("age", "income"), **more: Any) -> Any:
    both = {"age": points[:, 0].copy(), "income": points[:, 1].copy(), **more}
    return KINDS[kind]({name: both[name] for name in names})


def _new(bounds: Any = BOUNDS) -> HybridKMeans:
    return HybridKMeans(2, epsilon=3, bounds=bounds, random_state=1)


@cache
def _plain() -> HybridKMeans:
    return _new(list(BOUNDS.values())).fit(TRUSTED, LOCAL)


@pytest.mark.parametrize("bounds", [BOUNDS, list(BOUNDS.values())], ids=["named bounds", "bounds"])
@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_put_in_their_order_in_fit_predict_and_transform(kind: str, bounds: Any) -> None:
    turned = ("income", "age")
    model = _new(bounds).fit(_frame(kind, TRUSTED), _frame(kind, LOCAL, turned))
    assert model.feature_names_in_.tolist() == ["age", "income"]
    assert model.feature_names_in_.dtype == object
    np.testing.assert_array_equal(model.cluster_centers_, _plain().cluster_centers_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for names in (("age", "income"), turned):
            shown = _frame(kind, LOCAL[:100], names)
            np.testing.assert_array_equal(model.predict(shown), _plain().predict(LOCAL[:100]))
            np.testing.assert_array_equal(model.transform(shown), _plain().transform(LOCAL[:100]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_column_is_refused_in_the_words_of_scikit_learn(kind: str) -> None:
    model = _new().fit(_frame(kind, TRUSTED), _frame(kind, LOCAL))
    with pytest.raises(DataError, match="Feature names seen at fit time, yet now missing:\n- age"):
        model.predict(_frame(kind, LOCAL, ("income",)))
    with pytest.raises(ValueError, match="should match those that were passed during fit"):
        model.transform(_frame(kind, LOCAL, ("income", "visits"), visits=LOCAL[:, 0].copy()))
    with pytest.raises(DataError, match="local_points must have a column for every dimension, .* missing: age"):
        _new().fit(_frame(kind, TRUSTED), _frame(kind, LOCAL, ("income",)))


@pytest.mark.parametrize("kind", KINDS)
def test_other_columns_are_left_out_where_the_bounds_have_names(kind: str) -> None:
    names = ("consent", "income", "age")
    trusted, local = (_frame(kind, p, names, consent=np.ones(len(p))) for p in (TRUSTED, LOCAL))
    model = _new().fit(trusted, local)
    np.testing.assert_array_equal(model.cluster_centers_, _plain().cluster_centers_)
    np.testing.assert_array_equal(model.predict(local), _plain().predict(LOCAL))
    with pytest.raises(DataError, match="with 2 columns"):
        _new(list(BOUNDS.values())).fit(trusted, local)


@pytest.mark.parametrize("bounds", [BOUNDS, list(BOUNDS.values())], ids=["named bounds", "bounds"])
@pytest.mark.parametrize("names", [("age", "income"), ("income", "age")], ids=["in order", "turned"])
def test_a_group_with_names_and_one_without_are_refused(names: tuple[str, ...], bounds: Any) -> None:
    """Whether the columns of the array are in the order of the dataframe cannot be seen."""
    ledger = Ledger(Privacy(epsilon=3))
    new = HybridKMeans(2, epsilon=3, bounds=bounds)
    for array in (TRUSTED, TRUSTED.tolist(), pd.DataFrame(TRUSTED)):
        with pytest.raises(DataError, match="local_points has column names and trusted_points has none"):
            new.fit(array, _frame("polars", LOCAL, names), ledger=ledger)
        with pytest.raises(DataError, match="trusted_points has column names and local_points has none"):
            new.fit(_frame("pandas", LOCAL, names), array, ledger=ledger)
    assert ledger.events == ()


def test_arrays_with_named_bounds_are_taken_in_their_order_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="trusted_points and local_points have none: .* in the order of the bounds"):
        model = _new().fit(TRUSTED, LOCAL)
    np.testing.assert_array_equal(model.cluster_centers_, _plain().cluster_centers_)
    with pytest.warns(UserWarning, match="but local_points has none"):
        _new().fit(None, LOCAL)


def test_one_group_may_be_missing_and_names_are_forgotten_with_the_next_fit() -> None:
    assert _new().fit(None, _frame("pandas", LOCAL)).feature_names_in_.tolist() == ["age", "income"]
    model = _new(list(BOUNDS.values())).fit(_frame("pandas", TRUSTED), _frame("pandas", LOCAL))
    assert hasattr(model, "feature_names_in_")
    assert not hasattr(model.fit(TRUSTED, LOCAL), "feature_names_in_")
    assert not hasattr(clone(model), "feature_names_in_")


def test_columns_of_which_some_are_no_texts_are_refused_as_scikit_learn_does() -> None:
    named = _new().fit(_frame("pandas", TRUSTED), _frame("pandas", LOCAL))
    for names in (["age", 1], [0, "income"]):
        frame = pd.DataFrame(LOCAL, columns=names)
        with pytest.raises(TypeError, match="only supported if all input features have string names"):
            KMeans(2).fit(frame)
        for model in (named, _plain()):
            with pytest.raises(DataError, match="must all be texts, or none of them, but only 1 of 2 are"):
                model.predict(frame)
        with pytest.raises(DataError, match="must all be texts"):
            _new(list(BOUNDS.values())).fit(frame, frame)


def test_scikit_learns_warnings_where_only_one_has_names() -> None:
    named = _new().fit(_frame("pandas", TRUSTED), _frame("pandas", LOCAL))
    with pytest.warns(UserWarning, match="X does not have valid feature names, but HybridKMeans was fitted with"):
        named.predict(LOCAL[:5])
    with pytest.warns(UserWarning, match="X has feature names, but HybridKMeans was fitted without"):
        _plain().predict(_frame("pandas", LOCAL[:5]))


def test_what_is_missing_is_refused_and_never_shown() -> None:
    frame = pd.DataFrame({"age": pd.array([20, None], "Int64"), "income": [1.5, 77_123.25]})
    with pytest.raises(DataError, match="1 of 2 hold NaN") as caught:
        _new().fit(frame, _frame("pandas", LOCAL))
    assert "77" not in str(caught.value)
    with pytest.raises(DataError, match="Column 'age' of trusted_points must hold numbers, but holds str") as caught:
        _new().fit(pd.DataFrame({"age": ["Ada", "Eve"], "income": [1.0, 2.0]}), _frame("pandas", LOCAL))
    assert "Ada" not in str(caught.value)


def test_names_that_are_no_texts_are_none_and_names_must_differ() -> None:
    assert names_of(pd.DataFrame(TRUSTED)) is None
    assert names_of(TRUSTED) is None
    assert names_of([[1, 2]]) is None
    assert names_of(pl.DataFrame({"age": [1]}).lazy()) is None  # not read yet
    twice = pd.DataFrame(TRUSTED, columns=["age", "age"])
    with pytest.raises(DataError, match="must have different names"):
        columns_by_name(twice, ("age", "income"), "X")


def test_names_are_readable_texts() -> None:
    """They go to terminals and into pictures, which a null makes malformed."""
    names: list[Any] = [1, "", "a\0", "\x1b[2J", "\u202eega"]
    for name in names:
        with pytest.raises(ParameterError, match="^the name of a column must be a text .*, without control characters"):
            _new({name: (0, 1), "income": (0, 1)}).fit(TRUSTED, LOCAL)
        if isinstance(name, str):
            with pytest.raises(ParameterError, match="^the name of a column must be"):
                _new(list(BOUNDS.values())).fit(pd.DataFrame(TRUSTED, columns=[name, "income"]))


def test_names_are_in_the_story_the_picture_and_the_page() -> None:
    model = _new().fit(_frame("pandas", TRUSTED), _frame("pandas", LOCAL))
    assert "(age " in model.explain()
    assert ", income " in model.explain()
    axes = model.plot().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("age", "income")
    assert '<th scope="col">age</th><th scope="col">income</th>' in model._repr_html_()


# As HTML


def test_a_model_is_a_table_in_a_notebook() -> None:
    shown = _plain()._repr_html_()
    assert shown.count("<tr>") == 3
    assert '<th scope="col">dimension 1</th>' in shown
    assert "A simulation: NOT a private release." in shown
    assert " ± " in shown
    assert _new()._repr_html_().startswith("<pre>HybridKMeans(n_clusters=2")


@pytest.mark.slow
def test_markup_in_names_stays_text_and_large_tables_are_cut() -> None:
    points = np.random.default_rng(0).random((3000, 14))
    frame = pd.DataFrame(points, columns=["<script>", *(f"x{j}" for j in range(13))])
    model = HybridKMeans(60, epsilon=3, bounds=[(0, 1)] * 14, random_state=1, name="<b>").fit(None, frame)
    shown = model._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "<b>&lt;b&gt;</b>" in shown
    assert "and 10 more" in shown
    assert '<th scope="col">x10</th><th scope="col">…</th>' in shown


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "narwhals"])
def test_a_column_without_numbers_is_named(kind: str) -> None:
    columns: list[list[Any]] = [["a", "b"], [date(2026, 1, 1), date(2026, 1, 2)], [True, False]]
    for values in columns:
        frame = KINDS[kind]({"age": [30.0, 40.0], "income": values})
        words = r"Column 'income' of trusted_points must hold numbers, but holds \w+"
        with pytest.raises(DataError, match=words) as refused:
            _new().fit(frame)
        assert "2026" not in str(refused.value)


def test_none_is_a_missing_number() -> None:
    for missing in (None, pd.NA):
        frame = pd.DataFrame({"age": np.array([30, missing, 50], object), "income": [1.0, 2.0, 3.0]})
        with pytest.raises(DataError, match="trusted_points must be finite, but 1 of 3 hold NaN"):
            _new().fit(frame)
    numbers = pd.DataFrame({"age": np.array([30, 40.5, 50], object), "income": [1, 2, 3]})
    np.testing.assert_array_equal(columns_by_name(numbers, ("age", "income"), "X"), [[30, 1], [40.5, 2], [50, 3]])


def test_bounds_by_name_are_for_the_estimator_and_groups_of_tables_for_the_server() -> None:
    with pytest.raises(ParameterError, match="names of columns are for HybridKMeans only"):
        KMeansStudy("people", n_clusters=2, bounds=BOUNDS, epsilon=1)
    study = _new().study
    group = trusted_points(pl.DataFrame(TRUSTED, schema=["age", "income"]), study, columns=["age", "income"])
    with pytest.raises(DataError, match=r"are for HybridKMeansServer\(trusted=...\)\. Nothing has been spent\."):
        _new().fit(group)
    with pytest.raises(DataError, match=f"one for each pair of bounds, got {type(group).__name__}"):
        study.box.check(group)
