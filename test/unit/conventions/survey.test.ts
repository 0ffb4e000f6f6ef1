import { describe, expect, it } from 'vitest';
import { decodeTraces } from '../../../src/conventions/traces/decode-traces.ts';
import { readTrace } from '../../../src/conventions/traces/read-traces.ts';
import { createSurvey, surveyTrace } from '../../../src/conventions/advice/survey.ts';
import type { TraceData } from '../../../src/domain/trace/span.ts';
import { listExpectations, recordedSpans } from '../../support/recordings/recorded-spans.ts';
import { agentSpan, chatSpan, chatMessage, buildSpan, buildTrace } from '../../support/builders/spans.ts';

function surveyTraces(...traces: TraceData[]) {
  const survey = createSurvey();
  traces.forEach((trace) => survey.add(trace, readTrace(trace)));
  return survey.result();
}

const GOOD = buildTrace([
  agentSpan('agent', {}, { lasts: 90 }),
  chatSpan('c', { input: 'Hi', output: 'Hello' }, { parent: 'agent', at: 1 }),
  buildSpan('GET /', { 'http.route': '/' }, { scope: 'http' }),
]);

describe('createSurvey', () => {
  it('counts traces, spans and runs per service and scope, and leaves spans of other kinds out', () => {
    expect(surveyTraces(GOOD)).toEqual({
      traces: 1,
      withoutRun: 0,
      spansLeftOut: 0,
      scopes: [
        {
          service: 'shop',
          scope: 'test',
          traces: 1,
          spans: 2,
          conventions: ['otel-genai'],
          runs: 1,
          scorable: 1,
          notScorable: [],
          notUnderstood: [],
          unreadAttributes: [],
          byShape: 0,
        },
      ],
    });
  });

  it('counts the traces that are read by the form of their values', () => {
    const shaped = buildTrace([
      buildSpan(
        'c',
        { 'kumo.step': 'llm', 'kumo.model': 'm', 'kumo.prompt': 'Hi', 'kumo.reply': 'Hello' },
        { scope: 'kumo' },
      ),
    ]);
    expect(surveyTraces(shaped, shaped, GOOD).scopes.map(({ scope, byShape }) => [scope, byShape])).toEqual([
      ['kumo', 2],
      ['test', 0],
    ]);
  });

  it('names the setting that makes the emitter send content, once for all its runs', () => {
    const silent = buildTrace([chatSpan('c', {}, { scope: 'haystack' })]);
    const [scope] = surveyTraces(silent, silent).scopes;
    expect(scope).toMatchObject({ scope: 'haystack', runs: 2, scorable: 0 });
    expect(scope?.notScorable).toEqual([
      {
        code: 'no_content_captured',
        runs: 2,
        detail: expect.stringContaining('HAYSTACK_CONTENT_TRACING_ENABLED=true') as string,
      },
    ]);
  });

  it('lists spans that no convention reads by name, with their keys', () => {
    const odd = buildTrace([
      buildSpan('a', { 'gen_ai.odd': 1 }, { name: 'odd' }),
      buildSpan('b', { 'gen_ai.even': 1 }, { name: 'odd' }),
    ]);
    const survey = surveyTraces(odd);
    expect(survey.withoutRun).toBe(1);
    expect(survey.scopes[0]?.notUnderstood).toEqual([
      {
        name: 'odd',
        spans: 2,
        reason: 'no known convention describes what this span is',
        attributes: ['gen_ai.even', 'gen_ai.odd'],
      },
    ]);
  });

  it('lists agent attributes that spanscore does not read, longest text first, with the entries of a list as one', () => {
    const output = [chatMessage('assistant', 'Rain.')];
    const odd = (id: string, at: number) =>
      chatSpan(
        id,
        {
          output,
          attributes: {
            'gen_ai.moved.messages': 'What is the weather?',
            'gen_ai.odd': 1,
            'gen_ai.list.0.x': 'a',
            'gen_ai.list.1.x': 'b',
            'http.route': '/',
          },
        },
        { at },
      );
    const [scope] = surveyTraces(buildTrace([odd('a', 0), odd('b', 20)])).scopes;
    expect(scope?.notUnderstood).toEqual([]);
    expect(scope?.unreadAttributes).toEqual([
      { key: 'gen_ai.moved.messages', spans: 2, chars: 40 },
      { key: 'gen_ai.list.*.x', spans: 2, chars: 4 },
      { key: 'gen_ai.odd', spans: 2, chars: 2 },
    ]);
  });

  it('does not list attributes that are read on another span of the scope, or flattened, or as metadata', () => {
    const spans = [
      buildSpan('l', {
        'openinference.span.kind': 'LLM',
        'llm.input_messages.0.message.role': 'user',
        'llm.input_messages.0.message.content': 'Hi',
        'llm.output_messages.0.message.content': 'Hello',
      }),
      buildSpan('p', { 'llm.request.type': 'chat', 'gen_ai.completion.0.content': 'Hello' }, { at: 20 }),
      buildSpan('m', { 'mastra.span.type': 'agent_run', 'mastra.metadata.tenant': 'acme' }, { at: 40 }),
    ];
    expect(surveyTraces(buildTrace(spans)).scopes.flatMap((scope) => scope.unreadAttributes)).toEqual([]);
  });

  it('limits the number of keys that it lists', () => {
    const attributes = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`gen_ai.k${i}`, 'x']));
    const [scope] = surveyTraces(buildTrace([chatSpan('c', { attributes })])).scopes;
    expect(scope?.unreadAttributes).toHaveLength(30);
  });

  it('finds no unread messages in any recording', () => {
    const left = listExpectations<unknown>('spans').flatMap(([name]) =>
      decodeTraces(recordedSpans('spans', name)).traces.flatMap((trace) =>
        surveyTrace(trace, readTrace(trace)).flatMap((scope) => scope.unreadAttributes.map(({ key }) => key)),
      ),
    );
    expect(left.filter((key) => /\.(input|output)\.messages$|message\.content$/.test(key))).toEqual([]);
  });

  it('limits the number of scopes that it lists, and counts the spans of the other scopes', () => {
    const spans = Array.from({ length: 250 }, (_, index) =>
      chatSpan(`c${index}`, {}, { scope: `s${index}` }),
    );
    const survey = surveyTraces(buildTrace(spans));
    expect([survey.scopes.length, survey.spansLeftOut]).toEqual([200, 50]);
  });
});
