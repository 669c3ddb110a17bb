import pytest

from hybriddp import errors

EXIT_CODES: dict[type[errors.HybridDPError], int] = {
    errors.HybridDPError: 1,
    errors.MissingExtraError: 1,
    errors.NumericalError: 1,
    errors.ParameterError: 2,
    errors.BudgetError: 3,
    errors.DataError: 4,
    errors.ProtocolError: 4,
}


def test_the_tree_in_the_docstring_is_the_tree_in_the_code() -> None:
    drawn = errors.__doc__ or ""
    for name in errors.__all__:
        assert name in drawn
        assert issubclass(getattr(errors, name), errors.HybridDPError)
    assert issubclass(errors.ParameterError, ValueError)
    assert issubclass(errors.DataError, ValueError)
    assert issubclass(errors.MissingExtraError, ImportError)


def test_every_class_has_its_exit_code() -> None:
    assert {getattr(errors, name) for name in errors.__all__} == set(EXIT_CODES)
    assert all(kind.exit_code == code for kind, code in EXIT_CODES.items())


def test_a_parameter_error_is_one_sentence_and_a_remedy() -> None:
    error = errors.ParameterError("epsilon", "above 0", -1, remedy="Try 1.")
    assert str(error) == "epsilon must be above 0, got epsilon=-1. Try 1."
    assert (error.name, error.expected, error.value) == ("epsilon", "above 0", -1)


def test_a_long_value_is_shortened() -> None:
    message = str(errors.ParameterError("values", "numbers", "x" * 10_000))
    assert len(message) < 300
    assert message.endswith("….")


def test_a_missing_extra_names_the_command() -> None:
    error = errors.MissingExtraError("matplotlib", extra="plots", purpose="Drawing a picture")
    assert 'pip install "hybriddp[plots]"' in str(error)
    with pytest.raises(ImportError):
        raise error
