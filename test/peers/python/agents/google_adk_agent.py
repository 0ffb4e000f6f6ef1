"""Google's ADK with its own instrumentation; the environment says what of the content it sends."""

import asyncio

from google.adk.agents import Agent
from google.adk.events import Event
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types

import story
from telemetry import start_logs, start_traces

traces = start_traces()
logs = start_logs()
agent = Agent(
    name="weather_agent",
    model=LiteLlm(model=f"openai/{story.MODEL}", api_base=story.MODEL_URL, api_key=story.API_KEY),
    instruction=story.SYSTEM,
    tools=[story.get_weather],
)


def content(role: str, text: str) -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


async def main() -> None:
    runner = InMemoryRunner(agent=agent, app_name="weather")
    sessions = runner.session_service
    session = await sessions.create_session(app_name="weather", user_id=story.USER, session_id=story.SESSION)
    for role, text in story.HISTORY:
        author = "user" if role == "user" else agent.name
        await sessions.append_event(
            session,
            Event(author=author, content=content("user" if role == "user" else "model", text)),
        )
    question = content("user", story.QUESTION)
    async for _ in runner.run_async(user_id=story.USER, session_id=story.SESSION, new_message=question):
        pass


asyncio.run(main())
traces.shutdown()
logs.shutdown()
