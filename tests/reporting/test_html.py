import pytest

from hybriddp.reporting.html import Section, alerts, paragraphs, render_page, table, wide
from hybriddp.reporting.palette import DARK, LIGHT


def test_everything_that_is_text_is_escaped() -> None:
    blocks = [*paragraphs(["<i>"]), *alerts(["<u>"]), table(["<s>"], [["<q>"]])]
    html = render_page("<title>", [Section("<b>", blocks)], footer="<a>")
    for tag in ("i", "u", "s", "q", "a"):
        assert f"<{tag}>" not in html
        assert f"&lt;{tag}&gt;" in html
    assert html.count("&lt;title&gt;") == 2
    assert "<h2>&lt;b&gt;</h2>" in html


def test_a_section_needs_no_heading_and_the_last_row_may_stand_out() -> None:
    assert "<h2>" not in render_page("x", [Section("", ["<svg></svg>"])])
    assert table([""], [["a"], ["b"]], last_is_ours=True).count('class="ours"') == 1
    assert '<tr class="ours"><td>b</td>' in table([""], [["a"], ["b"]], last_is_ours=True)
    assert 'class="ours"' not in table([""], [["a"], ["b"]])


def luminance(color: str) -> float:
    """Relative luminance, as WCAG defines it."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colors", [LIGHT, DARK])
def test_text_can_be_read_in_light_and_in_dark(colors: dict[str, str]) -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for text in ("ink", "muted", "link", "both", "danger", "trusted", "local"):
        assert contrast(colors[text], colors["paper"]) >= 4.5
    for ground in ("raised", "warn"):
        assert min(contrast(colors[text], colors[ground]) for text in ("ink", "muted", "link")) >= 4.5
    assert contrast(colors["on"], colors["both"]) >= 4.5  # buttons
    assert contrast(colors["edge"], colors["paper"]) >= 3  # what shows where a field is


def test_pages_have_both_sets_of_colors_and_the_same_names() -> None:
    html = render_page("x", [])
    assert LIGHT.keys() == DARK.keys()
    assert "@media (prefers-color-scheme: dark)" in html
    assert all(f"--{name}: {value};" in html for name, value in (*LIGHT.items(), *DARK.items()))
    assert '<html lang="en">' in html
    assert html.count("<main>") == html.count("<h1>") == html.count("<footer>") == 1


def test_wide_blocks_scroll_by_keyboard_and_have_a_name() -> None:
    assert wide("<table></table>", '"a"') == (
        '<div class="wide" role="region" tabindex="0" aria-label="&quot;a&quot;"><table></table></div>'
    )
    assert table(["", "n"], []).startswith('<table><thead><tr><td></td><th scope="col">n</th>')
