"""One text completion under OpenInference: LlamaIndex's when CLIENT is llama_index, else of OpenAI's own client."""

import os

import story
from telemetry import start_traces

traces = start_traces()
if os.environ["CLIENT"] == "llama_index":
    from llama_index.llms.openai import OpenAI
    from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

    LlamaIndexInstrumentor().instrument(tracer_provider=traces)
    client = OpenAI(model="gpt-3.5-turbo-instruct", api_base=story.MODEL_URL, api_key="none", max_tokens=100)
    client.complete(story.QUESTION)
else:
    from openai import OpenAI
    from openinference.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=traces)
    client = OpenAI(base_url=story.MODEL_URL, api_key=story.API_KEY)
    client.completions.create(model="gpt-3.5-turbo-instruct", prompt=story.QUESTION)
traces.shutdown()
