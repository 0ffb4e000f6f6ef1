"""LangGraph with OpenInference: create_agent, or a graph of one's own when GRAPH is "own"."""

import os

from langchain.agents import create_agent
from langchain_core.messages import SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from openinference.instrumentation.langchain import LangChainInstrumentor

import story
from telemetry import start_traces

traces = start_traces()
LangChainInstrumentor().instrument(tracer_provider=traces)
model = ChatOpenAI(model=story.MODEL, base_url=story.MODEL_URL, api_key=story.API_KEY)
tools = [tool(story.get_weather)]


def own_graph():
    asked = model.bind_tools(tools)

    def call_model(state: MessagesState):
        return {"messages": [asked.invoke([SystemMessage(story.SYSTEM), *state["messages"]])]}

    graph = StateGraph(MessagesState)
    graph.add_node("call_model", call_model)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "call_model")
    graph.add_conditional_edges("call_model", tools_condition, {"tools": "tools", END: END})
    graph.add_edge("tools", "call_model")
    return graph.compile(name="weather_agent")


def ready_made():
    return create_agent(model, tools, system_prompt=story.SYSTEM, name="weather_agent")


agent = own_graph() if os.environ.get("GRAPH") == "own" else ready_made()
agent.invoke(
    {"messages": [*story.HISTORY, ("user", story.QUESTION)]},
    config={"metadata": {"session_id": story.SESSION, "user_id": story.USER}},
)
traces.shutdown()
