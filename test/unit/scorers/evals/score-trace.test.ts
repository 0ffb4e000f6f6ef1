import { describe, expect, it } from 'vitest';
import { InvalidInputError } from '../../../../src/domain/errors.ts';
import {
  createScorer,
  notScorable,
  scoreTrace,
  scoreTraces,
  type Scorer,
  type StoredTrace,
  type TraceSpan,
} from '../../../../src/scorers/evals/index.ts';

const START = '2026-01-01T00:00:00.000Z';

function span(over: Partial<TraceSpan> & Pick<TraceSpan, 'spanId' | 'spanType'>): TraceSpan {
  return { parentSpanId: 'root', name: over.spanId, startedAt: START, endedAt: START, ...over };
}

function buildTrace(traceId: string, answer = 'It rains.', more: readonly TraceSpan[] = []): StoredTrace {
  const messages = [{ role: 'user', content: 'Weather?' }];
  return {
    traceId,
    spans: [
      span({
        spanId: 'root',
        spanType: 'agent_run',
        parentSpanId: null,
        input: 'Weather?',
        output: { text: answer },
      }),
      span({ spanId: 'llm', spanType: 'model_generation', input: { messages } }),
      ...more,
    ],
  };
}

/** Scores the words of the answer; an answer of one word is not scorable, and "boom" fails. */
const words = createScorer({ id: 'words', type: 'agent' })
  .preprocess(({ run }) => {
    const text = run.output[0]?.content.content ?? '';
    if (text === 'boom') {
      throw new Error(text);
    }
    return text.includes(' ') ? text.split(' ') : notScorable('one word');
  })
  .generateScore(({ results }) => results.preprocessStepResult.length) as Scorer;

describe('scoring a trace out of a store', () => {
  it('gives a row that names the trace, the span and its scorer', async () => {
    const row = await scoreTrace({ scorer: words, target: { trace: buildTrace('a') } });
    expect(row).toMatchObject({
      scorerId: 'words',
      traceId: 'a',
      spanId: 'root',
      source: 'TEST',
      entityType: 'agent_run',
      entityId: 'unknown',
      score: 2,
    });
  });

  it('gives the tools right below the root, in the order of their start', async () => {
    const tools = createScorer({ id: 'tools', type: 'agent' })
      .generateScore(() => 1)
      .generateReason(({ run }) =>
        run.output[0]?.content.toolInvocations?.map(({ toolName, args, result }) => [toolName, args, result]),
      ) as Scorer;
    const late = span({
      spanId: 't2',
      spanType: 'tool_call',
      entityName: 'late',
      startedAt: '2026-01-01T00:00:09.000Z',
    });
    const early = span({
      spanId: 't1',
      spanType: 'tool_call',
      entityId: 'early',
      input: { q: 1 },
      output: { r: 2 },
    });
    const row = await scoreTrace({ scorer: tools, target: { trace: buildTrace('a', 'x', [late, early]) } });
    expect(row?.reason).toEqual([
      ['early', { q: 1 }, { r: 2 }],
      ['late', {}, {}],
    ]);
  });

  it('gives null for what cannot be scored', async () => {
    expect(await scoreTrace({ scorer: words, target: { trace: buildTrace('a', 'word') } })).toBeNull();
  });

  it('refuses a span that is not there, and a trace without the run of an agent', async () => {
    const trace = buildTrace('a');
    await expect(scoreTrace({ scorer: words, target: { trace, spanId: 'x' } })).rejects.toThrow(
      'Trace "a" has no span "x"',
    );
    const workflow = span({ spanId: 'root', spanType: 'workflow_run', parentSpanId: null });
    const refused = scoreTrace({ scorer: words, target: { trace: { traceId: 'b', spans: [workflow] } } });
    await expect(refused).rejects.toBeInstanceOf(InvalidInputError);
  });

  it('reads times that are none as the beginning of time', async () => {
    const dates = createScorer({ id: 'dates', type: 'agent' }).generateScore(({ run }) =>
      Number(run.output[0]?.createdAt),
    ) as Scorer;
    const [root, ...rest] = buildTrace('a').spans;
    const spans = [{ ...(root as TraceSpan), endedAt: 'soon' }, ...rest];
    expect((await scoreTrace({ scorer: dates, target: { trace: { traceId: 'a', spans } } }))?.score).toBe(0);
  });
});

describe('scoring traces out of a store', () => {
  it('returns the result of each, in their order', async () => {
    const answers = ['one two', 'word', 'boom', 'one two three', 'a b'];
    const targets = answers.map((answer, index) => ({ trace: buildTrace(`t${index}`, answer) }));
    const outcome = await scoreTraces({ scorer: words, targets, concurrency: 2 });
    expect(outcome).toMatchObject({ scoredCount: 3, notScorableCount: 1, failedCount: 1 });
    const told = outcome.results.map((result) =>
      result.ok
        ? [result.index, result.traceId, result.row?.score]
        : [result.index, result.traceId, 'failed'],
    );
    expect(told).toEqual([
      [0, 't0', 2],
      [1, 't1', undefined],
      [2, 't2', 'failed'],
      [3, 't3', 3],
      [4, 't4', 2],
    ]);
  });

  it('scores no more at a time than it may', async () => {
    let running = 0;
    let most = 0;
    const slow = createScorer({ id: 'slow' }).generateScore(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return 1;
    }) as Scorer;
    const targets = Array.from({ length: 7 }, (_, index) => ({ trace: buildTrace(`t${index}`) }));
    expect((await scoreTraces({ scorer: slow, targets })).scoredCount).toBe(7);
    expect(most).toBe(3);
    expect((await scoreTraces({ scorer: slow, targets: [] })).results).toEqual([]);
  });
});
