import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.internals.demo import marked_lines

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def texts(*how, **more):
    return [(line.text, line.size) for line in marked_lines(*how, **more)]


@given(values)
def test_what_fits_is_the_same_json(value):
    assert json.loads("".join(line.text for line in marked_lines(value, 10_000))) == value


@given(values)
def test_marks_change_nothing_but_the_lines(value):
    marked = [path for path, _ in leaves(value, "")]
    shown = marked_lines(value, 10_000, marked)
    assert json.loads("".join(line.text for line in shown)) == value
    assert [line.path for line in shown if line.path] == [path for path in marked if path]


def leaves(value, path):
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    if not isinstance(value, dict | list):
        yield path, value
    for name, member in members:
        yield from leaves(member, f"{path}/{str(name).replace('~', '~0').replace('/', '~1')}")


def test_a_long_value_loses_its_middle_and_tells_its_bytes():
    assert texts({"data": "é" * 100}, 60) == [
        ("{", ""),
        ('  "data": "éééééééééé…éééééé"', "200 bytes"),
        ("}", ""),
    ]


def test_long_words_lose_their_end():
    (_, (text, size), _) = texts(["so many words that they do not fit on the line"], 36)
    assert (text, size) == ('  "so many words that th…"', "46 bytes")


@pytest.mark.parametrize("words", ['"quotes" ' * 20, "two\nlines " * 20, "\x00 " * 40])
def test_escapes_are_counted(words):
    for text, size in texts([words], 50):
        assert len(f"{text}  {size}".rstrip()) <= 50


def test_a_mark_takes_its_room():
    value = {"id": "x" * 30}
    assert texts(value, 50, ["/id"])[1] == (f'  "id": "{"x" * 30}"', "")
    assert texts(value, 50, ["/id"], mark=20)[1] == ('  "id": "xxxxxxxxxx…xxxxxx"', "30 bytes")
