"""Agno under OpenInference."""

import json

from agno.agent import Agent
from agno.models.message import Message
from agno.models.openai import OpenAIChat
from openinference.instrumentation.agno import AgnoInstrumentor

import story
from telemetry import start_traces


def get_weather(city: str) -> str:
    """Get weather for a city"""
    return json.dumps(story.get_weather(city))


traces = start_traces()
AgnoInstrumentor().instrument(tracer_provider=traces)
agent = Agent(
    name="weather_agent",
    model=OpenAIChat(id=story.MODEL, base_url=story.MODEL_URL, api_key=story.API_KEY),
    instructions=story.SYSTEM,
    tools=[get_weather],
    telemetry=False,
)
turn = [*story.HISTORY, ("user", story.QUESTION)]
agent.run(
    [Message(role=role, content=text) for role, text in turn],
    session_id=story.SESSION,
    user_id=story.USER,
)
traces.shutdown()
