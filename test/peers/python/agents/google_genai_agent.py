"""Google's client with automatic function calling, under OpenTelemetry's instrumentation."""

from google import genai
from google.genai import types
from opentelemetry.instrumentation.google_genai import GoogleGenAiSdkInstrumentor

import story
from telemetry import start_logs, start_traces

traces, logs = start_traces(), start_logs()
GoogleGenAiSdkInstrumentor().instrument(tracer_provider=traces, logger_provider=logs)
client = genai.Client(
    api_key=story.API_KEY,
    http_options=types.HttpOptions(base_url=story.MODEL_URL.removesuffix("/v1")),
)
roles = {"user": "user", "assistant": "model"}
turn = [*story.HISTORY, ("user", story.QUESTION)]
with traces.get_tracer("app").start_as_current_span("weather_agent"):
    client.models.generate_content(
        model=story.MODEL,
        contents=[types.Content(role=roles[role], parts=[types.Part(text=text)]) for role, text in turn],
        config=types.GenerateContentConfig(system_instruction=story.SYSTEM, tools=[story.get_weather]),
    )
traces.shutdown()
logs.shutdown()
