import { parseConfig } from '../../../src/app/config/index.ts';
import { configureBackfillKind, planBackfill } from '../../../src/app/jobs/backfills.ts';
import { keepBatches } from '../../../src/app/jobs/batch-keeping.ts';
import { createConfiguredScoring } from '../../../src/app/scoring/configured-scoring.ts';
import { loadScorerKit } from '../../../src/app/scoring/scorer-kit.ts';
import { BACKFILL } from '../../../src/backfill/backfill-job.ts';
import type { AskedBackfill } from '../../../src/api/access/write-ports.ts';
import { readTrace } from '../../../src/conventions/index.ts';
import { followJob, openJob } from '../../../src/jobs/follow-job.ts';
import { startJobRunner } from '../../../src/jobs/job-runner.ts';
import type { Job } from '../../../src/store/contracts/jobs.ts';
import type { Store } from '../../../src/store/contracts/store.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import type { BatchServer } from '../fakes/batch-server.ts';

/** Times of leases and waits for tests. */
const LEASE = { settleMs: 100, lookEveryMs: 50, beatEveryMs: 100, ttlMs: 6_000 };
const PACE = { lookEveryMs: 20, firstWaitMs: 20, longestWaitMs: 100 };
const DESK = { quietMs: 200, firstLookMs: 20, longestLookMs: 100 };

/** Scorer of these backfills: three questions, each about the replies before. */
export const BATCHED_SCORER = 'hallucination';
export const QUESTIONS_A_TRACE = 3;

/** USD per million tokens. */
const PRICE = { input: 1_000, output: 2_000 };

/** Configuration with a judge whose provider has batches. */
export function buildBatchConfig({ baseUrl }: Pick<BatchServer, 'baseUrl'>, more: object = {}) {
  return {
    judges: {
      default: 'local/judge',
      providers: { local: { baseURL: baseUrl, batch: 'openai' as const } },
      prices: { 'local/judge': PRICE },
    },
    readiness: { decisionWait: '1ms' },
    rules: [],
    ...more,
  };
}

/** A process that runs backfills and keeps batches. */
export async function startBatchProcess(store: Store, server: BatchServer, more: object = {}) {
  const config = parseConfig(buildBatchConfig(server, more));
  const kit = await loadScorerKit(config);
  const scoring = createConfiguredScoring({ config, kit, stores: store, readTrace, log: silentLog });
  const place = { isBesideLive: false, batches: store.judgeBatches, deskTerms: DESK };
  const { jobs, duties, spans } = store;
  const runner = startJobRunner(
    {
      jobs,
      duties,
      nowMs: () => spans.nowMs(),
      kinds: [configureBackfillKind({ config, kit }, scoring, place)],
      log: silentLog,
    },
    { lookEveryMs: 50, firstRetryMs: 10, lease: LEASE },
  );
  const keeper = keepBatches(config, store, silentLog, { pace: PACE, duty: LEASE });
  return {
    /** Creates a backfill with batches over the last two days. Returns the id of its job. */
    async open(asked: Partial<AskedBackfill> = {}): Promise<string> {
      const nowMs = Date.now();
      const spec = await planBackfill(
        { config, kit },
        {
          fromMs: nowMs - 48 * 3_600_000,
          toMs: nowMs,
          scorers: [BATCHED_SCORER],
          batch: true,
          limits: {},
          ...asked,
        },
      );
      return (await openJob(jobs, { kind: BACKFILL, tenant: '', spec: { ...spec } })).id;
    },
    async stop() {
      await runner.stop();
      await keeper.stop();
    },
  };
}

/** Follows a job to its end. */
export function endOfJob(store: Store, id: string): Promise<Job> {
  return followJob(store.jobs, id, { onChange: () => undefined, signal: new AbortController().signal });
}
