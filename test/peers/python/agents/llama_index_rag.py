"""A question to documents with LlamaIndex under OpenLLMetry; the retriever gives the documents without an index."""

from llama_index.core import get_response_synthesizer
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.llms.openai import OpenAI
from opentelemetry.instrumentation.llamaindex import LlamaIndexInstrumentor

import story
from telemetry import start_traces

DOCUMENTS = ["Paris is rainy in November.", "Berlin is cold in winter."]
traces = start_traces()
LlamaIndexInstrumentor().instrument(tracer_provider=traces)


class Documents(BaseRetriever):
    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=TextNode(text=text), score=0.9) for text in DOCUMENTS]


model = OpenAI(model=story.MODEL, api_base=story.MODEL_URL, api_key=story.API_KEY)
synthesizer = get_response_synthesizer(llm=model, response_mode="simple_summarize")
RetrieverQueryEngine(retriever=Documents(), response_synthesizer=synthesizer).query(story.QUESTION)
traces.shutdown()
