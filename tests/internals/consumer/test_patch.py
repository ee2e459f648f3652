"""Test JSON Patch (RFC 6902): all or nothing, and in place."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_reasoning.consumer._patch import Document, PatchError, json_equal
from tests.support.streams import patches, states


def op(name: str, path: str, *value: Any, **more: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **({"value": value[0]} if value else {}), **more}


def apply_patch(value: Any, operations: list[dict[str, Any]], *, only_object: bool = False) -> Any:
    document = Document(value)
    document.patch(operations, only_object=only_object)
    return document.value


# The document, the patch, and the result, in the order of the examples of RFC 6902, appendix A.
GOOD: list[tuple[Any, list[dict[str, Any]], Any]] = [
    ({"foo": "bar"}, [op("add", "/baz", "qux")], {"baz": "qux", "foo": "bar"}),
    ({"foo": ["bar", "baz"]}, [op("add", "/foo/1", "qux")], {"foo": ["bar", "qux", "baz"]}),
    ({"baz": "qux", "foo": "bar"}, [op("remove", "/baz")], {"foo": "bar"}),
    ({"foo": ["bar", "qux", "baz"]}, [op("remove", "/foo/1")], {"foo": ["bar", "baz"]}),
    ({"baz": "qux"}, [op("replace", "/baz", "boo")], {"baz": "boo"}),
    ({"f": {"a": 1}, "q": {}}, [op("move", "/q/a", **{"from": "/f/a"})], {"f": {}, "q": {"a": 1}}),
    ({"foo": [1, 2, 3]}, [op("move", "/foo/2", **{"from": "/foo/0"})], {"foo": [2, 3, 1]}),
    ({"baz": "qux", "foo": ["a", 2]}, [op("test", "/baz", "qux"), op("test", "/foo/1", 2)], None),
    ({"foo": "bar"}, [op("add", "/child", {"grandchild": {}})], {"foo": "bar", "child": {"grandchild": {}}}),
    ({"foo": "bar"}, [op("add", "/baz", "qux", xyz=123)], {"foo": "bar", "baz": "qux"}),
    ({"/": 9, "~1": 10}, [op("test", "/~01", 10), op("replace", "/~1", 1)], {"/": 1, "~1": 10}),
    ({"foo": ["bar"]}, [op("add", "/foo/-", ["abc"])], {"foo": ["bar", ["abc"]]}),
    ({"a": [1]}, [op("copy", "/c", **{"from": "/a"}), op("add", "/c/-", 2)], {"a": [1], "c": [1, 2]}),
    ({"a": 1}, [op("replace", "", [1])], [1]),
    ({"a": 1}, [op("add", "", 5), op("test", "", 5)], 5),
    ({"a": 1}, [op("remove", "")], None.__class__),
    ({"a": 1, "b": 2}, [op("move", "", **{"from": "/a"})], 1),
    ({"a": 1}, [op("move", "/a", **{"from": "/a"})], {"a": 1}),
    ({"a": 1}, [op("move", "", **{"from": ""})], None),
    ({"a": 1}, [op("test", "/a", 1.0)], None),
    ({"": {"": 1}}, [op("replace", "//", 2)], {"": {"": 2}}),
]  # fmt: skip
BAD: list[tuple[Any, dict[str, Any]]] = [
    ({"foo": "bar"}, op("test", "/foo", "baz")),
    ({"foo": "bar"}, op("add", "/baz/bat", "qux")),
    ({"a": True}, op("test", "/a", 1)),
    ({"a": [0]}, op("test", "/a", [False])),
    ({"a": 1}, op("test", "/a", "1")),
    ({"a": []}, op("add", "/a/1", 1)),
    ({"a": []}, op("add", "/a/x", 1)),
    ({"a": [1]}, op("add", "/a/00", 1)),
    ({"a": [1]}, op("replace", "/a/-", 1)),
    ({"a": [1]}, op("remove", "/a/1")),
    ({"a": 1}, op("remove", "/b")),
    ({"a": 1}, op("replace", "/b", 1)),
    ({"a": 1}, op("add", "/a/b", 1)),
    ({"a": {"b": 1}}, op("move", "/a/b/c", **{"from": "/a/b"})),
    ({"a": 1}, op("copy", "/b", **{"from": "/c"})),
    (5, op("add", "/b", 1)),
    (None, op("add", "/b", 1)),
    ({"a": 1}, op("remove", "a")),
    ({"a": 1}, op("replace", "a", 2)),
    ({"a": 1}, op("move", "/b", **{"from": "a"})),
]


@pytest.mark.parametrize(("document", "operations", "result"), GOOD)
def test_what_applies(document: Any, operations: list[dict[str, Any]], result: Any) -> None:
    untouched = copy.deepcopy(document)
    wanted = untouched if result is None else None if result is type(None) else result
    assert apply_patch(document, operations) == wanted


@pytest.mark.parametrize(("document", "operation"), BAD)
def test_what_does_not_apply_changes_nothing(document: Any, operation: dict[str, Any]) -> None:
    before = copy.deepcopy(document)
    fitting = [op("add", "", document), op("test", "", before)]
    with pytest.raises(PatchError, match=r"operation 2 \("):
        apply_patch(document, [*fitting, operation])
    assert document == before


@given(states, patches)
def test_a_patch_applies_whole_or_not_at_all(document: Any, operations: list[dict[str, Any]]) -> None:
    operations = [operation for operation in operations if operation["op"] != "increment"]
    before, given_operations = copy.deepcopy(document), copy.deepcopy(operations)
    try:
        apply_patch(document, operations)
    except PatchError:
        assert json_equal(document, before)
    assert operations == given_operations


@given(states, st.lists(patches, max_size=4))
def test_a_patch_that_fails_leaves_a_document_in_use_as_it_was(
    value: Any, used: list[list[dict[str, Any]]]
) -> None:
    document = Document(copy.deepcopy(value))
    for operations in used:
        before = json.dumps(document.value, sort_keys=True)
        with pytest.raises(PatchError):
            document.patch([*operations, op("test", "/not/there", 1)])
        assert json.dumps(document.value, sort_keys=True) == before
        with suppress(PatchError):
            document.patch(operations)


@given(states)
def test_values_are_copied_in(value: Any) -> None:
    document = apply_patch({}, [op("add", "/a", value), op("copy", "/b", **{"from": "/a"})])
    assert json_equal(document, {"a": value, "b": value})
    if isinstance(value, (dict, list)):
        assert document["a"] is not value
        assert document["a"] is not document["b"]


def test_the_document_stays_and_the_result_may_have_to_be_an_object() -> None:
    document: dict[str, Any] = {"a": {}}
    assert apply_patch(document, [op("add", "/a/b", 1)]) == {"a": {"b": 1}}
    with pytest.raises(PatchError, match="not be an object"):
        apply_patch(document, [op("remove", "/a"), op("replace", "", 1)], only_object=True)
    assert document == {"a": {}}
