from hybriddp.service.pages.result import result_page

TITLE = "session minutes, <week> 47"


def _page(answer: str, warnings: tuple[str, ...] = ()) -> str:
    return result_page(TITLE, answer, warnings=warnings, promise="ε = 1.", n_trusted=200, n_local=5000)


def test_the_title_is_the_heading_and_not_in_the_answer() -> None:
    page = _page(f"{TITLE}: 41.0, between 37.1 and 44.9 (95 %).")
    assert "<h1>session minutes, &lt;week&gt; 47</h1>" in page
    assert '<p class="answer">41.0, between 37.1 and 44.9 (95 %).</p>' in page
    assert page.count("&lt;week&gt;") == 2  # the other one is the window's title


def test_an_answer_of_other_words_stays_as_it_is() -> None:
    assert '<p class="answer">No answer.</p>' in _page("No answer.")


def test_warnings_come_before_the_answer() -> None:
    page = _page("7.", ("A pilot.",))
    assert 0 < page.index("A pilot.") < page.index('class="answer"')
    assert "200 trusted participants and 5,000 local participants" in page
