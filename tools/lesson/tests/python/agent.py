"""A coding agent in sixty lines, with nothing but Python's standard library.

It keeps the contract of step 00: user lines on standard input, its own words on standard output,
and the model that the environment names. Judge it, or your own in any language, from the folder
that it is in:

    cargo run -p lesson -- check 00 -- python3 agent.py
"""

import json
import os
import sys
import urllib.error
import urllib.request

TOOLS = [{
    "name": "read_file",
    "description": "Reads a text file of the project.",
    "input_schema": {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
}]


def ask(messages):
    """Sends the whole conversation, and returns the model's reply."""
    body = {"model": os.environ["ANTHROPIC_MODEL"], "max_tokens": 4096,
            "tools": TOOLS, "messages": messages}
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01",
               "x-api-key": os.environ["ANTHROPIC_API_KEY"]}
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        sys.exit(f"the model answered {error.code}: {error.read().decode()}")


def run_tool(call):
    """One result for one call; what went wrong goes to the model, which may do better."""
    result = {"type": "tool_result", "tool_use_id": call["id"]}
    try:
        with open(call["input"]["path"], encoding="utf-8") as file:
            return {**result, "content": file.read()}
    except (OSError, ValueError, KeyError) as error:
        return {**result, "content": f"error: {error}", "is_error": True}


def run(messages):
    """The loop: ask, run what is called, send the results, until nothing is called any more."""
    while True:
        reply = ask(messages)
        messages.append({"role": "assistant", "content": reply["content"]})
        for block in reply["content"]:
            if block["type"] == "text":
                print(block["text"], flush=True)
        calls = [block for block in reply["content"] if block["type"] == "tool_use"]
        if not calls:
            return
        messages.append({"role": "user", "content": [run_tool(call) for call in calls]})


sys.stdout.reconfigure(encoding="utf-8")
history = []
for line in sys.stdin:
    history.append({"role": "user", "content": line.rstrip("\n")})
    run(history)
