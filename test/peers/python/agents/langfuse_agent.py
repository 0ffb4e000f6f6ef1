"""LangGraph's ReAct agent, or LangChain's when AGENT is "langchain", under Langfuse's callback handler."""

import os

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langfuse import Langfuse
from langfuse.langchain import CallbackHandler

import story

langfuse = Langfuse(public_key="pk", secret_key="sk", host=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"])
model = ChatOpenAI(model=story.MODEL, base_url=story.MODEL_URL, api_key=story.API_KEY)
tools = [tool(story.get_weather)]


def make_agent():
    if os.environ.get("AGENT") == "langchain":
        from langchain.agents import create_agent

        return create_agent(model, tools, system_prompt=story.SYSTEM, name="weather_agent")
    from langgraph.prebuilt import create_react_agent

    return create_react_agent(model, tools, prompt=story.SYSTEM, name="weather_agent")


agent = make_agent()
agent.invoke(
    {"messages": [*story.HISTORY, ("user", story.QUESTION)]},
    config={
        "callbacks": [CallbackHandler()],
        "metadata": {"langfuse_session_id": story.SESSION, "langfuse_user_id": story.USER},
    },
)
langfuse.shutdown()
