import { dryRunConfigured } from '../../../../src/api/writes/backfill-dry-run.ts';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { parseConfig } from '../../../../src/configuration.ts';
import { configureBackfillKind, planBackfill } from '../../../../src/backfill/configured-backfill.ts';
import { createConfiguredScoring } from '../../../../src/scoring/setup/configured-scoring.ts';
import { loadScorerKit } from '../../../../src/scoring/setup/scorer-kit.ts';
import { readTrace } from '../../../../src/conventions/index.ts';
import { DAY_MS } from '../../../../src/domain/durations.ts';
import type { Span } from '../../../../src/domain/trace/span.ts';
import { sha256Hex } from '../../../../src/domain/identity.ts';
import { openJob } from '../../../../src/jobs/follow-job.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { decodeOtlpJson } from '../../../../src/wire/otlp-json.ts';
import { AgentTraceBuilder } from '../../../support/builders/agent-trace.ts';
import { seededRandom } from '../../../support/builders/score-streams.ts';
import { startJudgeServer, type JudgeServer } from '../../../support/fakes/judge-server.ts';
import { createPricedJudge, type PricedJudgeOptions } from '../../../support/scoring/priced-judge.ts';
import { store as ingest } from '../../../support/store/stored-agent.ts';
import { openEmptied, testStore, type TestStore } from '../../../support/store/store-rows.ts';

/** Greatest deviation of an estimate from the real cost. */
const WITHIN = 0.15;

/** Traces whose real cost teaches, and traces whose cost is estimated. */
const [KNOWN, NEW] = [60, 240];

interface Mix {
  readonly judge: PricedJudgeOptions;
  readonly scorers: Readonly<Record<string, object>>;
  /** Draws the sizes of a trace; `isNew` for those that are estimated. */
  readonly draw: (
    random: () => number,
    isNew: boolean,
  ) => { readonly sentences: number; readonly words: number };
}

const CRITERION = { use: 'multi-turn-judge', options: { criterion: 'The agent is polite.' } };

const MIXES: Readonly<Record<string, Mix>> = {
  'short chats of two scorers, each of three steps': {
    judge: { seed: 1 },
    scorers: { hallucination: { use: 'hallucination' }, faithfulness: { use: 'faithfulness' } },
    draw: (random) => ({ sentences: 1 + Math.floor(3 * random()), words: 20 + Math.floor(40 * random()) }),
  },
  'a long tail of evidence, twice as long as that of the known calls': {
    judge: { seed: 2, faultyPart: 0.15 },
    scorers: { hallucination: { use: 'hallucination' } },
    draw: (random, isNew) => ({
      sentences: 2 + Math.floor(4 * random()),
      words: Math.floor((isNew ? 200 : 100) * (1 + 12 * random() ** 4)),
    }),
  },
  'short and long answers, of which the provider has cached the beginnings': {
    judge: { seed: 3, cachedPart: 0.6 },
    scorers: { polite: CRITERION, faithfulness: { use: 'faithfulness' } },
    draw: (random) =>
      random() < 0.3
        ? { sentences: 30, words: 600 }
        : { sentences: 2, words: 30 + Math.floor(20 * random()) },
  },
};

let base: TestStore;
let store: TestStore['store'];
let judge: JudgeServer;

beforeAll(async () => {
  base = await testStore();
});
afterAll(() => base.stop());
beforeEach(async () => {
  store = await openEmptied(base.options);
});
afterEach(async () => {
  await judge.close();
  await store.close();
});

