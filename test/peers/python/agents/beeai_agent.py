"""BeeAI's agent with requirements under OpenInference: each reply of the model is a call of a tool."""

import asyncio

from beeai_framework.adapters.openai import OpenAIChatModel
from beeai_framework.agents.requirement import RequirementAgent
from beeai_framework.backend import AssistantMessage, UserMessage
from beeai_framework.memory import UnconstrainedMemory
from beeai_framework.tools import JSONToolOutput, tool
from openinference.instrumentation import using_session, using_user
from openinference.instrumentation.beeai import BeeAIInstrumentor

import story
from telemetry import start_traces

MESSAGES = {"user": UserMessage, "assistant": AssistantMessage}


@tool
def get_weather(city: str) -> JSONToolOutput:
    """Get weather for a city"""
    return JSONToolOutput(story.get_weather(city))


async def play():
    memory = UnconstrainedMemory()
    await memory.add_many([MESSAGES[role](text) for role, text in story.HISTORY])
    model = OpenAIChatModel(
        story.MODEL,
        base_url=story.MODEL_URL,
        api_key=story.API_KEY,
        tool_choice_support={"required", "none", "single", "auto"},
    )
    agent = RequirementAgent(
        llm=model,
        name="weather_agent",
        instructions=story.SYSTEM,
        memory=memory,
        tools=[get_weather],
    )
    await agent.run(story.QUESTION)


traces = start_traces()
BeeAIInstrumentor().instrument(tracer_provider=traces)
with using_session(story.SESSION), using_user(story.USER):
    asyncio.run(play())
traces.shutdown()
