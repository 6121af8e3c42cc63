"""A model server for one tree, of 10,000 nodes unless its only argument says otherwise (9x10x10x10 is a root with nine nodes, each
with ten). Every node above the last level plans, and every leaf writes a document.

The aggregation of the root is not answered for an hour. So the run keeps all of its nodes and does not end during the measurement.
A line says when it is asked for, which is when the tree is whole, and again when the run was taken up after a kill."""
import asyncio
import json
import sys

FANS = [int(fan) for fan in (sys.argv[1] if len(sys.argv) > 1 else "9x10x10x10").split("x")]
PROSE = "Early peas and radishes go in first; they stand a late frost and are out of the way by June. "


def plan(title):
    level = title.count("/")
    steps = [{"id": f"s{nth}", "title": f"{title}/{nth}", "leaf": level + 1 == len(FANS)} for nth in range(FANS[level])]
    return {"mode": "plan", "plan": {"summary": "Bed by bed.", "bands": [{"index": 0, "steps": steps}]}}


def answer(role, title):
    if role == "tree_planner":
        return plan(title)
    if role == "tree_aggregator":
        result = {"synthesis": {"summary": PROSE, "key_findings": [], "gaps": []}, "result": {"summary": PROSE}}
        return result | {"next": {"should_replan": False}}
    page = {"type": "document", "label": "bed", "title": title, "markdown": f"{title}: {PROSE}"}
    return {"artifacts": [page], "result": {"summary": "Written.", "primary_artifact_label": "bed"}}


def chunks(text):
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 80, "total_tokens": 180}
    yield {"id": "x", "object": "chat.completion.chunk", "model": "forest", "choices": [choice]}
    yield {"id": "x", "object": "chat.completion.chunk", "model": "forest", "choices": [], "usage": usage}


async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").lower()
            headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            if " /v1/models" in head.split("\r\n")[0] or not body:
                text = json.dumps({"data": [{"id": "forest"}]}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(text) + text)
                continue
            prompt = next(one["content"] for one in json.loads(body)["messages"] if one["role"] == "user")
            title = next(line[6:] for line in prompt.splitlines() if line.startswith("Node: "))
            role = headers["x-pleach-role"]
            if role == "tree_aggregator" and "/" not in title:
                print("held", flush=True)
                await asyncio.sleep(3600)
            sent = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks(json.dumps(answer(role, title)))) + "data: [DONE]\n\n"
            head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(sent.encode())}\r\n\r\n"
            writer.write((head + sent).encode())
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 22)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
