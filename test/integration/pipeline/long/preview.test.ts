import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { previewJson } from '../../../../src/api/resources/previews.ts';
import { parseConfig } from '../../../../src/configuration.ts';
import { previewConfigured } from '../../../../src/jobs/configured-preview.ts';
import {
  createConfiguredScoring,
  sessionSettings,
} from '../../../../src/scoring/setup/configured-scoring.ts';
import { loadScorerKit } from '../../../../src/scoring/setup/scorer-kit.ts';
import { readTrace } from '../../../../src/conventions/index.ts';
import { DAY_MS } from '../../../../src/domain/durations.ts';
import type { Decision } from '../../../../src/domain/decision.ts';
import type { Score } from '../../../../src/domain/score.ts';
import type { Span } from '../../../../src/domain/trace/span.ts';
import { judgeTargets } from '../../../../src/jobs/preview.ts';
import { scoreTraces } from '../../../../src/scoring/score-traces.ts';
import { liveMode } from '../../../../src/scoring/scoring-mode.ts';
import { recordRules } from '../../../../src/scoring/select/rule.ts';
import { scoreSession, NO_SESSION_WAIT } from '../../../../src/scoring/sessions/score-session.ts';
import type { SessionKey } from '../../../../src/store/contracts/lists.ts';
import type { TraceKey } from '../../../../src/store/contracts/stores.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { decodeOtlpJson } from '../../../../src/wire/otlp-json.ts';
import { AgentTraceBuilder } from '../../../support/builders/agent-trace.ts';
import { seededRandom } from '../../../support/builders/score-streams.ts';
import { startJudgeServer, type JudgeServer } from '../../../support/fakes/judge-server.ts';
import { createPricedJudge } from '../../../support/scoring/priced-judge.ts';
import { queryRows } from '../../../support/store/clickhouse-query.ts';
import { store as ingest } from '../../../support/store/stored-agent.ts';
import { newTraceId, openEmptied, testStore, type TestStore } from '../../../support/store/store-rows.ts';
import { until } from '../../../support/until.ts';

const TRACES = 300;
const SESSIONS = 90;
const JUDGED_SESSIONS = 60;

/** Traces of one insert. */
const BLOCK = 100;

let base: TestStore;
let store: TestStore['store'];
let judge: JudgeServer;

beforeAll(async () => {
  base = await testStore();
});
afterAll(() => base.stop());
beforeEach(async () => {
  store = await openEmptied(base.options);
  judge = await startJudgeServer(createPricedJudge({ seed: 7 }));
});
afterEach(async () => {
  await judge.close();
  await store.close();
});

/** Opens scoring with a rule on traces and one on sessions: each has conditions, a sample, code scorers and a judge. */
async function openScoring() {
  const rule = {
    scorers: ['hallucination', 'keyword-coverage', 'no-tool-errors'],
    where: { not: { service: ['canary'] } },
    budget: { perDay: 1_000 },
  };
  const config = parseConfig({
    judges: {
      default: 'fake/judge',
      providers: { fake: { baseURL: judge.baseUrl, concurrency: 32 } },
      prices: { 'fake/judge': { input: 0.5, output: 4 } },
    },
    rules: [
      {
        ...rule,
        name: 'production',
        sample: { rate: 0.6, always: ['error', 'tool-error', { tokens: 100 }] },
      },
      { ...rule, name: 'chats', target: 'session', sample: { rate: 0.6, always: ['error', 'tool-error'] } },
    ],
    readiness: { decisionWait: '1ms', session: { idle: '1s' } },
  });
  const kit = await loadScorerKit(config);
  const scoring = createConfiguredScoring({ config, kit, stores: store, readTrace, log: silentLog });
  return { config, kit, scoring, rule: kit.rules[0]!, chats: kit.rules[1]! };
}

/** Stores traces of all kinds: of other services, with tools, failing tools and none. Those with a tool have more than 100 tokens. */
async function fill(): Promise<TraceKey[]> {
  const random = seededRandom(3);
  const ids = Array.from({ length: TRACES }, () => newTraceId());
  const spans: Span[] = ids.flatMap((traceId, n) => {
    const trace = new AgentTraceBuilder(traceId, Date.now() - 3_600_000 + n)
      .of(random() < 0.1 ? 'canary' : 'shop')
      .withAttributes({ 'gen_ai.conversation.id': `session ${n % SESSIONS}` })
      .answering(random() < 0.1 ? '' : `Answer ${n}. It is ${Math.floor(100 * random())} degrees`);
    const [hasTool, hasFailed] = [random() < 0.6, random() < 0.1];
    if (hasTool) {
      const outcome = hasFailed ? { error: `failure ${n}` } : { result: `result ${n}` };
      trace.with({ name: 'search', args: {}, ...outcome });
    }
    return decodeOtlpJson(trace.request()).spans;
  });
  const size = Math.ceil(spans.length / (TRACES / BLOCK));
  for (let start = 0; start < spans.length; start += size) {
    await ingest(store, spans.slice(start, start + size));
  }
  return ids.map((traceId) => ({ tenant: '', traceId }));
}

/** Counts the rows of every table of the database. */
async function countRows(): Promise<Map<string, string>> {
  const tables = await queryRows<{ name: string }>(
    base.options,
    `SELECT name FROM system.tables WHERE database = '${base.options.database}' AND engine LIKE '%MergeTree'`,
  );
  const counts = await Promise.all(
    tables.map(async ({ name }) => {
      const [row] = await queryRows<{ rows: string }>(
        base.options,
        `SELECT count() AS rows FROM ${name} FINAL`,
      ).catch(() => queryRows<{ rows: string }>(base.options, `SELECT count() AS rows FROM ${name}`));
      return [name, row?.rows ?? ''] as const;
    }),
  );
  return new Map(counts);
}

