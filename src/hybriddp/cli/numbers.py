"""Numbers as people type them: 252,540, 1 %, 0.5%, 1_000, 2e6."""

import typer


def number(text: str) -> float:
    """The number that a text means, with separators between thousands; a percentage becomes a share.

    Examples
    --------
    >>> number("252,540"), number("1 %"), number("0.005"), number("1_000")
    (252540.0, 0.01, 0.005, 1000.0)
    """
    bare = str(text).strip().replace("_", "")
    percent = bare.endswith("%")
    bare = bare.removesuffix("%").strip()
    groups = bare.split(".")[0].lstrip("+-").split(",")
    grouped = len(groups) == 1 or (1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]))
    try:
        value = float(bare.replace(",", "") if grouped else "?")
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number such as 252,540, 0.01 or 1%.") from None
    return value / 100 if percent else value
