from agents import Agent, Runner, function_tool
from openinference.instrumentation import using_attributes
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

# Sends spans to OTEL_EXPORTER_OTLP_ENDPOINT. OTEL_SERVICE_NAME names the service.
telemetry = TracerProvider()
telemetry.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
OpenAIAgentsInstrumentor().instrument(tracer_provider=telemetry)


@function_tool
def get_weather(city: str) -> dict:
    """Get weather for a city"""
    return {"city": city, "tempC": 18, "sky": "rain"}


agent = Agent(
    name="weather_agent",
    instructions="You are a weather assistant.",
    model="gpt-4o-mini",
    tools=[get_weather],
)
with using_attributes(session_id="session-1", user_id="user-9"):
    result = Runner.run_sync(agent, "What is the weather in Paris?")
print(result.final_output)

# Sends the last spans before the process ends.
telemetry.shutdown()
