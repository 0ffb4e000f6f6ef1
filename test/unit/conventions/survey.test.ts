import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../src/conventions/read-traces.ts';
import { createSurvey } from '../../../src/conventions/survey.ts';
import type { TraceData } from '../../../src/domain/span.ts';
import { agentSpan, chatSpan, said, spanOf, traceOf } from '../../support/spans.ts';

function surveyOf(...traces: TraceData[]) {
  const survey = createSurvey();
  traces.forEach((trace) => survey.add(trace, readTrace(trace)));
  return survey.result();
}

const GOOD = traceOf([
  agentSpan('agent', {}, { lasts: 90 }),
  chatSpan(
    'c',
    { input: [said('user', 'Hi')], output: [said('assistant', 'Hello')] },
    { parent: 'agent', at: 1 },
  ),
  spanOf('GET /', { 'http.route': '/' }, { scope: 'http' }),
]);

describe('createSurvey', () => {
  it('counts traces, spans and runs per service and scope, and leaves spans of other kinds out', () => {
    expect(surveyOf(GOOD)).toEqual({
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
        },
      ],
    });
  });

  it('names the setting that makes the emitter send content, once for all its runs', () => {
    const silent = traceOf([chatSpan('c', {}, { scope: 'haystack' })]);
    const [scope] = surveyOf(silent, silent).scopes;
    expect(scope).toMatchObject({ scope: 'haystack', runs: 2, scorable: 0 });
    expect(scope?.notScorable).toEqual([
      {
        code: 'no_content_captured',
        runs: 2,
        detail: expect.stringContaining('HAYSTACK_CONTENT_TRACING_ENABLED=true') as string,
      },
    ]);
  });

  it('lists spans that matched nothing by name, with their keys', () => {
    const odd = traceOf([
      spanOf('a', { 'gen_ai.odd': 1 }, { name: 'odd' }),
      spanOf('b', { 'gen_ai.even': 1 }, { name: 'odd' }),
    ]);
    const survey = surveyOf(odd);
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

  it('tells only so many scopes apart, and counts the spans of the others', () => {
    const spans = Array.from({ length: 250 }, (_, index) =>
      chatSpan(`c${index}`, {}, { scope: `s${index}` }),
    );
    const survey = surveyOf(traceOf(spans));
    expect([survey.scopes.length, survey.spansLeftOut]).toEqual([200, 50]);
  });
});
