"""A question answered from documents, with the functions decorated by TruLens."""

from openai import OpenAI
from trulens.core import TruSession
from trulens.core.otel.instrument import instrument
from trulens.apps.app import TruApp
from trulens.otel.semconv.trace import SpanAttributes
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

import story

DOCUMENTS = ["Paris is rainy in November.", "Berlin is cold in winter."]
client = OpenAI(base_url=story.MODEL_URL, api_key=story.API_KEY)


class Rag:
    @instrument(
        span_type=SpanAttributes.SpanType.RETRIEVAL,
        attributes={
            SpanAttributes.RETRIEVAL.QUERY_TEXT: "query",
            SpanAttributes.RETRIEVAL.RETRIEVED_CONTEXTS: "return",
        },
    )
    def retrieve(self, query: str) -> list:
        return DOCUMENTS

    @instrument(span_type=SpanAttributes.SpanType.GENERATION)
    def generate(self, query: str, context: list) -> str:
        prompt = "\n".join([query, *context])
        return client.completions.create(model="gpt-3.5-turbo-instruct", prompt=prompt).choices[0].text

    @instrument(span_type=SpanAttributes.SpanType.RECORD_ROOT)
    def query(self, query: str) -> str:
        return self.generate(query, self.retrieve(query))


exporter = OTLPSpanExporter()
session = TruSession(database_url="sqlite:///:memory:", span_exporter=exporter)
rag = Rag()
app = TruApp(rag, app_name="weather_agent", main_method=rag.query)
with app:
    rag.query(story.QUESTION)
session.force_flush()
exporter.shutdown()
