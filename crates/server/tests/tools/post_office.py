"""A server of tools that speaks the older protocol on its standard input and output, for tests.

Every letter that is sent is a line in $POST_FILE, so that whoever counts the lines knows what happened. It starts a process of
its own that would outlive it, and writes that one's number beside.
"""
import json
import os
import subprocess
import sys
import time

letters = os.environ["POST_FILE"]
helper = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
with open(letters + ".pids", "a") as pids:
    pids.write(f"{os.getpid()} {helper.pid}\n")


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def heard():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def tool(name, properties, hints=None, required=()):
    about = os.environ.get("POST_ABOUT", "Does " + name)
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return {"name": name, "description": about, "inputSchema": schema, "annotations": hints or {}}


TOOLS = [
    tool("count_letters", {}, {"readOnlyHint": True}),
    tool("send_letter", {"to": {"type": "string"}, "slow": {"type": "boolean"}, "words": {"type": "integer"}}, required=["to"]),
    tool("choose_stamp", {}, {"idempotentHint": True}),
    tool("sleep", {}, {"readOnlyHint": True}),
    tool("shout", {"letters": {"type": "integer"}, "depth": {"type": "integer"}}, {"readOnlyHint": True}),
    tool("fail", {}, {"readOnlyHint": True}),
    tool("environment", {}, {"readOnlyHint": True}),
]


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def call(name, arguments):
    if name == "send_letter":
        with open(letters, "a") as file:
            file.write(arguments["to"] + "\n")
        if arguments.get("slow"):
            time.sleep(600)
        return text("sent to " + arguments["to"] + "!" * arguments.get("words", 0))
    if name == "count_letters":
        count = len(open(letters).readlines()) if os.path.exists(letters) else 0
        return text(f"{count} letters", structuredContent={"count": count})
    if name == "choose_stamp":
        schema = {"type": "object", "properties": {"stamp": {"type": "string", "enum": ["red", "blue"]}}, "required": ["stamp"]}
        say({"id": "ask-1", "method": "elicitation/create", "params": {"message": "Which stamp?", "requestedSchema": schema}})
        while True:
            answer = heard()
            if answer.get("id") == "ask-1":
                return text("the stamp is " + json.dumps(answer["result"], sort_keys=True))
    if name == "sleep":
        time.sleep(600)
    if name == "shout":
        if arguments:
            with open(letters, "a") as file:
                file.write("shouted\n")
            sys.stderr.write("x" * 1_000_000)
        depth = arguments.get("depth", 0)
        nested = json.loads("[" * depth + "]" * depth) if depth else None
        return text("A" * arguments.get("letters", 500_000), **({"structuredContent": {"deep": nested}} if nested else {}))
    if name == "environment":
        return text(" ".join(sorted(os.environ)))
    return text("the post office burned down", isError=True)


while True:
    message = heard()
    method, number = message.get("method"), message.get("id")
    if number is None:
        continue
    if method == "initialize":
        info = {"name": "post office", "version": "1"}
        say({"id": number, "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}})
    elif method == "tools/list":
        say({"id": number, "result": {"tools": TOOLS}})
    elif method == "tools/call":
        say({"id": number, "result": call(message["params"]["name"], message["params"].get("arguments", {}))})
    elif method is not None:
        say({"id": number, "error": {"code": -32601, "message": "there is no " + method}})
