"""OpenAI Agents under the instrumentation named by INSTRUMENTATION; the model speaks Responses, or Chat Completions."""

import json
import os

from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, RunConfig, Runner, function_tool
from openai import AsyncOpenAI

import story
from telemetry import start_traces


def instrument():
    name = os.environ["INSTRUMENTATION"]
    if name == "logfire":
        import logfire

        logfire.configure(send_to_logfire=False, console=False, additional_span_processors=[exporter()])
        logfire.instrument_openai_agents()
        return logfire
    from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    traces = start_traces()
    OpenAIAgentsInstrumentor().instrument(tracer_provider=traces)
    return traces


def exporter():
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    return BatchSpanProcessor(OTLPSpanExporter())


@function_tool
def get_weather(city: str) -> str:
    """Get weather for a city"""
    return json.dumps(story.get_weather(city))


traces = instrument()
Model = OpenAIChatCompletionsModel if os.environ.get("API") == "chat" else OpenAIResponsesModel
client = AsyncOpenAI(base_url=story.MODEL_URL, api_key=story.API_KEY)
agent = Agent(
    name="weather_agent",
    instructions=story.SYSTEM,
    model=Model(model=story.MODEL, openai_client=client),
    tools=[get_weather],
)
turn = [*story.HISTORY, ("user", story.QUESTION)]
Runner.run_sync(
    agent,
    [{"role": role, "content": text} for role, text in turn],
    run_config=RunConfig(group_id=story.SESSION),
)
traces.shutdown()
