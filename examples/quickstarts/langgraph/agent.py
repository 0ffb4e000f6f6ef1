from langchain.agents import create_agent
from langchain.tools import tool
from langchain_openai import ChatOpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

# Sends spans to OTEL_EXPORTER_OTLP_ENDPOINT. OTEL_SERVICE_NAME names the service.
telemetry = TracerProvider()
telemetry.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
LangChainInstrumentor().instrument(tracer_provider=telemetry)


@tool
def get_weather(city: str) -> dict:
    """Get weather for a city"""
    return {"city": city, "tempC": 18, "sky": "rain"}


# A compiled LangGraph graph. A graph of your own is traced in the same way.
agent = create_agent(
    ChatOpenAI(model="gpt-4o-mini"),
    [get_weather],
    system_prompt="You are a weather assistant.",
    name="weather_agent",
)
result = agent.invoke(
    {"messages": [("user", "What is the weather in Paris?")]},
    config={"metadata": {"session_id": "session-1", "user_id": "user-9"}},
)
print(result["messages"][-1].text)

# Sends the last spans before the process ends.
telemetry.shutdown()
