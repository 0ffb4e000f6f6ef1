"""CrewAI with OpenInference, for the crew and for the OpenAI client below it."""

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from openinference.instrumentation import using_attributes
from openinference.instrumentation.crewai import CrewAIInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor

import story
from telemetry import start_traces

traces = start_traces()
CrewAIInstrumentor().instrument(tracer_provider=traces, skip_dep_check=True)
OpenAIInstrumentor().instrument(tracer_provider=traces)

agent = Agent(
    role="weather_agent",
    goal="Answer questions about the weather",
    backstory=story.SYSTEM,
    tools=[tool("get_weather")(story.get_weather)],
    llm=LLM(model=f"openai/{story.MODEL}", base_url=story.MODEL_URL, api_key=story.API_KEY),
)
task = Task(description=story.QUESTION, expected_output="One sentence", agent=agent)
with using_attributes(session_id=story.SESSION, user_id=story.USER):
    Crew(agents=[agent], tasks=[task]).kickoff(inputs={"city": "Paris"})
traces.shutdown()
