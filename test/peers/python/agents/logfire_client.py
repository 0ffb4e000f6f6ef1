"""A loop around a model's client under Logfire, in the message format named by FORMAT; CLIENT is openai or anthropic."""

import json
import os

import logfire
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

import story

logfire.configure(
    send_to_logfire=False,
    console=False,
    additional_span_processors=[BatchSpanProcessor(OTLPSpanExporter())],
)
turn = [{"role": role, "content": text} for role, text in [*story.HISTORY, ("user", story.QUESTION)]]
description = story.get_weather.__doc__
schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def call_tool(arguments):
    return json.dumps(story.get_weather(**arguments))


def play_openai(version):
    from openai import OpenAI

    client = OpenAI(base_url=story.MODEL_URL, api_key=story.API_KEY)
    logfire.instrument_openai(client, version=version)
    tool = {"type": "function", "name": "get_weather", "description": description, "parameters": schema}

    def ask():
        return client.responses.create(
            model=story.MODEL, instructions=story.SYSTEM, input=turn, tools=[tool]
        )

    [call] = ask().output
    result = call_tool(json.loads(call.arguments))
    turn.append(call.model_dump(exclude_none=True))
    turn.append({"type": "function_call_output", "call_id": call.call_id, "output": result})
    ask()


def play_anthropic(version):
    from anthropic import Anthropic

    client = Anthropic(base_url=story.MODEL_URL.removesuffix("/v1"), api_key=story.API_KEY)
    logfire.instrument_anthropic(client, version=version)
    tool = {"name": "get_weather", "description": description, "input_schema": schema}

    def ask():
        return client.messages.create(
            model=story.MODEL, system=story.SYSTEM, messages=turn, tools=[tool], max_tokens=100
        )

    [call] = ask().content
    result = call_tool(call.input)
    turn.append({"role": "assistant", "content": [call.model_dump(exclude_none=True)]})
    turn.append(
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": result}]}
    )
    ask()


versions = [int(one) for one in os.environ["FORMAT"].split(",")]
with logfire.span("weather_agent"):
    play = play_anthropic if os.environ["CLIENT"] == "anthropic" else play_openai
    play(versions if len(versions) > 1 else versions[0])
logfire.shutdown()
