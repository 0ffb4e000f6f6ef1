"""Pydantic AI with its own instrumentation, in the message format named by FORMAT."""

import os

from pydantic_ai import Agent, InstrumentationSettings
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import story
from telemetry import start_traces

traces = start_traces()
agent = Agent(
    OpenAIChatModel(story.MODEL, provider=OpenAIProvider(base_url=story.MODEL_URL, api_key=story.API_KEY)),
    name="weather_agent",
    instructions=story.SYSTEM,
    tools=[story.get_weather],
)
agent.instrument = InstrumentationSettings(
    version=int(os.environ["FORMAT"]), include_content=os.environ.get("CONTENT") != "off"
)
(_, said), (_, answered) = story.HISTORY
agent.run_sync(
    story.QUESTION,
    message_history=[
        ModelRequest(parts=[UserPromptPart(said)]),
        ModelResponse(parts=[TextPart(answered)]),
    ],
    conversation_id=story.SESSION,
)
traces.shutdown()
