from hybriddp.page import Section, alerts, paragraphs, render_page, table


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
