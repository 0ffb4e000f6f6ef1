import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readTrace } from '../../../../src/conventions/index.ts';
import { AppError } from '../../../../src/domain/errors.ts';
import { buildSessionTargetId } from '../../../../src/domain/session-target.ts';
import { createScorerOwnership, ScoringLoop } from '../../../../src/scoring/live/scoring-loop.ts';
import { createScoring } from '../../../support/scoring/bare-scoring.ts';
import type { Rule } from '../../../../src/scoring/select/rule.ts';
import { SessionLoop } from '../../../../src/scoring/sessions/session-loop.ts';
import type { Store } from '../../../../src/store/store.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { decodeOtlpJson } from '../../../../src/wire/otlp-json.ts';
import { anAgentTrace } from '../../../support/builders/agent-trace.ts';
import { buildRule, CountingScorer } from '../../../support/scoring/scoring-world.ts';
import { store as ingest } from '../../../support/store/stored-agent.ts';
import { openEmptied, testStore, type TestStore } from '../../../support/store/store-rows.ts';
import { until } from '../../../support/until.ts';

const WAIT_MS = 200;
const IDLE_MS = 2_000;
const SETTINGS = { idleMs: IDLE_MS, maxAgeMs: 60_000, rescores: 24 };

let base: TestStore;
let store: Store;
const running: { stop(): Promise<void> }[] = [];

beforeAll(async () => {
  base = await testStore();
});
afterAll(async () => {
  await base.stop();
});
afterEach(async () => {
  await stopAll();
  await store.close();
});

async function stopAll() {
  await Promise.all(running.splice(0).map((loop) => loop.stop()));
}

/** With the name of a member, the process shares its sessions with other members. */
async function startLoops(rules: readonly Rule[], member?: string, settings = SETTINGS) {
  const scoring = createScoring({ stores: store, readTrace, log: silentLog }, { decisionWaitMs: WAIT_MS });
  const ownership = createScorerOwnership(member === undefined ? undefined : store.members, rules, {
    member: member ?? '',
    monotonicMs: () => performance.now(),
  });
  const loop = new ScoringLoop(scoring, { rules, ownership, stopGraceMs: 1_000 });
  await loop.start();
  running.push(loop, new SessionLoop(scoring, { rules, ownership, settings, stopGraceMs: 1_000 }));
}

/** Stores one turn of a session. Returns its trace id. */
async function say(session: string, question: string, answer: string, startMs = Date.now()): Promise<string> {
  const trace = anAgentTrace(undefined, startMs)
    .asking(question)
    .answering(answer)
    .withAttributes({ 'gen_ai.conversation.id': session });
  await ingest(store, decodeOtlpJson(trace.request()).spans);
  return trace.traceId;
}

const onSessions = (scorer: CountingScorer): Rule => buildRule([scorer], { name: 's', target: 'session' });
const readScores = (sessionId: string) => store.sessions.scores({ tenant: '', sessionId });
const readDecisions = (sessionId: string) => store.sessions.decisions('', [buildSessionTargetId(sessionId)]);

describe('sessions on the engine', () => {
  test('are scored as one conversation when they are idle, and again after a new turn', async () => {
    store = await openEmptied(base.options);
    const scorer = new CountingScorer('a', ({ output }) => ({ score: (output as unknown[]).length / 4 }));
    const ofTraces = new CountingScorer('b');
    // Also a busy machine records both turns before the session is idle.
    const settings = { ...SETTINGS, idleMs: 8_000 };
    await startLoops([onSessions(scorer), buildRule([ofTraces], { name: 't' })], undefined, settings);
    const session = randomUUID();
    const startMs = Date.now();
    const [first] = await Promise.all([
      say(session, 'Does it rain in Rome?', 'Yes.', startMs),
      say(session, 'And in Paris?', 'No.', startMs + 1_000),
    ]);
    await until(async () => (await readDecisions(session)).length > 0);
    expect(await readScores(session)).toMatchObject([
      {
        score: 0.5,
        target: 'session',
        targetId: session,
        sessionId: session,
        traceId: '',
        spanId: '',
        revision: 1,
      },
    ]);
    expect(await readDecisions(session)).toMatchObject([
      { rule: 's', scorer: 'a', status: 'scored', traceId: '' },
    ]);

    await say(session, 'Thank you.', 'You are welcome.', startMs + 2_000);
    await until(async () => (await readScores(session))[0]?.revision === 2);
    expect(await readScores(session)).toMatchObject([{ score: 0.75, completeness: 'complete' }]);
    expect(scorer.inputs).toHaveLength(2);
    expect(ofTraces.inputs).toHaveLength(3);
    const key = { tenant: '', traceId: first };
    expect([...(await store.decisions.ofTraces([key])).values()].flat()).toMatchObject([
      { rule: 't', target: 'trace' },
    ]);
  });

  test('are found after a restart, also when no process ran while they became ready', async () => {
    store = await openEmptied(base.options);
    const scorer = new CountingScorer('a');
    // Also a busy machine stops this process before the session is idle.
    await startLoops([onSessions(scorer)], undefined, { ...SETTINGS, idleMs: 60_000 });
    const session = `long ${'x'.repeat(300)}`;
    const traceId = await say(session, 'Does it rain?', 'Yes.');
    await until(async () => (await store.runs.readUntil([{ tenant: '', traceId }])).size > 0);
    await stopAll();
    expect(scorer.inputs).toEqual([]);
    await say(session, 'And now?', 'No.');
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    await startLoops([onSessions(scorer)]);
    await until(async () => (await readDecisions(session)).length > 0);
    await until(
      async () =>
        scorer.inputs.at(-1) !== undefined && (scorer.inputs.at(-1)!.output as unknown[]).length === 2,
    );
    expect(await readDecisions(session)).toMatchObject([
      { targetId: buildSessionTargetId(session), status: 'scored' },
    ]);
  });

  test('have one owner among several processes, and a deferred decision is tried again when it is due', async () => {
    store = await openEmptied(base.options);
    const refused = new Set<string>();
    const scorer = new CountingScorer('a', ({ runId }) => {
      if (!refused.has(String(runId))) {
        refused.add(String(runId));
        throw new AppError('busy', {
          code: 'judge_rate_limited',
          stage: 'judge',
          retryable: true,
          retryAfterMs: 500,
        });
      }
      return { score: 1 };
    });
    await startLoops([onSessions(scorer)], 'one');
    await startLoops([onSessions(scorer)], 'two');
    const sessions = Array.from({ length: 6 }, (_, at) => `session ${at}`);
    for (const session of sessions) {
      await say(session, 'Does it rain?', 'Yes.');
    }
    await until(
      async () => (await Promise.all(sessions.map(readScores))).every((rows) => rows.length === 1),
      60_000,
    );
    expect(scorer.inputs).toHaveLength(2 * sessions.length);
  });
});
