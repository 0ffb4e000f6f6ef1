import { describe, expect, it } from 'vitest';
import type { Span } from '../../../src/domain/trace/span.ts';
import { AppError } from '../../../src/domain/errors.ts';
import type { AgentMessage } from '../../../src/domain/trace/messages.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import { drawUniform } from '../../../src/scoring/select/sample-trace.ts';
import { explainSession } from '../../../src/scoring/explain.ts';
import { MAX_SESSION_TURNS } from '../../../src/scoring/sessions/select-sessions.ts';
import { scoreSession, computeSessionWait } from '../../../src/scoring/sessions/score-session.ts';
import { buildPieces, createJoiningScoring } from '../../support/builders/pieces.ts';
import { buildSpan } from '../../support/builders/spans.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import {
  buildLiveMode,
  buildRule,
  CountingScorer,
  createTestScoring,
} from '../../support/scoring/scoring-world.ts';
import { createScorerOwnership } from '../../../src/scoring/live/scoring-loop.ts';
import type { Timers } from '../../../src/domain/waits.ts';
import { SessionLoop } from '../../../src/scoring/sessions/session-loop.ts';
import { buildDecision } from '../../support/store/store-rows.ts';
import { until } from '../../support/until.ts';

describe('the scoring of sessions', () => {
  const MINUTE = 60_000;
  const SETTINGS = { idleMs: 30 * MINUTE, maxAgeMs: 24 * 60 * MINUTE, rescores: 24 };
  const KEY = { tenant: '', sessionId: 's' };
  const message = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] });

  let turns = 0;
  /** Builds a turn of a session as a trace of its own, at minutes after the first. `answer` '' stands for a failed turn. */
  function turn(
    question: string,
    answer: string,
    options: { at?: number; session?: string; user?: string } = {},
  ): Span {
    turns += 1;
    const attributes = {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'weather',
      'gen_ai.conversation.id': options.session ?? KEY.sessionId,
      'user.id': options.user ?? 'ann',
      'gen_ai.input.messages': [message('user', question)],
      ...(answer === '' ? {} : { 'gen_ai.output.messages': [message('assistant', answer)] }),
      'gen_ai.usage.input_tokens': '10',
      'gen_ai.usage.output_tokens': '2',
    };
    const at = (options.at ?? turns) * 1_000;
    const traceId = turns.toString(16).padStart(32, '0');
    return buildSpan(`turn ${turns}`, attributes, {
      at,
      traceId,
      ...(answer === '' ? { error: 'down' } : {}),
    });
  }

  async function world(
    parts: Parameters<typeof buildRule>[1] = {},
    ...others: Parameters<typeof buildRule>[1][]
  ) {
    const store = new MemoryStore();
    const scorer = new CountingScorer('a');
    const rules = [{ name: 's', target: 'session' as const, ...parts }, ...others];
    const built = rules.map((rule) => buildRule([scorer], rule));
    const mode = await buildLiveMode(store, ...built);
    const scoring = createJoiningScoring(store.stores, { monotonicMs: () => store.clockMs });
    const pass = async (...spans: Span[]) => {
      const keys = spans.map(({ traceId }) => ({ tenant: '', traceId }));
      await scoreTraces(scoring, keys, mode);
    };
    return {
      store,
      scorer,
      /** Stores traces and scores them as traces. */
      arrive: async (...spans: Span[]) => {
        store.ingest(spans);
        store.clockMs += MINUTE;
        await pass(...spans);
      },
      pass,
      score: async (key = KEY, waitMs = 30 * MINUTE) => {
        store.clockMs += waitMs;
        return scoreSession(scoring, key, mode, SETTINGS);
      },
      /** Returns the reasons why rules have not scored the session. */
      explain: async () => {
        const activity = await store.stores.sessions.activity(KEY);
        const { computed } = await explainSession(store.stores, activity!, {
          rules: built,
          settings: SETTINGS,
        });
        return computed.map(({ reason }) => reason);
      },
      rows: () =>
        store.decisions().map((row) => [row.target, row.targetId, row.scorer, row.status].join(' ')),
    };
  }

  function texts(messages: unknown): string[] {
    return (messages as AgentMessage[]).map(({ role, content }) => `${role}: ${content.content ?? ''}`);
  }

  describe('a rule on sessions', () => {
    it('scores the turns as one conversation: the last question with all answers, and the history before it', async () => {
      const { store, scorer, arrive, score, rows } = await world();
      await arrive(turn('Hi?', 'Hello.'), turn('Does it rain?', 'Yes.', { user: 'ben' }));
      await arrive(turn('And in Rome?', 'No.'));
      await score();
      const [input] = scorer.inputs;
      expect(scorer.inputs).toHaveLength(1);
      const given = input!.input as { inputMessages: unknown; rememberedMessages: unknown };
      expect(texts(given.inputMessages)).toEqual(['user: And in Rome?']);
      expect(texts(given.rememberedMessages)).toEqual([
        'user: Hi?',
        'assistant: Hello.',
        'user: Does it rain?',
        'assistant: Yes.',
      ]);
      expect(texts(input!.output)).toEqual(['assistant: Hello.', 'assistant: Yes.', 'assistant: No.']);
      expect(rows()).toEqual(['session s a scored']);
      expect(store.scores()).toMatchObject([
        {
          traceId: '',
          spanId: '',
          target: 'session',
          targetId: 's',
          sessionId: 's',
          userId: 'ann',
          agent: 'weather',
        },
      ]);
      expect(store.runs().filter((run) => run.target === 'session')).toMatchObject([
        { traceId: '', targetId: 's', turns: 3, inputTokens: 30, outputTokens: 6, completeness: 'complete' },
      ]);
    });

    it('waits until the session is idle, and scores it again after new turns, beyond the limit of late spans', async () => {
      const { store, scorer, arrive, score } = await world();
      await arrive(turn('Hi?', 'Hello.'));
      expect(await score(KEY, MINUTE)).toMatchObject({
        decisions: [],
        waitUntilMs: expect.any(Number) as number,
      });
      for (let revision = 1; revision <= 6; revision += 1) {
        await score(KEY);
        expect(store.scores()).toMatchObject([{ revision }]);
        await arrive(turn('More?', `Yes ${revision}.`));
      }
      expect(scorer.inputs).toHaveLength(6);
    });

    it('is scored no more often in 24 hours than the limit says, then again after the first of them is a day old', async () => {
      const { store, scorer, arrive, score, explain } = await world();
      const firstMs = store.clockMs;
      for (let result = 1; result <= SETTINGS.rescores; result += 1) {
        await arrive(turn('More?', `Yes ${result}.`));
        await score();
      }
      expect(scorer.inputs).toHaveLength(SETTINGS.rescores);
      await arrive(turn('More?', 'No.'));
      expect(await explain()).toEqual(['further turns may still come']);
      const { waitUntilMs } = await score();
      expect(await explain()).toEqual([expect.stringContaining('readiness.session.rescores')]);
      expect(scorer.inputs).toHaveLength(SETTINGS.rescores);
      expect(waitUntilMs).toBe(firstMs + 24 * 60 * MINUTE + 31 * MINUTE);
      await score(KEY, waitUntilMs! - store.clockMs);
      expect(scorer.inputs).toHaveLength(SETTINGS.rescores + 1);
    });

    it('asks no scorer again when nothing of the content changed', async () => {
      const { store, scorer, arrive, score } = await world();
      const only = turn('Hi?', 'Hello.');
      await arrive(only);
      await score();
      const other = buildSpan(
        'log',
        { 'http.route': '/' },
        { parent: `turn ${turns}`, traceId: only.traceId },
      );
      await arrive(other);
      await score(KEY, 60 * MINUTE);
      expect(scorer.inputs).toHaveLength(1);
      expect(store.decisions()).toMatchObject([
        { status: 'scored', evidenceUntil: store.clockMs - 61 * MINUTE },
      ]);
    });

    it('reads every trace for its session, also one that other rules leave out', async () => {
      const { store, arrive, pass, score, rows } = await world(
        {},
        { name: 't', sample: { rate: 0, always: [] } },
      );
      const spans = [turn('Hi?', 'Hello.'), turn('Bye?', 'Bye.')];
      await arrive(...spans);
      expect(store.runs()).toMatchObject([
        { readFrom: 'content', sessionId: 's' },
        { readFrom: 'content', sessionId: 's' },
      ]);
      await score();
      expect(rows().sort()).toEqual([
        'session s a scored',
        ...spans.map(({ traceId }) => `trace ${traceId} * sampled_out`),
      ]);
      const reads = store.reads.length;
      await pass(...spans);
      expect(store.reads).toHaveLength(reads);
    });

    it('remembers that a trace without a session or a run was read', async () => {
      const { store, arrive, pass } = await world();
      const { asks, tool, answers } = buildPieces('Does it rain?');
      await arrive(asks, tool, answers);
      const reads = store.reads.length;
      const pairs = [{ rule: 's', scorer: 'a', fromMs: 0, untilMs: Infinity, ofSessions: true }];
      const query = { sinceMs: 0, nowMs: store.clockMs, pairs, limit: 10 };
      expect(await store.stores.decisions.undecided(query)).toEqual([]);
      await pass(asks, tool, answers);
      expect(store.reads).toHaveLength(reads);
      expect(store.runs()).toMatchObject([{ traceId: asks.traceId }]);
    });

    it('samples by tenant and session, never by trace', async () => {
      const rate = 0.5;
      const ids = Array.from({ length: 20 }, (_, at) => `s${at}`);
      const { arrive, score, rows } = await world({ sample: { rate, always: [] } });
      await arrive(...ids.map((session) => turn('Hi?', 'Hello.', { session })));
      for (const sessionId of ids) {
        await score({ tenant: '', sessionId });
      }
      const expected = ids.map((id) =>
        drawUniform(`session  ${id}`) < rate ? `session ${id} a scored` : `session ${id} * sampled_out`,
      );
      expect(new Set(rows())).toEqual(new Set(expected));
      expect(new Set(expected.map((row) => row.split(' ')[2])).size).toBe(2);
    });

    it('keeps tenants apart, and takes the conditions of any turn for the session', async () => {
      const { arrive, score, rows } = await world({ where: { agent: ['helper'] } });
      await arrive(turn('Hi?', 'Hello.'));
      await score();
      expect(rows()).toEqual(['session s * filtered']);
      expect(await score({ tenant: 'other', sessionId: 's' })).toMatchObject({ decisions: [] });
    });

    it('reads the newest turns up to the limit and says that the score is partial', async () => {
      const { store, scorer, arrive, score } = await world();
      const many = Array.from({ length: MAX_SESSION_TURNS + 3 }, (_, at) =>
        turn(`Question ${at}?`, `Answer ${at}.`),
      );
      await arrive(...many);
      await score();
      const output = texts(scorer.inputs[0]!.output);
      expect(output).toHaveLength(MAX_SESSION_TURNS);
      expect(output[0]).toBe('assistant: Answer 3.');
      expect(store.scores()).toMatchObject([{ completeness: 'partial' }]);
    });

    it('leaves a failed turn out of the conversation; a session of failed turns cannot be scored', async () => {
      const { scorer, arrive, score, rows, store } = await world();
      await arrive(turn('Hi?', ''));
      await score();
      expect(rows()).toEqual(['session s * not_applicable']);
      expect(store.decisions()[0]?.reason).toMatch(/^run_errored_before_output/);
      await arrive(turn('Does it rain?', 'Yes.'), turn('And now?', ''));
      await score(KEY, 60 * MINUTE);
      expect(texts(scorer.inputs[0]!.output)).toEqual(['assistant: Yes.']);
      expect(texts((scorer.inputs[0]!.input as { inputMessages: unknown }).inputMessages)).toEqual([
        'user: Does it rain?',
      ]);
    });

    it('ends a deferred decision when the spans of its turns are no longer stored', async () => {
      const { store, arrive, score, scorer } = await world();
      scorer.scores = () => {
        throw new AppError('busy', { code: 'judge_rate_limited', stage: 'judge', retryable: true });
      };
      await arrive(turn('Hi?', 'Hello.'));
      await score();
      expect(store.decisions()).toMatchObject([{ status: 'deferred' }]);
      store.spanRows.length = 0;
      await score(KEY, 60 * MINUTE);
      expect(store.decisions()).toMatchObject([
        { status: 'failed', reason: expect.stringMatching(/^evidence_gone/) as string },
      ]);
    });
  });
});

