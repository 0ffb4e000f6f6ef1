import { randomBytes } from 'node:crypto';

type Value = { stringValue: string } | { intValue: string };

export interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: Value }[];
  status: { code: number; message?: string };
}

export interface ToolStep {
  name: string;
  args: unknown;
  result?: unknown;
  error?: string;
}

function buildAttributes(values: Record<string, string | number>): OtlpSpan['attributes'] {
  return Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }));
}

function text(role: string, content: string): unknown {
  return { role, parts: [{ type: 'text', content }] };
}

/**
 * Builds one agent run as OTLP/JSON spans of the OpenTelemetry GenAI conventions: an `invoke_agent` root, a model call that
 * asks for each tool, the tool executions and a last model call with the answer.
 */
export class AgentTraceBuilder {
  readonly traceId: string;
  #question = 'What is the weather in Paris?';
  #answer = 'It is 18 degrees in Paris.';
  #service = 'weather';
  #tools: ToolStep[] = [];
  #startMs: number;
  #extra: Record<string, string> = {};
  #rootParent: string | undefined;

  constructor(traceId: string = randomBytes(16).toString('hex'), startMs: number = Date.now() - 1000) {
    this.traceId = traceId;
    this.#startMs = startMs;
  }

  asking(question: string): this {
    this.#question = question;
    return this;
  }

  answering(answer: string): this {
    this.#answer = answer;
    return this;
  }

  of(service: string): this {
    this.#service = service;
    return this;
  }

  with(tool: ToolStep): this {
    this.#tools.push(tool);
    return this;
  }

  withAttributes(attributes: Record<string, string>): this {
    Object.assign(this.#extra, attributes);
    return this;
  }

  /** Gives the root span a parent that never arrives: the caller is in another process. */
  calledFrom(parentSpanId: string): this {
    this.#rootParent = parentSpanId;
    return this;
  }

  #span(index: number, name: string, attributes: Record<string, string | number>, root = false): OtlpSpan {
    const parent = root ? this.#rootParent : this.spanId(0);
    const start = BigInt(this.#startMs) * 1_000_000n + BigInt(index) * 10_000_000n;
    return {
      traceId: this.traceId,
      spanId: this.spanId(index),
      ...(parent === undefined ? {} : { parentSpanId: parent }),
      name,
      kind: 1,
      startTimeUnixNano: String(start),
      endTimeUnixNano: String(root ? start + 900_000_000n : start + 5_000_000n),
      attributes: buildAttributes(attributes),
      status: { code: 0 },
    };
  }

  spanId(index: number): string {
    return (BigInt(`0x${this.traceId.slice(0, 15)}0`) + BigInt(index + 1)).toString(16).padStart(16, '0');
  }

  /** Returns the spans, root first. Exporters send the root last, see `request`. */
  spans(): OtlpSpan[] {
    const calls = this.#tools.map((tool, at) => ({ id: `call_${at}`, ...tool }));
    const asked = [text('user', this.#question)];
    const spans = [
      this.#span(
        0,
        'invoke_agent weather',
        {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': 'weather-agent',
          'gen_ai.conversation.id': 'sess-1',
          'gen_ai.input.messages': JSON.stringify(asked),
          'gen_ai.output.messages': JSON.stringify([text('assistant', this.#answer)]),
          ...this.#extra,
        },
        true,
      ),
    ];
    if (calls.length > 0) {
      const parts = calls.map((call) => ({
        type: 'tool_call',
        id: call.id,
        name: call.name,
        arguments: call.args,
      }));
      spans.push(this.#chat(1, asked, [{ role: 'assistant', parts, finish_reason: 'tool_call' }]));
    }
    for (const [at, call] of calls.entries()) {
      spans.push(this.#tool(at + 2, call));
    }
    spans.push(this.#chat(calls.length + 2, asked, [text('assistant', this.#answer)]));
    return spans;
  }

  #chat(index: number, input: unknown, output: unknown): OtlpSpan {
    return this.#span(index, 'chat gpt-4o-mini', {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-4o-mini',
      'gen_ai.response.model': 'gpt-4o-mini-2024-07-18',
      'gen_ai.system_instructions': JSON.stringify([
        { type: 'text', content: 'You are a weather assistant.' },
      ]),
      'gen_ai.input.messages': JSON.stringify(input),
      'gen_ai.output.messages': JSON.stringify(output),
      'gen_ai.usage.input_tokens': 81,
      'gen_ai.usage.output_tokens': 17,
    });
  }

  #tool(index: number, call: ToolStep & { id: string }): OtlpSpan {
    const span = this.#span(index, `execute_tool ${call.name}`, {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': call.name,
      'gen_ai.tool.call.id': call.id,
      'gen_ai.tool.call.arguments': JSON.stringify(call.args),
      ...(call.error === undefined ? { 'gen_ai.tool.call.result': JSON.stringify(call.result ?? null) } : {}),
    });
    return call.error === undefined ? span : { ...span, status: { code: 2, message: call.error } };
  }

  /** Builds one export request with these spans (default: all spans, root last, as exporters send them). */
  request(spans: OtlpSpan[] = this.spans().reverse()): unknown {
    return exportRequest(spans, this.#service);
  }
}

/** Builds a run with one call of the weather tool, whose result is 18 degrees. */
export function anAgentTrace(traceId?: string, startMs?: number): AgentTraceBuilder {
  return new AgentTraceBuilder(traceId, startMs).with({
    name: 'get_weather',
    args: { city: 'Paris' },
    result: { city: 'Paris', tempC: 18, sky: 'rain' },
  });
}

/** Builds a further tool result of a run, as a span that arrives late. Each call gives another span. */
export function aLateToolSpan(traceId: string): OtlpSpan {
  const builder = new AgentTraceBuilder(traceId).with({ name: 'get_wind', args: {}, result: { kmh: 90 } });
  const tool = builder.spans().find((span) => span.name.startsWith('execute_tool'))!;
  const attributes = tool.attributes.map((each) =>
    each.key === 'gen_ai.tool.call.id' ? { ...each, value: { stringValue: 'call_late' } } : each,
  );
  return { ...tool, spanId: randomBytes(8).toString('hex'), attributes };
}

/** Builds an OTLP/JSON trace export request. */
export function exportRequest(spans: readonly OtlpSpan[], service = 'weather'): unknown {
  return {
    resourceSpans: [
      {
        resource: {
          attributes: buildAttributes({
            'service.name': service,
            'deployment.environment.name': 'production',
          }),
        },
        scopeSpans: [{ scope: { name: 'test-agent', version: '1.0.0' }, spans }],
      },
    ],
  };
}