async function fill({ draw, judge: { seed } }: Mix, count: number, startMs: number, isNew: boolean) {
  const random = seededRandom(seed + (isNew ? 100 : 0));
  const text = (words: number) =>
    Array.from({ length: words }, () => Math.floor(random() * 1e6).toString(36)).join(' ');
  const spans: Span[] = [];
  for (let n = 0; n < count; n += 1) {
    const { sentences, words } = draw(random, isNew);
    const id = Array.from({ length: 4 }, () =>
      Math.floor(random() * 2 ** 32)
        .toString(16)
        .padStart(8, '0'),
    );
    const trace = new AgentTraceBuilder(id.join(''), startMs + n * 1_000)
      .answering(Array.from({ length: sentences }, () => `It is ${text(5)}`).join('. '))
      .with({ name: 'search', args: {}, result: text(words) });
    spans.push(...decodeOtlpJson(trace.request()).spans);
  }
  await ingest(store, spans);
}

/** Opens the scorers of a mix, and runs backfills with them as a process does. */
async function openMix(mix: Mix) {
  judge = await startJudgeServer(createPricedJudge(mix.judge));
  const config = parseConfig({
    judges: {
      default: 'fake/judge',
      providers: { fake: { baseURL: judge.baseUrl } },
      prices: { 'fake/judge': { input: 0.5, cachedInput: 0.1, output: 4 } },
    },
    scorers: mix.scorers,
    rules: [],
    readiness: { decisionWait: '1ms' },
  });
  const kit = await loadScorerKit(config);
  const scoring = createConfiguredScoring({ config, kit, stores: store, readTrace, log: silentLog });
  const plan = (fromMs: number, toMs: number) =>
    planBackfill({ config, kit }, { fromMs, toMs, scorers: Object.keys(mix.scorers), limits: {} });
  const { signal } = new AbortController();
  const look = async (fromMs: number, toMs: number) =>
    dryRunConfigured(
      { config, kit, scoring, judgeUse: store.judgeUse, isBesideLive: false },
      { spec: await plan(fromMs, toMs), tenant: '', signal },
    );
  const run = async (fromMs: number, toMs: number) => {
    const kind = configureBackfillKind({ config, kit }, scoring, false);
    const spec = { ...(await plan(fromMs, toMs)) };
    const id = await openJob(store.jobs, { kind: 'backfill', tenant: '', spec }, sha256Hex);
    const job = await store.jobs.find(id);
    const { costUsd } = await kind.run(job!, {
      signal,
      check: async () => undefined,
      keep: () => undefined,
      save: async () => undefined,
    });
    return costUsd;
  };
  return { look, run };
}

it.each(Object.entries(MIXES))('the price of %s lies near the real cost', async (_, mix) => {
  const nowMs = Date.now();
  const [firstMs, secondMs] = [nowMs - 4 * DAY_MS, nowMs - 2 * DAY_MS];
  await fill(mix, KNOWN, firstMs, false);
  await fill(mix, NEW, secondMs, true);
  const { look, run } = await openMix(mix);
  const unlearned = await look(firstMs, secondMs);
  expect(unlearned).toMatchObject({
    matched: KNOWN,
    estimate: { basis: 'declared_lengths', isComplete: true },
  });
  expect(judge.requests).toHaveLength(0);
  const knownUsd = await run(firstMs, secondMs);
  expect(unlearned.estimate.costLow).toBeLessThan(knownUsd);
  expect(unlearned.estimate.costHigh).toBeGreaterThan(knownUsd);
  const asked = judge.requests.length;
  const { estimate, matched } = await look(secondMs, nowMs);
  expect(judge.requests).toHaveLength(asked);
  expect(matched).toBe(NEW);
  expect(estimate).toMatchObject({ basis: 'stored_calls', unpriced: [], unknown: [] });
  const realUsd = await run(secondMs, nowMs);
  const calls = judge.requests.length - asked;
  expect(Math.abs((estimate.costUsd ?? 0) / realUsd - 1)).toBeLessThan(WITHIN);
  expect(Math.abs(estimate.judgeCalls / calls - 1)).toBeLessThan(WITHIN);
  expect(estimate.costLow).toBeLessThan(estimate.costUsd ?? 0);
  expect(estimate.costHigh).toBeGreaterThan(estimate.costUsd ?? 0);
});
