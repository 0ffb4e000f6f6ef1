import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Score } from '../../../../src/domain/score.ts';
import { SOLE_CLAIMS } from '../../../../src/ownership/ownership.ts';
import { liveMode, type ScoringMode } from '../../../../src/scoring/scoring-mode.ts';
import { chooseByContent } from '../../../../src/scoring/select/select-rules.ts';
import { prepareRule, recordRules } from '../../../../src/scoring/select/rule.ts';
import { selectTrace } from '../../../../src/scoring/select/select-traces.ts';
import type { Selection } from '../../../../src/scoring/trace-task.ts';
import type { TraceActivity, TraceFacts } from '../../../../src/store/contracts/stores.ts';
import { seededRandom } from '../../../support/builders/score-streams.ts';
import { MemoryStore } from '../../../support/fakes/memory-store.ts';
import {
  agentSpan,
  buildRule,
  CountingScorer,
  readTestTrace,
} from '../../../support/scoring/scoring-world.ts';
import { queryRows } from '../../../support/store/clickhouse-query.ts';
import { buildScore, testStore, type TestStore } from '../../../support/store/store-rows.ts';

/** Simulated streams of traffic. The seeds are 1, 2, 3 and so on. */
const SEEDS = 100;
const TRACES = 2_000;
const RATE = 0.05;
const LARGE_TOKENS = 50_000;

/** Least share of the 95 % intervals that must cover the mean of the whole stream; the short form has few of them. */
const LEAST_COVERED = 0.93;

const page = readFileSync(new URL('../../../../docs/sql.md', import.meta.url), 'utf8');
const weighted = /### 3\..*?```sql\n(.*?)```/su.exec(page)?.[1] ?? '';
const naive = `SELECT Scorer, avg(Score) AS mean, 1.96 * stddevSamp(Score) / sqrt(count()) AS margin
  FROM scores FINAL WHERE Source = 'live' GROUP BY Scorer`;

let it: TestStore;
let mode: ScoringMode;

beforeAll(async () => {
  it = await testStore();
  const rule = prepareRule(
    buildRule([new CountingScorer('a')], {
      sample: { rate: RATE, always: ['error', { tokens: LARGE_TOKENS }] },
    }),
  );
  mode = liveMode([rule], await recordRules(new MemoryStore().stores.ruleVersions, [rule], 0));
});
afterAll(() => it.stop());

/** A trace of the stream: 5 % fail, 2 % are large, and both have lower scores. */
interface Traffic {
  readonly traceId: string;
  readonly hasError: boolean;
  readonly tokens: number;
  /** Scores of its model calls. */
  readonly scores: readonly number[];
}

function drawTrace(random: () => number): Traffic {
  const digits = () =>
    Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  const hasError = random() < 0.05;
  const isLarge = random() < 0.02;
  const level = (hasError ? 0.3 : isLarge ? 0.5 : 0.826) + (random() - 0.5) * 0.2;
  return {
    traceId: [digits(), digits(), digits(), digits()].join(''),
    hasError,
    tokens: isLarge ? LARGE_TOKENS : 1_000,
    scores: Array.from({ length: 1 + Math.floor(random() * 3) }, () => level + (random() - 0.5) * 0.14),
  };
}

/** Decides by the code of live scoring. Returns null for a trace that the rule leaves out. */
function select({ traceId, hasError, tokens }: Traffic, traceState: string): Selection | null {
  const key = { tenant: '', traceId };
  const activity: TraceActivity = {
    ...key,
    firstArrivalMs: 1,
    lastArrivalMs: 1,
    firstStartUnixNano: 0n,
    lastEndUnixNano: 1n,
    rootSeen: true,
    agentSeen: true,
    errorSeen: hasError,
  };
  const none = { services: [], environments: [], agents: [], sessions: [], users: [], models: [] };
  const noVersions = { modelNames: [], serviceVersions: [], versions: [], attributes: new Map() };
  const facts: TraceFacts = {
    ...none,
    ...noVersions,
    ...key,
    hasError,
    hasToolError: false,
    hasNegativeFeedback: false,
  };
  const claim = SOLE_CLAIMS.claim(key);
  const candidate = { activity, claim, prior: [], reread: false, nowMs: 2 };
  const clock = { nowMs: () => 2 };
  const lookups = { facts, existing: [], existingReadMs: 0, knownRuns: [], clock };
  const span = agentSpan(traceId, 'a', { says: 'x', traceState, attributes: { tokens: String(tokens) } });
  const read = { traceId, spans: [span], logs: [] };
  const task = { ...selectTrace(candidate, lookups, mode), read };
  const [chosen] = chooseByContent(task, readTestTrace(read), { mode, prices: {} }).task.rules;
  return chosen?.selection ?? null;
}

interface Stream {
  readonly scorer: string;
  /** Mean of all traffic, scored or not. */
  readonly mean: number;
  readonly rows: readonly Score[];
}

/** Draws a stream. `upstream` is the share that a sampler before spanscore lets pass, which `th` in the tracestate tells. */
function drawStream(seed: number, upstream: { readonly share: number; readonly traceState: string }): Stream {
  const random = seededRandom(seed);
  const scorer = `seed-${upstream.share}-${seed}`;
  const all = Array.from({ length: TRACES }, () => drawTrace(random));
  const values = all.flatMap(({ scores }) => scores);
  const rows = all.flatMap((trace) => {
    const selection = random() < upstream.share ? select(trace, upstream.traceState) : null;
    return selection === null
      ? []
      : trace.scores.map((score, call) =>
          buildScore({
            ...selection,
            traceId: trace.traceId,
            target: 'model-call',
            targetId: `${trace.traceId}/${call}`,
            scorer,
            score,
          }),
        );
  });
  return { scorer, mean: values.reduce((sum, value) => sum + value, 0) / values.length, rows };
}

/** Computes the share of the streams whose mean is within the margin of the estimate. */
function computeCoverage(
  streams: readonly Stream[],
  estimates: readonly { Scorer: string; mean: number; margin: number }[],
): number {
  const byScorer = new Map(estimates.map((each) => [each.Scorer, each]));
  const covered = streams.filter(({ scorer, mean }) => {
    const estimate = byScorer.get(scorer);
    return estimate !== undefined && Math.abs(estimate.mean - mean) <= estimate.margin;
  });
  return covered.length / streams.length;
}

test.each([
  { name: 'all traffic', share: 1, traceState: '' },
  { name: 'traffic of which a sampler before spanscore let half pass', share: 0.5, traceState: 'ot=th:8' },
])(
  'weighted means of a priority sample cover the mean of $name, and naive means do not',
  async (upstream) => {
    const streams = Array.from({ length: SEEDS }, (_, index) => drawStream(index + 1, upstream));
    for (const { rows } of streams) {
      await it.store.scores.write(rows);
    }
    const estimates = await queryRows<{ Scorer: string; weighted_mean: number; margin: number }>(
      it.options,
      weighted,
    );
    const coverage = computeCoverage(
      streams,
      estimates.map((each) => ({ ...each, mean: each.weighted_mean })),
    );
    const naiveCoverage = computeCoverage(streams, await queryRows(it.options, naive));
    expect(coverage, `seeds 1 to ${SEEDS}`).toBeGreaterThanOrEqual(LEAST_COVERED);
    expect(naiveCoverage).toBeLessThan(0.05);
  },
);
