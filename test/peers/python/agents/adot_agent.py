"""An agent under AWS's distribution of OpenTelemetry, which moves content from spans to log records."""

import json
import os

import botocore.session
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from amazon.opentelemetry.distro.exporter.otlp.aws.traces.otlp_aws_span_exporter import OTLPAwsSpanExporter
from amazon.opentelemetry.distro.gen_ai_nested_client_span_processor import GenAINestedClientSpanProcessor

import story
from telemetry import start_logs

REGION = "us-east-1"
ENDPOINT = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"


def start_traces(logs) -> TracerProvider:
    """As the distribution does it, with its exporter, its handler of content and an address on loopback."""
    session = botocore.session.get_session()
    session.set_credentials("none", "none")
    exporter = OTLPAwsSpanExporter(REGION, session, endpoint=ENDPOINT, logger_provider=logs)
    provider = TracerProvider()
    provider.add_span_processor(GenAINestedClientSpanProcessor())
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return provider


def play_with_strands():
    import boto3
    from opentelemetry.instrumentation.botocore import BotocoreInstrumentor
    from strands import Agent, tool
    from strands.models import BedrockModel

    BotocoreInstrumentor().instrument(tracer_provider=traces)
    session = boto3.Session(aws_access_key_id="none", aws_secret_access_key="none", region_name=REGION)
    model = BedrockModel(
        boto_session=session,
        endpoint_url=story.MODEL_URL.removesuffix("/v1"),
        model_id=story.MODEL,
        streaming=False,
    )
    agent = Agent(
        name="weather_agent",
        model=model,
        system_prompt=story.SYSTEM,
        messages=[{"role": role, "content": [{"text": text}]} for role, text in story.HISTORY],
        tools=[tool(story.get_weather)],
        trace_attributes={"session.id": story.SESSION, "user.id": story.USER},
        callback_handler=None,
    )
    agent(story.QUESTION)


def play_with_langchain():
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    langchain_instrumentor().instrument(tracer_provider=traces)

    @tool
    def get_weather(city: str) -> str:
        """Get weather for a city"""
        return json.dumps(story.get_weather(city))

    model = ChatOpenAI(model=story.MODEL, base_url=story.MODEL_URL, api_key=story.API_KEY)
    agent = create_agent(model, [get_weather], system_prompt=story.SYSTEM, name="weather_agent")
    agent.invoke({"messages": [*story.HISTORY, ("user", story.QUESTION)]})


def langchain_instrumentor():
    """The distribution's own, OpenLLMetry's or OpenInference's instrumentation."""
    name = os.environ["INSTRUMENTATION"]
    if name == "openllmetry-langchain":
        from opentelemetry.instrumentation.langchain import LangchainInstrumentor

        return LangchainInstrumentor()
    if name == "openinference-langchain":
        from openinference.instrumentation.langchain import LangChainInstrumentor

        return LangChainInstrumentor()
    from amazon.opentelemetry.distro.instrumentation.langchain import LangChainInstrumentor

    return LangChainInstrumentor()


logs = start_logs()
traces = start_traces(logs)
play_with_strands() if os.environ["INSTRUMENTATION"] == "strands" else play_with_langchain()
traces.shutdown()
logs.shutdown()