async function listSessions(): Promise<SessionKey[]> {
  return store.sessions.list({ fromMs: 0, toMs: Date.now(), limit: TRACES });
}

const pickDecision = ({ traceId, targetId, scorer, rule, status, reason, ...row }: Decision) => ({
  id: [traceId, targetId, scorer].join(' '),
  rule,
  status,
  reason,
  fingerprint: row.fingerprint,
  stratum: row.stratum,
  inclusionProbability: row.inclusionProbability,
  weight: row.weight,
  evidenceHash: row.evidenceHash,
  evidenceUntil: row.evidenceUntil,
});

/** Leaves out what depends on the time of the run. */
const pickScore = (score: Score) => ({ ...score, scoredAt: 0, durationMs: 0 });

const byId = <Row extends { readonly id: string }>(rows: readonly Row[]) =>
  rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));
const byScore = (rows: readonly Score[]) =>
  rows.map(pickScore).toSorted((a, b) => (a.scoreId < b.scoreId ? -1 : 1));

describe('a preview', () => {
  it('decides traces of all kinds and their sessions as live scoring does', async () => {
    const { kit, scoring, rule, chats } = await openScoring();
    const history = await recordRules(store.ruleVersions, kit.rules, (await store.spans.nowMs()) - 1_000);
    const keys = await fill();
    const { signal: judging } = new AbortController();
    const previewed = await judgeTargets({ scoring, sessions: NO_SESSION_WAIT }, { rule, judging }, keys);
    expect(previewed.every(({ error }) => error === null)).toBe(true);
    const live = (await openScoring()).scoring;
    for (let start = 0; start < keys.length; start += BLOCK) {
      await scoreTraces(live, keys.slice(start, start + BLOCK), liveMode(kit.rules, history));
    }
    const decisions: Decision[] = [];
    const scores: Score[] = [];
    for (let start = 0; start < keys.length; start += BLOCK) {
      const some = keys.slice(start, start + BLOCK);
      decisions.push(...[...(await store.decisions.ofTraces(some)).values()].flat());
      scores.push(...[...(await store.scores.ofTraces(some)).values()].flat());
    }
    expect(new Set(decisions.map(({ status }) => status))).toEqual(
      new Set(['scored', 'filtered', 'sampled_out', 'not_applicable']),
    );
    expect(byId(previewed.flatMap((each) => each.decisions.map(pickDecision)))).toEqual(
      byId(decisions.map(pickDecision)),
    );
    expect(byScore(previewed.flatMap((each) => each.scores))).toEqual(byScore(scores));

    const sessions = (await listSessions()).slice(0, JUDGED_SESSIONS);
    expect(sessions).toHaveLength(JUDGED_SESSIONS);
    const ofSessions = await judgeTargets(
      { scoring, sessions: NO_SESSION_WAIT },
      { rule: chats, judging },
      sessions,
    );
    expect(ofSessions.every(({ error }) => error === null)).toBe(true);
    const mode = liveMode(kit.rules, history);
    await Promise.all(sessions.map((key) => scoreSession(live, key, mode, NO_SESSION_WAIT)));
    // Its spending is booked before the next test empties the store.
    await live.budget.giveBack();
    const rows = await store.sessions.decisions(
      '',
      sessions.map(({ sessionId }) => sessionId),
    );
    expect(new Set(rows.map(({ status }) => status))).toEqual(
      new Set(['scored', 'filtered', 'sampled_out', 'not_applicable']),
    );
    expect(byId(ofSessions.flatMap((each) => each.decisions.map(pickDecision)))).toEqual(
      byId(rows.map(pickDecision)),
    );
    const scored = (await Promise.all(sessions.map((key) => store.sessions.scores(key)))).flat();
    expect(scored.length).toBeGreaterThan(JUDGED_SESSIONS);
    expect(byScore(ofSessions.flatMap((each) => each.scores))).toEqual(byScore(scored));
  });

  it('writes no row into any table but spend, and books there what its verdicts cost', async () => {
    const { config, kit, scoring, rule, chats } = await openScoring();
    const history = await recordRules(store.ruleVersions, kit.rules, (await store.spans.nowMs()) - 1_000);
    const keys = await fill();
    // With the rule on sessions alone, traces are read for their sessions, and no scorer runs.
    await scoreTraces(scoring, keys, liveMode([chats], history));
    expect(await listSessions()).toHaveLength(SESSIONS);
    await sleep(sessionSettings(config).idleMs);
    const before = await countRows();
    const { signal } = new AbortController();
    const limits = { tenant: '', listing: signal, judging: signal };
    const previews = [];
    for (const each of [rule, chats]) {
      const parts = { config, kit, scoring, store };
      previews.push(await previewConfigured(parts, { rule: each, lastMs: DAY_MS, sample: 20, ...limits }));
    }
    expect(previews).toMatchObject([
      { matched: TRACES, isComplete: true },
      { matched: SESSIONS, isComplete: true },
    ]);
    const after = await countRows();
    expect(before.size).toBeGreaterThan(30);
    const changed = [...after].filter(([name, rows]) => rows !== before.get(name)).map(([name]) => name);
    expect(changed).toEqual(['spend']);
    for (const preview of previews) {
      expect(preview.traces).toHaveLength(20);
      const { costUsd } = previewJson(preview);
      expect(costUsd).toBeGreaterThan(0);
      const readSpent = async () => {
        const budget = { kind: 'rule', name: preview.rule.name } as const;
        const range = { fromMs: 0, toMs: Date.now() + DAY_MS, openSinceMs: 0 };
        return store.judgeCalls.readSpending(budget, range);
      };
      await until(async () => Math.abs((await readSpent()).bookedUsd - (costUsd ?? 0)) < 1e-9);
    }
  });
});
