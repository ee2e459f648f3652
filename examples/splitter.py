"""Reasoning inside the answer's text, cut in the middle of a tag, told apart without losing a character."""

from agui_reasoning.providers.think_tags import ThinkTagSplitter

stream = ["<thi", "nk>\nTwo and two", " are four.\n</th", "ink>\n\nFour. In HTML, <think> is no tag."]

splitter = ThinkTagSplitter()
pieces = [piece for text in stream for piece in splitter.feed(text)] + splitter.close()

for piece in pieces:
    print(f"{piece.kind:9} {piece.text!r}")

assert "".join(piece.text for piece in pieces) == "".join(stream)
