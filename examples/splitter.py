"""Separate reasoning from an answer that contains both, even if a tag is split between two pieces."""

from agui_reasoning.providers.think_tags import ThinkTagSplitter

stream = ["<thi", "nk>\nTwo and two", " are four.\n</th", "ink>\n\nFour. HTML has no <think> tag."]

splitter = ThinkTagSplitter()
pieces = [piece for text in stream for piece in splitter.feed(text)] + splitter.close()

for piece in pieces:
    print(f"{piece.kind:9} {piece.text!r}")

assert "".join(piece.text for piece in pieces) == "".join(stream)
