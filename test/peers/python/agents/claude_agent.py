"""The Claude Agent SDK under OpenInference. Its program asks the model on loopback, and has a home that is thrown away."""

import asyncio
import json

import claude_agent_sdk
from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool
from openinference.instrumentation import using_session, using_user
from openinference.instrumentation.claude_agent_sdk import ClaudeAgentSDKInstrumentor

import story
from telemetry import start_traces

VARIABLES = {
    "ANTHROPIC_BASE_URL": story.MODEL_URL.removesuffix("/v1"),
    "ANTHROPIC_API_KEY": story.API_KEY,
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}


@tool("get_weather", "Get weather for a city", {"city": str})
async def get_weather(args):
    return {"content": [{"type": "text", "text": json.dumps(story.get_weather(**args))}]}


async def play():
    options = ClaudeAgentOptions(
        model=story.MODEL,
        system_prompt=story.SYSTEM,
        mcp_servers={"weather": create_sdk_mcp_server("weather", tools=[get_weather])},
        tools=[],
        allowed_tools=["mcp__weather__get_weather"],
        setting_sources=[],
        env=VARIABLES,
    )
    async for _ in claude_agent_sdk.query(prompt=story.QUESTION, options=options):
        pass


traces = start_traces()
ClaudeAgentSDKInstrumentor().instrument(tracer_provider=traces)
with using_session(story.SESSION), using_user(story.USER):
    asyncio.run(play())
traces.shutdown()
