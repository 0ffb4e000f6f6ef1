import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readTrace } from '../../../src/conventions/index.ts';
import { createJudgeRegistry, type JudgeLimits } from '../../../src/judge/judge-registry.ts';
import { createHallucinationScorer } from '../../../src/scorers/prebuilt/index.ts';
import { createScoring } from '../../support/scoring/bare-scoring.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import {
  judgeFaults,
  startJudgeServer,
  type JudgeServer,
  type ScriptedReply,
} from '../../support/fakes/judge-server.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import { CountingScorer, buildLiveMode, newTraceId, buildRule } from '../../support/scoring/scoring-world.ts';
import { agentRunSpans } from '../../support/store/stored-agent.ts';

let server: JudgeServer;
let models = 0;

beforeAll(async () => {
  server = await startJudgeServer(() => judgeFaults.empty());
});
afterAll(() => server.close());

/** One trace with a tool call, scored by code and by a judge that replies like this. */
async function scoredWith(reply: () => ScriptedReply, limits: Partial<JudgeLimits> = {}) {
  server.script(reply);
  server.requests.length = 0;
  models += 1;
  const store = new MemoryStore();
  const scoring = createScoring({
    stores: store.stores,
    readTrace,
    log: silentLog,
    random: () => 0,
    monotonicMs: () => store.clockMs,
    judgeScope: {
      judges: createJudgeRegistry({
        providers: { local: { baseURL: server.baseUrl } },
        limits: { firstRetryMs: 1, maxRetryWaitMs: 20, timeoutMs: 60_000, ...limits },
      }),
    },
  });
  const judge = createHallucinationScorer({ model: `local/model-${models}` });
  const mode = await buildLiveMode(store, buildRule([new CountingScorer('code'), judge]));
  const traceId = newTraceId();
  store.ingest(agentRunSpans(traceId));
  store.clockMs += 60_000;
  const [outcome] = await scoreTraces(scoring, [{ tenant: '', traceId }], mode);
  expect(outcome?.error).toBeNull();
  return { store, decision: store.decisions().find((row) => row.scorer === judge.id) };
}

const REDIRECT: ScriptedReply = { kind: 'raw', status: 307, headers: { location: '/elsewhere' }, body: '' };

const faults: [string, () => ScriptedReply, string, RegExp][] = [
  ['garbage', judgeFaults.garbage, 'deferred', /^judge_malformed: try 1 of 3: /],
  ['another shape than asked for', judgeFaults.wrongSchema, 'deferred', /^judge_malformed: try 1 of 3: /],
  ['a refusal', judgeFaults.refusal, 'failed', /^judge_refused: /],
  ['nothing', judgeFaults.empty, 'deferred', /^judge_malformed: try 1 of 3: /],
  ['401', judgeFaults.unauthorised, 'deferred', /^judge_unauthorised: /],
  ['404', judgeFaults.notFound, 'deferred', /^judge_misconfigured: .*no such model or path/],
  ['a redirect', () => REDIRECT, 'deferred', /^judge_misconfigured: .*redirects to/],
  ['429', () => judgeFaults.rateLimited('120'), 'deferred', /^judge_rate_limited: /],
  ['500', judgeFaults.serverError, 'deferred', /^judge_unavailable: /],
  ['HTML', judgeFaults.html, 'deferred', /^judge_unavailable: /],
  ['half an answer', judgeFaults.breakOff, 'deferred', /^judge_unavailable: /],
  ['a reset connection', judgeFaults.reset, 'deferred', /^judge_unavailable: /],
];

describe('a judge that answers with', () => {
  test.each(faults)(
    '%s: a decision with the reason, no score of it, and the code scorer scored',
    async (...row) => {
      const [, reply, status, reason] = row;
      const { store, decision } = await scoredWith(reply);
      expect(decision).toMatchObject({ status, attempts: 1, reason: expect.stringMatching(reason) });
      expect(store.scores().map((score) => score.scorer)).toEqual(['code']);
      expect(store.decisions().find((each) => each.scorer === 'code')?.status).toBe('scored');
      expect(store.judgeCallRows.length).toBe(server.requests.length);
    },
  );

  test('a time to wait: the decision is not due before', async () => {
    const { store, decision } = await scoredWith(() => judgeFaults.rateLimited('120'));
    expect(decision?.nextAttemptAt).toBeGreaterThanOrEqual(store.clockMs + 119_000);
  });

  test('404: the decision is not due for five minutes', async () => {
    const { store, decision } = await scoredWith(judgeFaults.notFound);
    expect(decision?.nextAttemptAt).toBeGreaterThanOrEqual(store.clockMs + 299_000);
  });

  test('nothing at all: given up within the time of the judge', async () => {
    const { decision } = await scoredWith(judgeFaults.hang, {
      timeoutMs: 300,
      maxRetries: 0,
    });
    expect(decision?.status).toBe('deferred');
  });
});
