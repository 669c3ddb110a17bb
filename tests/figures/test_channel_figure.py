from pathlib import Path

from hybriddp.channels import WindowChannel
from hybriddp.figures.channel import draw


def test_the_picture_is_written(tmp_path: Path) -> None:
    draw(WindowChannel(epsilon=6), path=tmp_path / "channel.svg")
    text = (tmp_path / "channel.svg").read_text(encoding="utf-8")
    assert text.startswith("<?xml")