/** Sleeps until the end of the test. */
const timers: Timers = {
  sleep: (_ms, signal) => new Promise((done) => signal.addEventListener('abort', () => done())),
};

it('ends the deferred decisions on sessions whose rule no process has any more, also without a rule on sessions', async () => {
  const store = new MemoryStore();
  const rules = [buildRule([new CountingScorer('a')])];
  const row = { traceId: '', target: 'session', targetId: 's', rule: 'removed', scorer: 'a' } as const;
  await store.stores.decisions.write([
    buildDecision({ ...row, status: 'deferred', nextAttemptAt: store.clockMs, evidenceUntil: store.clockMs }),
    buildDecision({ ...row, targetId: 'later', status: 'deferred', nextAttemptAt: store.clockMs + 1 }),
  ]);
  const ownership = createScorerOwnership(undefined, rules, { member: '', monotonicMs: () => store.clockMs });
  const settings = { idleMs: 60_000, maxAgeMs: 60_000, rescores: 24 };
  const loop = new SessionLoop(createTestScoring(store), { rules, ownership, settings, timers });
  await until(() => store.decisions().some((each) => each.status === 'filtered'), 5_000);
  await loop.stop();
  expect(store.decisions()).toMatchObject([
    { targetId: 's', status: 'filtered', reason: expect.stringMatching(/^rule_removed/) as string },
    { targetId: 'later', status: 'deferred' },
  ]);
});

