"""A weather agent that sends its traces over OpenTelemetry.

    python agent.py "What is the weather in Paris?" "And in Oslo?"

Each question is one run of the agent, and one trace. These variables configure it:
    MODEL                          model, gpt-4o-mini by default
    OPENAI_API_KEY                 key of the model's server
    OPENAI_BASE_URL                another server that speaks OpenAI's chat completions, for example http://127.0.0.1:11434/v1
    OTEL_EXPORTER_OTLP_ENDPOINT    address of spanscore or of a Collector, for example http://127.0.0.1:4318
    OTEL_EXPORTER_OTLP_HEADERS     token, where one is needed: authorization=Bearer%20the-token
    OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES    what rules of spanscore select by
"""

import os
import sys
import uuid

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pydantic_ai import Agent, InstrumentationSettings, ModelRetry
from pydantic_ai.models.openai import OpenAIChatModel

WEATHER = {
    "Lisbon": {"tempC": 21, "sky": "sun"},
    "Oslo": {"tempC": 3, "sky": "snow"},
    "Paris": {"tempC": 18, "sky": "rain"},
}

agent = Agent(
    OpenAIChatModel(os.environ.get("MODEL", "gpt-4o-mini")),
    name="weather_agent",
    instructions="You are a weather assistant. Answer from the tool's result only.",
)
# spanscore scores content: without it, the spans hold no questions and no answers.
agent.instrument = InstrumentationSettings(include_content=True)


@agent.tool_plain
def get_weather(city: str) -> dict:
    """Get the weather of a city now."""
    if city not in WEATHER:
        raise ModelRetry(f"There is no weather for {city}. Cities: {', '.join(WEATHER)}")
    return {"city": city, **WEATHER[city]}


def ask(question: str, session: str) -> str:
    # Pydantic AI sends the session, but no user: a span around the run carries it.
    tracer = trace.get_tracer("weather-app")
    user = os.environ.get("USER_ID", "anonymous")
    with tracer.start_as_current_span("ask", attributes={"user.id": user}):
        return agent.run_sync(question, conversation_id=session).output


def main() -> None:
    telemetry = TracerProvider()
    telemetry.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(telemetry)
    session = str(uuid.uuid4())
    try:
        for question in sys.argv[1:] or ["What is the weather in Paris?"]:
            print(ask(question, session))
    finally:
        # Sends the last spans, also when a run has failed.
        telemetry.shutdown()


if __name__ == "__main__":
    main()
