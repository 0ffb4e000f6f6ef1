import { anAgentTrace } from '../support/builders/agent-trace.ts';
import { sendTraces } from '../support/processes/serve-process.ts';

/** Traces of one request. */
const PER_REQUEST = 20;

const TOOL = { name: 'get_weather', args: { city: 'Paris' }, result: { tempC: 18 } };

/** Sends agent traces of 4 spans in requests of `PER_REQUEST`, with different texts, so that no answer is reused. */
export async function sendAgentTraces(otlpHttp: string, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += PER_REQUEST) {
    const traces = Array.from({ length: Math.min(PER_REQUEST, count - sent) }, () => {
      const trace = anAgentTrace().with(TOOL);
      return trace.answering(`It is warm in ${trace.traceId}.`).request() as { resourceSpans: unknown[] };
    });
    const request = { resourceSpans: traces.flatMap(({ resourceSpans }) => resourceSpans) };
    const status = await sendTraces(otlpHttp, request);
    if (status !== 200) {
      throw new Error(`a request was answered with ${status}`);
    }
  }
}
