import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeTraces, readTraces } from '../../../src/conventions/index.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import type { AgentMessage } from '../../../src/domain/trace/messages.ts';
import { invocationParts, textOfMessage } from '../../support/recordings/facts.ts';

interface Stored {
  traceId: string;
  spans: Record<string, unknown>[];
}

interface LiveData {
  input: { inputMessages: AgentMessage[]; systemMessages: unknown[] };
  output: AgentMessage[];
}

const FOLDER = new URL('../../fixtures/mastra-records/', import.meta.url);
const load = (name: string): unknown => JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8'));
const stored = load('agent-trace') as Stored;
/** Input that Mastra gave its own scorers for the same run, live. */
const live = load('live-scoring-data') as LiveData;

function readRun(input: unknown): AgentRun {
  const runs = readTraces(input).flatMap((reading) => reading.runs);
  expect(runs).toHaveLength(1);
  return runs[0] as AgentRun;
}

describe('a trace as Mastra stores it', () => {
  it('reads as the run that Mastra’s own scorers got while it ran, calls and failures included', () => {
    const { input, output, usage, models, agent } = readRun(stored);
    expect(input.inputMessages.map(textOfMessage)).toEqual(live.input.inputMessages.map(textOfMessage));
    expect(input.systemMessages).toEqual(live.input.systemMessages);
    expect(invocationParts(output).map((part) => part.toolInvocation)).toEqual(
      invocationParts(live.output).map((part) => part.toolInvocation),
    );
    expect(output.map((message) => message.content.content)).toEqual(
      live.output.map((message) => message.content.content),
    );
    expect({ agent, models, usage: `${usage.inputTokens}/${usage.outputTokens}` }).toEqual({
      agent: 'wx',
      models: ['mock-1'],
      usage: '20/10',
    });
  });

  it('reads the same as text, as a list of its spans, and as the events of an exporter, a line each', () => {
    const run = readRun(stored);
    const events = stored.spans.map(({ spanId, spanType, startedAt, endedAt, error, ...span }) => ({
      type: 'span_ended',
      exportedSpan: {
        ...span,
        id: spanId,
        type: spanType,
        startTime: Date.parse(String(startedAt)),
        ...(typeof endedAt === 'string' ? { endTime: Date.parse(endedAt) } : {}),
        ...(error === null ? {} : { errorInfo: error }),
      },
    }));
    expect(readRun(JSON.stringify(stored))).toEqual(run);
    expect(readRun(stored.spans)).toEqual(run);
    expect(readRun(events.map((event) => JSON.stringify(event)).join('\n'))).toEqual(run);
  });

  it('keeps session and user, which newer records hold beside the metadata', () => {
    const spans = stored.spans.map((span) => ({ ...span, threadId: 'thr-1', resourceId: 'user-9' }));
    expect(readRun({ ...stored, spans })).toMatchObject({ sessionId: 'thr-1', userId: 'user-9' });
  });

  it('reads the model calls of versions that knew no steps', () => {
    const kept = ['agent_run', 'model_generation', 'tool_call'];
    const [root] = stored.spans;
    const spans = stored.spans
      .filter((span) => kept.includes(String(span['spanType'])))
      .map((span) => ({
        ...span,
        ...(span['spanType'] === 'model_generation' ? { spanType: 'llm_generation' } : {}),
        ...(span === root ? {} : { parentSpanId: root?.['spanId'] }),
      }));
    const run = readRun({ ...stored, spans });
    expect(run.usage.inputTokens).toBe(20);
    expect(invocationParts(run.output).map((part) => part.toolInvocation.state)).toEqual([
      'result',
      'output-error',
    ]);
    expect(run.output.at(-1)?.content.content).toBe('It is 20 degrees in Paris.');
  });

  it('names the unreadable parts of a record, and ignores values that are not records', () => {
    const [first] = stored.spans;
    const { traces, problems } = decodeTraces([
      { ...first, startedAt: 'soon' },
      { spans: [{ type: 'text' }] },
    ]);
    expect(traces).toEqual([]);
    expect(problems).toEqual([expect.stringContaining('startTimeUnixNano')]);
  });
});
