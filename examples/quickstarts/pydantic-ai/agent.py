from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pydantic_ai import Agent, InstrumentationSettings

# Sends spans to OTEL_EXPORTER_OTLP_ENDPOINT. OTEL_SERVICE_NAME names the service.
telemetry = TracerProvider()
telemetry.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(telemetry)

agent = Agent(
    "openai:gpt-4o-mini",
    name="weather_agent",
    instructions="You are a weather assistant.",
)
agent.instrument = InstrumentationSettings(include_content=True)


@agent.tool_plain
def get_weather(city: str) -> dict:
    """Get weather for a city"""
    return {"city": city, "tempC": 18, "sky": "rain"}


# Pydantic AI sends the session, but no user: a span around the run carries it.
with trace.get_tracer("app").start_as_current_span("ask", attributes={"user.id": "user-9"}):
    result = agent.run_sync("What is the weather in Paris?", conversation_id="session-1")
print(result.output)

# Sends the last spans before the process ends.
telemetry.shutdown()
