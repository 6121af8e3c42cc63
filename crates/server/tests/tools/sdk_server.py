"""A server of tools made with the official Python SDK, for tests: its port is its only argument."""
import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

server = MCPServer("nursery")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def order(what: str, ctx: Context) -> str | InputRequiredResult:
    """Order a tree, once it is certain that it is wanted."""
    answers = ctx.input_responses or {}
    if "sure" not in answers:
        schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
        question = ElicitRequest(params=ElicitRequestFormParams(message=f"Really order {what}?", requested_schema=schema))
        return InputRequiredResult(input_requests={"sure": question}, request_state="asked once")
    answer = answers["sure"]
    sure = answer.action == "accept" and (answer.content or {}).get("sure") is True
    return f"ordered {what}" if sure else f"did not order {what}"


server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
