"""Who trusts, by a column of a table: booleans, numbers, or yes and no in several languages."""

from dataclasses import dataclass
from typing import Any

from hybriddp.errors import DataError, ParameterError
from hybriddp.reporting.wording import counted
from hybriddp.tables.frames import is_text, nw

YES = ("yes", "y", "true", "t", "1", "1.0", "on", "ja", "j", "oui", "si", "sí", "sì", "sim")
NO = ("no", "n", "false", "f", "0", "0.0", "off", "nein", "nee", "nej", "non", "não", "nao", "")
"""Words of a column, in small letters. An empty cell means no: nobody trusts by saying nothing."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Who trusts: ``column`` for a column of yes and no, ``column=word`` where a word of its own means yes."""

    column: str
    word: str | None = None

    @classmethod
    def of(cls, text: str) -> "Trust":
        """Read a text such as ``consent`` or ``consent=yes``."""
        if not isinstance(text, str):
            raise ParameterError("trusted_if", "a column, or column=word", type(text).__name__, shown_as="type")
        column, equals, word = (part.strip() for part in text.partition("="))
        if not column or (equals and not word):
            raise ParameterError("trusted_if", "a column, or column=word", text)
        return cls(column, word or None)

    def expressions(self, dtype: Any) -> tuple[Any, Any]:  # noqa: ANN401
        """Return whether each row trusts, never null, and whether it says neither yes nor no."""
        x = nw.col(self.column)
        if dtype == nw.Boolean:
            yes, known = self._boolean(x)
        elif dtype.is_numeric():
            yes, known = self._numeric(x.cast(nw.Float64), nw.lit(value=True))
        elif is_text(dtype):
            text = x.cast(nw.String).str.strip_chars()
            if self.word is not None:
                yes, known = text == self.word, nw.lit(value=True)
            else:
                yes, known = text.is_in(_spelled(YES)), text.is_in(_spelled(YES + NO))
        else:
            raise DataError(f"Column {self.column!r} must say who trusts with yes and no, but holds {dtype}.")
        nobody, certain = nw.lit(value=False), nw.lit(value=True)
        missing = x.is_null()
        trusts = nw.when(missing).then(nobody).otherwise(yes)
        return trusts, nw.when(missing).then(nobody).otherwise(nw.when(known).then(nobody).otherwise(certain))

    def _boolean(self, x: Any) -> tuple[Any, Any]:  # noqa: ANN401
        if self.word is not None and self.word.lower() not in YES + NO:
            raise ParameterError("trusted_if", "a column, or column=true, since it holds booleans", self.word)
        return (~x if self.word is not None and self.word.lower() in NO else x), x | ~x

    def _numeric(self, x: Any, always: Any) -> tuple[Any, Any]:  # noqa: ANN401
        if self.word is None:
            return x == 1.0, x.is_in([0.0, 1.0])
        word = self.word.lower()
        named = {**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0)}.get(word)
        try:
            return x == (float(word) if named is None else named), always
        except ValueError:
            raise ParameterError("trusted_if", "column=number, since it holds numbers", self.word) from None


def refuse_unclear(column: str, n_rows: int) -> None:
    """Raise `DataError` if rows say neither that somebody trusts nor that they do not."""
    if n_rows:
        raise DataError(
            f"Column {column!r} says neither yes nor no in {counted(n_rows, 'row')}. Say which word means that "
            f'somebody trusts: trusted_if="{column}=WORD".'
        )


def _spelled(words: tuple[str, ...]) -> list[str]:
    return [spelled for word in words for spelled in dict.fromkeys((word, word.upper(), word.capitalize()))]