describe('the wait for sessions', () => {
  const MINUTE = 60_000;
  const HOUR = 60 * MINUTE;
  const SETTINGS = { idleMs: 30 * MINUTE, maxAgeMs: 24 * HOUR, rescores: 24 };

  function wait(nowMs: number, { first = 0, last = 0 }, ...prior: Parameters<typeof buildDecision>[0][]) {
    const activity = { tenant: '', sessionId: 's', firstArrivalMs: first, lastArrivalMs: last };
    return computeSessionWait(
      activity,
      prior.map((row) => buildDecision(row)),
      nowMs,
      SETTINGS,
    );
  }

  describe('a session', () => {
    it('is ready when it was idle for long enough', () => {
      expect(wait(30 * MINUTE - 1, {})).toBe(30 * MINUTE);
      expect(wait(30 * MINUTE, {})).toBeNull();
    });

    it('that is never idle is ready at its maximum age, and again as long after that decision', () => {
      expect(wait(24 * HOUR - 1, { last: 24 * HOUR - 2 })).toBe(24 * HOUR);
      expect(wait(24 * HOUR, { last: 24 * HOUR - 1 })).toBeNull();
      const decided = { evidenceUntil: 24 * HOUR, decidedAt: 24 * HOUR, status: 'scored' as const };
      expect(wait(47 * HOUR, { last: 47 * HOUR - 1 }, decided)).toBe(47.5 * HOUR - 1);
      expect(wait(48 * HOUR, { last: 48 * HOUR - 1 }, decided)).toBeNull();
    });

    it('is scored again as soon as it is idle after new turns', () => {
      const scored = { evidenceUntil: 0, decidedAt: 30 * MINUTE, status: 'scored' as const };
      expect(wait(60 * MINUTE, { last: 31 * MINUTE }, scored)).toBe(61 * MINUTE);
      expect(wait(61 * MINUTE, { last: 31 * MINUTE }, scored)).toBeNull();
    });

    it('counts the results of the last day when the limit was lowered meanwhile', () => {
      const activity = { tenant: '', sessionId: 's', firstArrivalMs: 0, lastArrivalMs: 4 * HOUR };
      const settings = { ...SETTINGS, rescores: 2 };
      const results = [1 * HOUR, 2 * HOUR, 3 * HOUR];
      expect(computeSessionWait(activity, [], 5 * HOUR, settings, results)).toBe(26 * HOUR);
    });

    it('without new turns does not wait: its deferred decisions may be due', () => {
      expect(wait(1, { last: 5 }, { evidenceUntil: 5, status: 'deferred' })).toBeNull();
    });
  });
});
