import { describe, expect, it } from 'vitest';
import type { Span } from '../../../src/domain/trace/span.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import { MAX_MODEL_CALLS, MAX_TARGETS } from '../../../src/scoring/select/targets.ts';
import { createJoiningScoring } from '../../support/builders/pieces.ts';
import { buildSpan, computeSpanId } from '../../support/builders/spans.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import { buildLiveMode, buildRule, CountingScorer } from '../../support/scoring/scoring-world.ts';

const QUIET_MS = 60_000;
const say = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] });
const AGENT = buildSpan(
  'agent',
  {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'weather',
    'gen_ai.input.messages': [say('user', 'Does it rain?')],
    'gen_ai.output.messages': [say('assistant', 'It rains.')],
  },
  { lasts: 5_000 },
);
const KEY = { tenant: '', traceId: AGENT.traceId };

function chat(id: string, at: number, answer: string): Span {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
    'gen_ai.input.messages': [say('user', 'Does it rain?')],
    'gen_ai.output.messages': answer === '' ? [] : [say('assistant', answer)],
  };
  return buildSpan(id, attributes, { parent: 'agent', at });
}

async function world(...rules: Parameters<typeof buildRule>[1][]) {
  const store = new MemoryStore();
  const scorer = new CountingScorer('a');
  const mode = await buildLiveMode(store, ...rules.map((parts) => buildRule([scorer], parts)));
  const scoring = createJoiningScoring(store.stores, { monotonicMs: () => store.clockMs });
  return {
    store,
    scorer,
    score: async (...spans: Span[]) => {
      store.ingest(spans);
      store.clockMs += QUIET_MS;
      return scoreTraces(scoring, [KEY], mode);
    },
  };
}

function decided(store: MemoryStore) {
  return store
    .decisions()
    .map(({ target, targetId, scorer, status, reason }) =>
      [target, targetId.slice(32), scorer, status, reason.split(':')[0]].filter(Boolean).join(' '),
    );
}

describe('a rule on model calls', () => {
  it('scores each call by itself, under the id of its span', async () => {
    const { store, scorer, score } = await world({ target: 'model-call' });
    await score(AGENT, chat('one', 1, 'Let me see.'), chat('two', 50, 'It rains.'), chat('none', 90, ''));
    const [one, two, none] = ['one', 'two', 'none'].map((id) => `/${computeSpanId(id)}`);
    expect(decided(store)).toEqual([
      `model-call ${none} * not_applicable run_incomplete`,
      `model-call ${one} a scored`,
      `model-call ${two} a scored`,
    ]);
    expect(store.scores()).toMatchObject([
      { target: 'model-call', spanId: computeSpanId('one'), model: 'm', agent: 'weather' },
      { target: 'model-call', spanId: computeSpanId('two'), model: 'm', agent: 'weather' },
    ]);
    expect(scorer.inputs.map((input) => input['targetSpanId'])).toEqual(['one', 'two'].map(computeSpanId));
    expect(store.runs().map((run) => `${run.target} ${run.targetId.slice(32)}`)).toEqual([
      'trace ',
      `model-call ${one}`,
      `model-call ${two}`,
      `model-call ${none}`,
    ]);
  });

  it('scores an added call and no earlier one when late spans come', async () => {
    const { store, scorer, score } = await world({ target: 'model-call' });
    await score(AGENT, chat('one', 1, 'Let me see.'));
    await score(chat('two', 50, 'It rains.'));
    expect(scorer.inputs.map((input) => input['targetSpanId'])).toEqual(['one', 'two'].map(computeSpanId));
    expect(store.decisions().map((row) => row.status)).toEqual(['scored', 'scored']);
  });

  it('shares its trace, and the number by which traces are sampled, with rules on other targets', async () => {
    const { store, score } = await world({ name: 'whole' }, { name: 'calls', target: 'model-call' });
    await score(AGENT, chat('one', 1, 'It rains.'));
    expect(decided(store)).toEqual(['trace a scored', `model-call /${computeSpanId('one')} a scored`]);
    const sampled = await world(
      { name: 'whole', sample: { rate: 0, always: [] } },
      { name: 'calls', target: 'model-call', sample: { rate: 0, always: [] } },
    );
    await sampled.score(AGENT, chat('one', 1, 'It rains.'));
    expect(decided(sampled.store)).toEqual([
      'trace * sampled_out sampled_out',
      'model-call * sampled_out sampled_out',
    ]);
  });

  it('scores the first calls of a trace up to the limit, and says how many there are', async () => {
    const { store, scorer, score } = await world({ target: 'model-call' });
    const many = Array.from({ length: MAX_MODEL_CALLS + 7 }, (_, at) => chat(`n${at}`, at, `Answer ${at}.`));
    await score(AGENT, ...many);
    expect(scorer.inputs).toHaveLength(MAX_MODEL_CALLS);
    const rest = store.decisions().filter((row) => row.status !== 'scored');
    expect(rest).toMatchObject([
      {
        targetId: KEY.traceId,
        status: 'not_applicable',
        reason: 'too_many_calls: the trace has 107 model calls; the first 100 are scored',
      },
    ]);
    await score(chat('late', 400, 'More.'));
    expect(scorer.inputs).toHaveLength(MAX_MODEL_CALLS);
    expect(store.decisions().filter((row) => row.status !== 'scored')).toMatchObject([
      { targetId: KEY.traceId, reason: expect.stringContaining('108 model calls') as string },
    ]);
    const [again] = await score();
    expect(again?.decisions).toEqual([]);
  });

  it.each(['agent', 'trace'] as const)(
    'counts the targets beyond the limit of a rule on %ss',
    async (target) => {
      const { store, scorer, score } = await world({ target });
      const agent = (id: string, at: number) => ({
        ...AGENT,
        spanId: computeSpanId(id),
        parentSpanId: target === 'agent' ? AGENT.spanId : '',
        startUnixNano: AGENT.startUnixNano + BigInt(at),
        attributes: new Map([...AGENT.attributes, ['gen_ai.agent.name', id]]),
      });
      const ids = Array.from({ length: MAX_TARGETS + 4 }, (_, at) => `n${at}`);
      await score(...(target === 'agent' ? [AGENT] : []), ...ids.map(agent));
      expect(scorer.inputs).toHaveLength(MAX_TARGETS);
      const listRest = () => store.decisions().filter((row) => row.status !== 'scored');
      const what = target === 'agent' ? 'called agents' : 'runs';
      const rest = {
        targetId: target === 'agent' ? KEY.traceId : `${KEY.traceId}/200`,
        scorer: '*',
        status: 'not_applicable',
        reason: `too_many_targets: the trace has 204 ${what}; the first 200 are scored`,
      };
      expect(listRest()).toMatchObject([rest]);
      await score(agent('late', 999));
      expect(scorer.inputs).toHaveLength(MAX_TARGETS);
      expect(listRest()).toMatchObject([{ ...rest, reason: rest.reason.replace('204', '205') }]);
      const [again] = await score();
      expect(again?.decisions).toEqual([]);
    },
  );

  it('says of a trace without a model call that there is none', async () => {
    const { store, score } = await world({ target: 'model-call' });
    await score(AGENT);
    expect(store.decisions()).toMatchObject([
      { status: 'not_applicable', reason: expect.stringContaining('no model call') as string },
    ]);
  });
});
