"""A loop of LangChain around a chat model, as a chain of its own, under OpenLLMetry."""

import json

from langchain_core.messages import SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from opentelemetry.instrumentation.langchain import LangchainInstrumentor

import story
from telemetry import start_traces

traces = start_traces()
LangchainInstrumentor().instrument(tracer_provider=traces)
get_weather = tool(story.get_weather)
model = ChatOpenAI(model=story.MODEL, base_url=story.MODEL_URL, api_key=story.API_KEY)
asked = model.bind_tools([get_weather])


def play(turn):
    messages = [SystemMessage(story.SYSTEM), *turn]
    while (reply := asked.invoke(messages)).tool_calls:
        messages.append(reply)
        for call in reply.tool_calls:
            result = get_weather.invoke(call["args"])
            messages.append(ToolMessage(json.dumps(result), tool_call_id=call["id"]))
    return reply


RunnableLambda(play, name="weather_agent").invoke([*story.HISTORY, ("user", story.QUESTION)])
traces.shutdown()
