"""Reads one OTLP request in protobuf from stdin and writes it as OTLP/JSON; the argument is the signal."""

import base64
import json
import sys

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

REQUESTS = {"traces": ExportTraceServiceRequest, "logs": ExportLogsServiceRequest}
IDS = ("traceId", "spanId", "parentSpanId")


def with_hex_ids(value, key=None):
    """OTLP writes ids in hex, other than protobuf's own JSON."""
    if isinstance(value, dict):
        return {name: with_hex_ids(held, name) for name, held in value.items()}
    if isinstance(value, list):
        return [with_hex_ids(held) for held in value]
    return base64.b64decode(value).hex() if key in IDS else value


request = REQUESTS[sys.argv[1]].FromString(sys.stdin.buffer.read())
json.dump(with_hex_ids(MessageToDict(request, use_integers_for_enums=True)), sys.stdout, ensure_ascii=False)
