"""Test each rule of `ThinkTagSplitter` by whole lists of pieces."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from agui_reasoning.errors import ConfigurationError, LocalProtocolError
from agui_reasoning.providers.think_tags import DEFAULT_TAGS, Piece, ThinkTagSplitter
from tests.support.effort import thinned
from tests.support.growth import assert_linear

if TYPE_CHECKING:
    from collections.abc import Iterable

Pairs = list[tuple[str, str]]


def raw(feeds: Iterable[str], *, start_in_reasoning: bool = False) -> Pairs:
    splitter = ThinkTagSplitter(start_in_reasoning=start_in_reasoning)
    pieces = [piece for feed in feeds for piece in splitter.feed(feed)] + splitter.close()
    return [(piece.kind, piece.text) for piece in pieces]


def merged(pairs: Pairs) -> Pairs:
    result: Pairs = []
    for kind, text in pairs:
        if result and result[-1][0] == kind and kind in ("reasoning", "text"):
            result[-1] = (kind, result[-1][1] + text)
        else:
            result.append((kind, text))
    return result


LEADING: dict[str, tuple[str, Pairs]] = {
    "nothing": ("", []),
    "plain text": ("Hello.", [("text", "Hello.")]),
    "only white space": (" \n", [("text", " \n")]),
    "white space before text": ("\n Hello. \n", [("text", "\n Hello. \n")]),
    "compact": (
        "<think>a</think>b",
        [("open", "<think>"), ("reasoning", "a"), ("close", "</think>"), ("text", "b")],
    ),
    "white space around the tags": (
        " \n<think>\r\n\ta b \n</think>\n\n c \n",
        [("open", " \n<think>\r\n\t"), ("reasoning", "a b"), ("close", " \n</think>\n\n "), ("text", "c \n")],
    ),
    "MiniMax before a tool call": (
        "<think>\nplan…\n</think>\n\n",
        [("open", "<think>\n"), ("reasoning", "plan…"), ("close", "\n</think>\n\n")],
    ),
    "white-space-only reasoning": (
        "<think>\n\n</think>\n\n",
        [("open", "<think>\n\n"), ("close", "</think>\n\n")],
    ),
    "empty reasoning": ("<think></think>b", [("open", "<think>"), ("close", "</think>"), ("text", "b")]),
    "interleaved": (
        "<think>a</think>\n<think>\nb\n</think>c",
        [
            ("open", "<think>"),
            ("reasoning", "a"),
            ("close", "</think>\n"),
            ("open", "<think>\n"),
            ("reasoning", "b"),
            ("close", "\n</think>"),
            ("text", "c"),
        ],
    ),
    "interleaved in another spelling": (
        "<think>a</think>[THINK]b</think>[/THINK]",
        [
            ("open", "<think>"),
            ("reasoning", "a"),
            ("close", "</think>"),
            ("open", "[THINK]"),
            ("reasoning", "b</think>"),
            ("close", "[/THINK]"),
        ],
    ),
    "tags in the answer": (
        "<think>a</think>b <think>c</think> d",
        [("open", "<think>"), ("reasoning", "a"), ("close", "</think>"), ("text", "b <think>c</think> d")],
    ),
    "tags in an answer without reasoning": ("See <think>c</think>.", [("text", "See <think>c</think>.")]),
    "orphan closing tag": ("</think>a", [("text", "</think>a")]),
    "orphan closing tag behind reasoning": (
        "<think>a</think>\n</think>b",
        [("open", "<think>"), ("reasoning", "a"), ("close", "</think>\n"), ("text", "</think>b")],
    ),
    "closing tag of another spelling": (
        "<think>a</thinking> b</think>",
        [("open", "<think>"), ("reasoning", "a</thinking> b"), ("close", "</think>")],
    ),
    "nested opening tag": (
        "<think><think>a</think>b</think>",
        [("open", "<think>"), ("reasoning", "<think>a"), ("close", "</think>"), ("text", "b</think>")],
    ),
    "closing tag begun twice": (
        "<think>a</</think>b",
        [("open", "<think>"), ("reasoning", "a</"), ("close", "</think>"), ("text", "b")],
    ),
    "closing tag nearly": (
        "<think>a \n</think b",
        [("open", "<think>"), ("reasoning", "a \n</think b")],
    ),
    "opening tag nearly": ("\n<thinkin>a", [("text", "\n<thinkin>a")]),
    "opening tag nearly, behind reasoning": (
        "<think>a</think> <thin",
        [("open", "<think>"), ("reasoning", "a"), ("close", "</think> "), ("text", "<thin")],
    ),
    "another case": (
        "<Think>a</THINK>b",
        [("open", "<Think>"), ("reasoning", "a"), ("close", "</THINK>"), ("text", "b")],
    ),
    "attributes": (
        "<think x='<' y>a</think>",
        [("text", "<think x='<' y>a</think>")],
    ),
    "attributes in the tag": (
        "<think x='1' y>a</think x>b</think>",
        [("open", "<think x='1' y>"), ("reasoning", "a</think x>b"), ("close", "</think>")],
    ),
    "attributes without end": (f"<think {'x' * 300}>a", [("text", f"<think {'x' * 300}>a")]),
    "white space in the tags": (
        "< \nthink >a<\n/ think\u200b>b",
        [("open", "< \nthink >"), ("reasoning", "a"), ("close", "<\n/ think\u200b>"), ("text", "b")],
    ),
    "nothing in the tag": ("<think/>a", [("text", "<think/>a")]),
    "a name that goes on": ("<think.x>a", [("text", "<think.x>a")]),
    "harmony": (
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>",
        [
            ("open", "<|channel|>analysis<|message|>"),
            ("reasoning", "a"),
            ("close", "<|end|><|start|>assistant<|channel|>final<|message|>"),
            ("text", "b<|return|>"),
        ],
    ),
    "harmony, interleaved": (
        "<|start|>assistant<|channel|>analysis to=x<|message|>a<|call|>"
        "<|channel|>analysis<|message|>b<|end|>",
        [
            ("open", "<|start|>assistant<|channel|>analysis to=x<|message|>"),
            ("reasoning", "a"),
            ("close", "<|call|>"),
            ("open", "<|channel|>analysis<|message|>"),
            ("reasoning", "b"),
            ("close", "<|end|>"),
        ],
    ),
    "harmony, another channel follows": (
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary<|message|>b",
        [
            ("open", "<|channel|>analysis<|message|>"),
            ("reasoning", "a"),
            ("close", "<|end|>"),
            ("text", "<|start|>assistant<|channel|>commentary<|message|>b"),
        ],
    ),
    "unclosed": ("<think>\na \n", [("open", "<think>\n"), ("reasoning", "a \n")]),
    "unclosed and empty": ("<think>\n", [("open", "<think>\n")]),
    "unclosed, closing tag cut": ("<think>a\n</thi", [("open", "<think>"), ("reasoning", "a\n</thi")]),
    "opening tag cut": (" <thin", [("text", " <thin")]),
    "ideographic and no-break spaces are content": (
        "<think>\u3000a\u00a0</think>\u3000b",
        [("open", "<think>"), ("reasoning", "\u3000a\u00a0"), ("close", "</think>"), ("text", "\u3000b")],
    ),
    "any blank before the tag": (
        "\ufeff\u3000\u200b<think>a",
        [("open", "\ufeff\u3000\u200b<think>"), ("reasoning", "a")],
    ),
    "any blank before text": ("\ufeff\u3000\u200ba", [("text", "\ufeff\u3000\u200ba")]),
}

PREFILLED: dict[str, tuple[str, Pairs]] = {
    "a full-width space before the end": (
        "\u3000 </think>b",
        [("reasoning", "\u3000"), ("close", " </think>"), ("text", "b")],
    ),
    "a full-width space before an opening tag": (
        "\u3000<think>a</think>b",
        [("open", "\u3000<think>"), ("reasoning", "a"), ("close", "</think>"), ("text", "b")],
    ),
    "nothing": ("", []),
    "closed": ("a\n</think>\n\nb", [("reasoning", "a"), ("close", "\n</think>\n\n"), ("text", "b")]),
    "white space first": ("\na</think>", [("reasoning", "\na"), ("close", "</think>")]),
    "only white space": (" \n", [("reasoning", " \n")]),
    "only white space, closed": ("\n\n</think>\n\n", [("close", "\n\n</think>\n\n")]),
    "closed at once": ("</think>b", [("close", "</think>"), ("text", "b")]),
    "unclosed": ("a b \n", [("reasoning", "a b \n")]),
    "opening tag leads all the same": (
        "\n<think>\na</thinking></think>b",
        [("open", "\n<think>\n"), ("reasoning", "a</thinking>"), ("close", "</think>"), ("text", "b")],
    ),
    "opening tag later": ("a<think>b</think>", [("reasoning", "a<think>b"), ("close", "</think>")]),
    "opening tag cut": (" <thin", [("reasoning", " <thin")]),
    "first of several closing tags": (
        "a[/THINK]b</think>c",
        [("reasoning", "a"), ("close", "[/THINK]"), ("text", "b</think>c")],
    ),
    "interleaved": (
        "a</thinking>\n<think>b</thinking></think>c",
        [
            ("reasoning", "a"),
            ("close", "</thinking>\n"),
            ("open", "<think>"),
            ("reasoning", "b</thinking>"),
            ("close", "</think>"),
            ("text", "c"),
        ],
    ),
}

CASES = [
    pytest.param(start, text, pairs, id=f"{mode}: {name}")
    for mode, start, cases in (("leading", False, LEADING), ("prefilled", True, PREFILLED))
    for name, (text, pairs) in cases.items()
]


@pytest.mark.parametrize(("start", "text", "pairs"), CASES)
def test_whole_stream_in_one_feed_gives_exactly_these_pieces(start: bool, text: str, pairs: Pairs) -> None:
    assert merged(raw([text], start_in_reasoning=start)) == pairs


@pytest.mark.parametrize(("start", "text", "pairs"), CASES)
def test_every_cut_in_two_gives_the_same_pieces(start: bool, text: str, pairs: Pairs) -> None:
    for cut in range(len(text) + 1):
        assert merged(raw([text[:cut], text[cut:]], start_in_reasoning=start)) == pairs


@pytest.mark.parametrize(("start", "text", "pairs"), CASES)
def test_one_character_at_a_time_gives_the_same_pieces(start: bool, text: str, pairs: Pairs) -> None:
    assert merged(raw(text, start_in_reasoning=start)) == pairs
    assert merged(raw(["", *text, ""], start_in_reasoning=start)) == pairs


@pytest.mark.parametrize(("opening", "closing"), DEFAULT_TAGS.items())
def test_every_spelling_is_split_at_every_cut(opening: str, closing: str) -> None:
    text = f"{opening}\na <b> [c] ◁d▷\n{closing}\n\ne {opening}"
    pairs = [
        ("open", f"{opening}\n"),
        ("reasoning", "a <b> [c] ◁d▷"),
        ("close", f"\n{closing}\n\n"),
        ("text", f"e {opening}"),
    ]
    for cut in range(len(text) + 1):
        assert merged(raw([text[:cut], text[cut:]])) == pairs


@pytest.mark.parametrize("closing", DEFAULT_TAGS.values())
def test_every_spelling_ends_prefilled_reasoning_at_every_cut(closing: str) -> None:
    text = f"a\n{closing}\nb"
    for cut in range(len(text) + 1):
        pairs = merged(raw([text[:cut], text[cut:]], start_in_reasoning=True))
        assert pairs == [("reasoning", "a"), ("close", f"\n{closing}\n"), ("text", "b")]


def test_the_spellings_are_these() -> None:
    assert list(DEFAULT_TAGS) == [
        "<think>",
        "<thinking>",
        "<thought>",
        "<reason>",
        "<reasoning>",
        "<antthinking>",
        "<seed:think>",
        "[THINK]",
        "◁think▷",
        "<|begin_of_thought|>",
        "<|START_THINKING|>",
        "<|channel>thought",
        "<unused94>thought",
        "<|channel|>analysis<|message|>",
    ]


def test_each_piece_comes_as_soon_as_it_is_certain() -> None:
    splitter = ThinkTagSplitter()
    steps: list[tuple[str, list[Piece]]] = [
        ("\n", []),
        ("<think", []),
        (">", []),
        (" ", []),
        ("a", [Piece("open", "\n<think> "), Piece("reasoning", "a")]),
        (" b ", [Piece("reasoning", " b")]),
        ("\n<", []),
        ("/x", [Piece("reasoning", " \n</x")]),
        ("</think", []),
        ("</think>", [Piece("reasoning", "</think")]),
        ("\n", []),
        ("<", [Piece("close", "</think>\n")]),
        ("b>", [Piece("text", "<b>")]),
        (" \n", [Piece("text", " \n")]),
        ("<think>", [Piece("text", "<think>")]),
    ]
    assert [(text, splitter.feed(text)) for text, _ in steps] == steps
    assert splitter.close() == []


def test_prefilled_reasoning_is_not_held_once_no_tag_can_lead() -> None:
    splitter = ThinkTagSplitter(start_in_reasoning=True)
    assert splitter.feed("\n<") == []
    assert splitter.feed("b") == [Piece("reasoning", "\n<b")]
    assert splitter.feed("<think>") == [Piece("reasoning", "<think>")]


def test_in_reasoning_follows_the_last_character() -> None:
    splitter = ThinkTagSplitter()
    seen = []
    for text in ("", "<think", ">", "a", "</think", ">", " ", "<think>", "</think>", "b"):
        splitter.feed(text)
        seen.append(splitter.in_reasoning)
    assert seen == [False, False, True, True, True, False, False, True, False, False]


@pytest.mark.parametrize(("text", "left_open"), [("a", True), ("a</think>", False), ("", True)])
def test_in_reasoning_tells_after_the_end_whether_reasoning_was_left_open(text: str, left_open: bool) -> None:
    splitter = ThinkTagSplitter(start_in_reasoning=True)
    assert splitter.in_reasoning
    splitter.feed(text)
    splitter.close()
    assert splitter.in_reasoning is left_open


def test_close_flushes_once() -> None:
    splitter = ThinkTagSplitter()
    assert splitter.feed("<think>a\n</thi") == [Piece("open", "<think>"), Piece("reasoning", "a")]
    assert splitter.close() == [Piece("reasoning", "\n</thi")]
    assert splitter.close() == []


@pytest.mark.parametrize("text", ["", "nk>secret"])
def test_a_feed_after_close_is_refused_and_changes_nothing(text: str) -> None:
    splitter = ThinkTagSplitter()
    splitter.feed("<think>a</thi")
    splitter.close()
    with pytest.raises(LocalProtocolError, match="splitter is closed") as caught:
        splitter.feed(text)
    assert (caught.value.code, caught.value.state) == ("closed", "closed")
    assert "secret" not in str(caught.value)
    assert splitter.in_reasoning
    assert splitter.close() == []


def test_repr_of_a_piece_shows_no_text() -> None:
    assert repr(Piece("reasoning", "secret")) == "Piece(kind='reasoning', length=6)"


def test_own_tags_replace_the_default_ones() -> None:
    tags = {"<plan>": "</plan>"}
    splitter = ThinkTagSplitter(tags=tags)
    tags.clear()
    assert splitter.feed("<plan>a</think></plan><think>") == [
        Piece("open", "<plan>"),
        Piece("reasoning", "a</think>"),
        Piece("close", "</plan>"),
        Piece("text", "<think>"),
    ]


def test_two_opening_tags_may_share_a_closing_tag() -> None:
    splitter = ThinkTagSplitter(tags=MappingProxyType({"<a>": "<end>", "<b>": "<end>"}))
    assert splitter.feed("<b>x<end><a>y<end>z") == [
        Piece("open", "<b>"),
        Piece("reasoning", "x"),
        Piece("close", "<end>"),
        Piece("open", "<a>"),
        Piece("reasoning", "y"),
        Piece("close", "<end>"),
        Piece("text", "z"),
    ]


def test_an_opening_tag_is_not_also_the_start_of_a_closing_tag() -> None:
    splitter = ThinkTagSplitter(tags={"ab": "bab"})
    assert splitter.feed("aba") == [Piece("open", "ab"), Piece("reasoning", "a")]
    assert splitter.feed("b") + splitter.close() == [Piece("reasoning", "b")]


@pytest.mark.parametrize("opening", ["||", "a||"])
def test_a_closing_tag_may_end_the_opening_tag(opening: str) -> None:
    splitter = ThinkTagSplitter(tags={opening: "||"})
    assert splitter.feed(f"{opening}x||y") == [
        Piece("open", opening),
        Piece("reasoning", "x"),
        Piece("close", "||"),
        Piece("text", "y"),
    ]


@pytest.mark.parametrize(
    "tags",
    [
        {},
        {"": "</a>"},
        {"<a>": ""},
        {" <a>": "</a>"},
        {"<a>": "</a>\n"},
        {"<a": "x", "<ab": "y"},
        {"<a>": "end", "<b>": "the end."},
        {"<end>": "end"},
        {"<a>": "</a>", "<A>": "</b>"},
    ],
)
def test_tags_that_cannot_be_told_apart_are_refused(tags: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ThinkTagSplitter(tags=tags)
    assert caught.value.code == "bad_tags"


def test_tags_that_count_anywhere_split_the_answer_at_every_cut() -> None:
    text = "a <b> <think>\nc</think> d <thinking>e</thinking> <Think x>f</think>"
    pairs = [
        ("text", "a <b> "),
        ("open", "<think>\n"),
        ("reasoning", "c"),
        ("close", "</think> "),
        ("text", "d <thinking>e</thinking> "),
        ("open", "<Think x>"),
        ("reasoning", "f"),
        ("close", "</think>"),
    ]
    for cut in range(len(text) + 1):
        splitter = ThinkTagSplitter(anywhere=["<think>"])
        pieces = splitter.feed(text[:cut]) + splitter.feed(text[cut:]) + splitter.close()
        assert merged([(piece.kind, piece.text) for piece in pieces]) == pairs


def test_a_tag_that_counts_anywhere_must_be_one_of_the_tags() -> None:
    with pytest.raises(ConfigurationError) as caught:
        ThinkTagSplitter(anywhere=["<plan>"])
    assert caught.value.code == "bad_tags"


def told(*steps: tuple[bool, str]) -> Pairs:
    """What comes of text whose nature another sign tells."""
    splitter = ThinkTagSplitter()
    pieces = []
    for reasoning, text in steps:
        pieces += splitter.begin_reasoning() if reasoning else splitter.end_reasoning()
        pieces += splitter.feed(text)
    return merged([(piece.kind, piece.text) for piece in pieces + splitter.close()])


def test_another_sign_than_a_tag_begins_and_ends_reasoning() -> None:
    assert told((True, "a"), (True, " b "), (False, "c"), (True, "d"), (False, "e")) == [
        ("reasoning", "a b "),
        ("text", "c"),
        ("reasoning", "d"),
        ("text", "e"),
    ]


def test_tags_around_what_is_known_to_be_reasoning_are_tags() -> None:
    assert told((True, " <think>a"), (False, "b"), (False, "</think>c")) == [
        ("open", " <think>"),
        ("reasoning", "ab"),
        ("close", "</think>"),
        ("text", "c"),
    ]
    assert told((True, "a"), (False, "\n</th"), (False, "ought>\nb")) == [
        ("reasoning", "a"),
        ("close", "\n</thought>\n"),
        ("text", "b"),
    ]
    assert told((True, "<think>a</think>"), (False, "b")) == [
        ("open", "<think>"),
        ("reasoning", "a"),
        ("close", "</think>"),
        ("text", "b"),
    ]


def test_what_another_sign_tells_is_refused_after_close() -> None:
    splitter = ThinkTagSplitter()
    splitter.close()
    for tell in (splitter.begin_reasoning, splitter.end_reasoning):
        with pytest.raises(LocalProtocolError):
            tell()


LONG = 200_000


@pytest.mark.growth
@pytest.mark.parametrize(
    ("head", "unit"),
    thinned(
        [
            ("", " "),
            ("<think>", "\n"),
            ("<think>a", " "),
            ("<think>a", "<"),
            ("<think>a", " <"),
            ("<think>a</think>", "\n"),
            ("", "<think> a </think> "),
            ("a", "<"),
            ("<think>a", "< "),
            ("", "< "),
            ("<|channel|>analysis<|message|>a", "<|"),
            ("<think ", "x"),
        ],
        3,
    ),
)
@pytest.mark.parametrize("size", [1, LONG])
def test_time_is_linear_in_the_stream(head: str, unit: str, size: int) -> None:
    def feeds(length: int) -> list[str]:
        text = head + unit * (length // len(unit))
        return [text[start : start + size] for start in range(0, len(text), size)]

    def split(pieces: list[str]) -> None:
        assert "".join(piece for _, piece in raw(pieces)) == "".join(pieces)

    assert_linear(feeds, split, LONG // 8)
