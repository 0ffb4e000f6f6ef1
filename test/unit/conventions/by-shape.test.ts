import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../src/conventions/index.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import { WRAPPERS, type Wrapper } from '../../support/recordings/wrappers.ts';
import { STRANGERS } from '../../support/recordings/strangers.ts';
import { buildLog, buildSpan, buildTrace } from '../../support/builders/spans.ts';
import { textOfMessage } from '../../support/recordings/facts.ts';

/** Facts of the only run in the form of a wrapper's expectation. */
function describeRun(runs: readonly AgentRun[], expected: Omit<Wrapper, 'trace'>): object {
  const [run] = runs;
  if (run === undefined || runs.length > 1) {
    return { runs: runs.length };
  }
  const parts = run.output.flatMap((message) => message.content.parts);
  const calls = parts.flatMap((part) => {
    const call = part.type === 'tool-invocation' ? part.toolInvocation : undefined;
    return call === undefined
      ? []
      : [
          `${call.toolName} ${JSON.stringify(call.args)} → ${call.state === 'result' ? JSON.stringify(call.result) : call.state}`,
        ];
  });
  const last = parts.findLastIndex((part) => part.type === 'tool-invocation');
  const answer = parts
    .slice(last + 1)
    .map((part) => (part.type === 'text' ? part['text'] : ''))
    .join('');
  const all: Required<Omit<Wrapper, 'trace'>> = {
    question: run.input.inputMessages.map(textOfMessage).join('\n'),
    answer,
    calls,
    models: run.models,
    tokens: [run.usage.inputTokens ?? -1, run.usage.outputTokens ?? -1],
    agent: run.agent ?? '',
    session: run.sessionId ?? '',
    documents: run.documents.map(({ content }) => content),
  };
  return Object.fromEntries(Object.keys(expected).map((key) => [key, all[key as keyof typeof all]]));
}

describe('a wrapper that no rule names', () => {
  it.each(Object.entries({ ...WRAPPERS, ...STRANGERS }))(
    'is read by shape: %s',
    (_line, { trace, ...expected }) => {
      const { runs } = readTrace(trace);
      expect(describeRun(runs, expected)).toEqual(expected);
      expect(runs[0]?.conventions).toContain('by-shape');
      expect(runs[0]?.warnings.map(({ code }) => code)).toContain('read_by_shape');
      expect(readTrace(trace, { readByShape: false }).runs).toEqual([]);
    },
  );
});

describe('a trace that only looks like an agent', () => {
  it('gives no run for a traced function over a server and a database, beside a scope of models', () => {
    const spans = [
      buildSpan(
        'a',
        { 'http.request.method': 'POST', 'code.function': 'list_models' },
        { name: 'POST /models' },
      ),
      buildSpan(
        'b',
        { 'code.function': 'search' },
        { name: 'search products', parent: 'a', scope: 'shop.models' },
      ),
      buildSpan('c', { 'db.query.text': 'SELECT 1', 'code.lineno': '7' }, { name: 'SELECT', parent: 'b' }),
    ];
    expect(readTrace(buildTrace(spans)).runs).toEqual([]);
  });

  it('takes no line of a logger for an answer', () => {
    const log = { ...buildLog('a', '', {}, 1), scopeName: 'shop.ai.ChatService', body: 'Calling the model' };
    const span = buildSpan('a', { 'ww.model': 'm-1', 'ww.provider': 'acme', 'ww.question': 'Hi?' });
    expect(JSON.stringify(readTrace(buildTrace([span], [log])).runs)).not.toContain('Calling');
  });

  it('leaves arguments under one name of their own as they are', () => {
    const keys = { 'ww.tool.name': 'find', 'ww.tool.input': { params: { id: 7 } }, 'ww.tool.output': 'ok' };
    const spans = [
      buildSpan('a', { 'ww.kind': 'agent', 'ww.question': 'Hi?', 'ww.answer': 'Hello.' }),
      buildSpan('b', keys, { parent: 'a' }),
    ];
    expect(describeRun(readTrace(buildTrace(spans)).runs, { calls: [] })).toEqual({
      calls: ['find {"params":{"id":7}} → "ok"'],
    });
  });
});
