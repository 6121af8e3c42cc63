"""The simplest server of tools there is, for tests: it knows three words of the older protocol.

What it does at any other word is its manner: `agreeable` answers it with nothing in it, `touchy` ends. `hopeless` ends at any word.
"""
import json
import sys

manner = sys.argv[1]


def say(number, result):
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if number is None:
        continue
    if manner == "hopeless":
        sys.exit("no patience for " + method)
    if method == "initialize":
        info = {"name": "simple", "version": "1"}
        say(number, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        say(number, {"tools": [{"name": "count", "description": "Counts", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        say(number, {"content": [{"type": "text", "text": "three"}]})
    elif manner == "agreeable":
        say(number, {})
    elif manner == "touchy":
        sys.exit("there is no " + method)
