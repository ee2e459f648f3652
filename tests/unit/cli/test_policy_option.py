"""Test ``--policy``: rows of the user's own, from a file."""

import json

OWN = """
[[rule]]
api = "openai-chat"
provider = ["acme*"]
status = "accepted"
field = ["reasoning_content"]
scope = "all"

[[rule]]
api = "openai-chat"
provider = ["zai"]
model = ["glm-*"]
status = "required"
field = ["reasoning"]
scope = "tool_loop"
"""


def write(folder, text):
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_providers_shows_the_rows_that_count_with_the_file(tmp_path, cli):
    path = write(tmp_path, OWN)
    row = ("providers", "zai", "--api", "openai-chat", "--model", "glm-5")
    assert [rule["field"] for rule in json.loads(cli(*row, "--json", "--policy", path).stdout)] == [
        ["reasoning"]
    ]
    assert [rule["field"] for rule in json.loads(cli(*row, "--json").stdout)] == [["reasoning_content"]]
    assert cli("providers", "acme-1", "--api", "openai-chat", "--policy", path).stdout == (
        "openai-chat · acme*  accepted\n  goes to     reasoning_content, all\n"
    )
    assert "[unknown_provider]" in cli("providers", "acme-1").stderr


def test_request_follows_the_file_and_names_a_wrong_row(tmp_path, cli):
    messages = tmp_path / "messages.json"
    messages.write_text(json.dumps([{"id": "1", "role": "user", "content": "Hi."}]), encoding="utf-8")
    command = ("request", str(messages), "--api", "openai-chat", "--provider", "acme", "--model", "m1")
    assert cli(*command, "--policy", write(tmp_path, OWN)).status == 0
    told = cli(*command, "--policy", write(tmp_path, "[[rule]]\napi = 'ollama'"))
    assert (told.status, told.stdout, told.stderr.count("\n")) == (2, "", 1)
    assert "row 1, `status`: Field required" in told.stderr
    assert told.stderr.endswith("[bad_policy]\n")
