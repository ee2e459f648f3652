"""Test the laws of `ThinkTagSplitter`: it loses nothing, holds little, and no cut changes its result."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agui_reasoning.errors import ConfigurationError
from agui_reasoning.providers.think_tags import DEFAULT_TAGS, ThinkTagSplitter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Pairs = list[tuple[str, str]]

SPACES = " \t\n\r\f\v"
HEADS = [f"<|start|>assistant<|channel|>{channel}<|message|>" for channel in ("analysis", "final")]
DELIMITERS = [*DEFAULT_TAGS.keys(), *DEFAULT_TAGS.values(), *HEADS, "<|call|>", "<|return|>"]
FRAGMENTS = sorted(
    {tag[start:end] for tag in DELIMITERS for start in (0, 1, 2) for end in range(3, len(tag))}
)

texts = st.lists(
    st.one_of(
        st.sampled_from(["<think>", "</think>"]),
        st.sampled_from(DELIMITERS),
        st.sampled_from(FRAGMENTS),
        st.sampled_from(
            ["<Think>", "< think\n>", "<THINK a='b'>", "< / think >", "</Think\u200b>", "<think "]
        ),
        st.sampled_from(["<|start|>assistant", "<|channel|>final<|message|>", "<|call|>", " to=x"]),
        st.sampled_from([*SPACES, "\n\n", "\u3000", "\u00a0", "\x1c", "\ufeff", "\u200b"]),
        st.sampled_from([*"<>/[]◁▷a", "Hm.", "🤔", "<b>"]),
        st.text(max_size=3),
    ),
    max_size=14,
).map("".join)


def accepted(tags: Mapping[str, str]) -> bool:
    try:
        ThinkTagSplitter(tags=tags)
    except ConfigurationError:
        return False
    return True


# Tags and text over two letters: every kind of overlap between tags comes up.
small_tag = st.from_regex("[ab]([ab ]{0,2}[ab])?", fullmatch=True)
small_tags = st.dictionaries(small_tag, small_tag, min_size=1, max_size=3).filter(accepted)
small_texts = st.text("ab \n", max_size=24)


BLANK = r"[\s\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]"
HARMONY = "<|channel|>analysis<|message|>"
FINAL = r"(?:<\|start\|>assistant)?<\|channel\|>final[^<]{0,128}<\|message\|>"


def opening(tag: str) -> str:
    if tag == HARMONY:
        return r"(?:<\|start\|>assistant)?<\|channel\|>analysis[^<]{0,128}<\|message\|>"
    if re.fullmatch(r"<[A-Za-z][\w:]*>", tag):
        return rf"<{BLANK}{{0,16}}{tag[1:-1]}(?:{BLANK}{{0,16}}|{BLANK}[^<>]{{0,256}}(?<!/))>"
    return re.escape(tag)


def closing(tag: str) -> str:
    if tag == DEFAULT_TAGS[HARMONY]:
        return rf"(?:<\|end\|>|<\|return\|>|<\|call\|>|{FINAL})[{SPACES}]*(?:{FINAL})?"
    if re.fullmatch(r"</[A-Za-z][\w:]*>", tag):
        return rf"<{BLANK}{{0,16}}/{BLANK}{{0,16}}{tag[2:-1]}{BLANK}{{0,16}}>"
    return re.escape(tag)


def reference(text: str, *, start_in_reasoning: bool, tags: Mapping[str, str]) -> Pairs:
    """The rules, read off the whole text at once."""
    space = f"[{SPACES}]*"
    pairs: Pairs = []
    ends = list(tags.values()) if start_in_reasoning else []
    prefilled = start_in_reasoning
    while True:
        for tag, end in tags.items():
            opened = re.match(f"{BLANK}*{opening(tag)}{space}", text, re.IGNORECASE)
            if opened:
                pairs.append(("open", opened[0]))
                text = text[opened.end() :]
                ends, prefilled = [end], False
                break
        if not ends:
            return non_empty([*pairs, ("text", text)])
        either = "|".join(closing(end) for end in ends)
        if prefilled:
            # No head of an answer is looked for where nobody knows which tag was in the prompt.
            either = either.replace(f"[{SPACES}]*(?:{FINAL})?", "")
        closed = re.search(f"{space}(?:{either}){space}", text, re.IGNORECASE)
        if not closed:
            return non_empty([*pairs, ("reasoning", text)])
        pairs += [("reasoning", text[: closed.start()]), ("close", closed[0])]
        text = text[closed.end() :]
        ends, prefilled = [], False


def non_empty(pairs: Pairs) -> Pairs:
    return [(kind, text) for kind, text in pairs if text]


def merged(pairs: Pairs) -> Pairs:
    result: Pairs = []
    for kind, text in pairs:
        if result and result[-1][0] == kind and kind in ("reasoning", "text"):
            result[-1] = (kind, result[-1][1] + text)
        else:
            result.append((kind, text))
    return result


def split(feeds: Iterable[str], *, start_in_reasoning: bool, tags: Mapping[str, str] = DEFAULT_TAGS) -> Pairs:
    splitter = ThinkTagSplitter(start_in_reasoning=start_in_reasoning, tags=tags)
    pieces = [piece for feed in feeds for piece in splitter.feed(feed)] + splitter.close()
    return [(piece.kind, piece.text) for piece in pieces]


def cut(data: st.DataObject, text: str) -> list[str]:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8).map(sorted), label="cuts")
    return [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]


@given(text=texts, start=st.booleans(), data=st.data())
def test_the_pieces_joined_are_the_stream_and_none_is_empty(
    text: str, start: bool, data: st.DataObject
) -> None:
    pairs = split(cut(data, text), start_in_reasoning=start)
    assert "".join(piece for _, piece in pairs) == text
    assert all(piece for _, piece in pairs)


@given(text=texts, start=st.booleans(), data=st.data())
def test_any_cutting_gives_the_pieces_of_the_reference(text: str, start: bool, data: st.DataObject) -> None:
    expected = reference(text, start_in_reasoning=start, tags=DEFAULT_TAGS)
    assert merged(split(cut(data, text), start_in_reasoning=start)) == expected
    assert merged(split([text], start_in_reasoning=start)) == expected
    assert merged(split(text, start_in_reasoning=start)) == expected


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(tags=small_tags, text=small_texts, lead=st.booleans(), start=st.booleans(), data=st.data())
def test_any_accepted_tags_give_the_pieces_of_the_reference(
    tags: dict[str, str], text: str, lead: bool, start: bool, data: st.DataObject
) -> None:
    text = next(iter(tags)) + text if lead else text
    expected = reference(text, start_in_reasoning=start, tags=tags)
    assert merged(split(cut(data, text), start_in_reasoning=start, tags=tags)) == expected
    assert merged(split(text, start_in_reasoning=start, tags=tags)) == expected


@given(text=texts, start=st.booleans())
@example(text="<think>a \n</think> \n<thi", start=False)
@example(text="\u3000</think>", start=True)
def test_only_what_may_still_be_a_delimiter_is_held_back(text: str, start: bool) -> None:
    splitter = ThinkTagSplitter(start_in_reasoning=start)
    emitted = 0
    for end, character in enumerate(text, 1):
        emitted += sum(len(piece.text) for piece in splitter.feed(character))
        assert emitted == end or may_be_delimiter(text[:end], emitted, start_in_reasoning=start)


def may_be_delimiter(text: str, begin: int, *, start_in_reasoning: bool) -> bool:
    """Whether some continuation makes ``text`` from ``begin`` on part of one delimiter."""
    continuations = {"", *(tag[start:] for tag in DELIMITERS for start in range(len(tag)))}
    for continuation in continuations:
        offset = 0
        for kind, piece in reference(
            text + continuation, start_in_reasoning=start_in_reasoning, tags=DEFAULT_TAGS
        ):
            if offset == begin and kind in ("open", "close") and offset + len(piece) >= len(text):
                return True
            offset += len(piece)
    return False


@given(text=texts, start=st.booleans())
def test_in_reasoning_after_the_end_says_whether_the_reference_left_it_open(text: str, start: bool) -> None:
    splitter = ThinkTagSplitter(start_in_reasoning=start)
    splitter.feed(text)
    splitter.close()
    pairs = reference(text, start_in_reasoning=start, tags=DEFAULT_TAGS)
    assert splitter.in_reasoning == (pairs[-1][0] in ("open", "reasoning") if pairs else start)
