"""A collector made of OpenTelemetry's own message types: every request must be a valid ExportTraceServiceRequest. Prints its
address, then each span it understood, as lines of JSON."""
import base64
import json
from http.server import BaseHTTPRequestHandler, HTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status


def in_base64(value):
    """OTLP writes ids in hex where the JSON of protocol buffers has bytes in base64."""
    if isinstance(value, list):
        return [in_base64(one) for one in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    turned = lambda name, one: base64.b64encode(bytes.fromhex(one)).decode() if name in ids else in_base64(one)
    return {name: turned(name, one) for name, one in value.items()}


class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        assert self.path == "/v1/traces" and self.headers["content-type"] == "application/json", self.path
        request = json_format.ParseDict(in_base64(json.loads(body)), ExportTraceServiceRequest())
        for resource in request.resource_spans:
            service = {one.key: one.value.string_value for one in resource.resource.attributes}["service.name"]
            for scope in resource.scope_spans:
                for span in scope.spans:
                    attributes = {
                        one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes
                    }
                    line = {
                        "service": service,
                        "name": span.name,
                        "kind": Span.SpanKind.Name(span.kind),
                        "trace": span.trace_id.hex(),
                        "span": span.span_id.hex(),
                        "parent": span.parent_span_id.hex(),
                        "ns": span.end_time_unix_nano - span.start_time_unix_nano,
                        "status": Status.StatusCode.Name(span.status.code),
                        "attributes": attributes,
                    }
                    print(json.dumps(line), flush=True)
        answer = b"{}"
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Collector)
print(json.dumps({"url": f"http://127.0.0.1:{server.server_port}"}), flush=True)
server.serve_forever()
