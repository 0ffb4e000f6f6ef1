import { parseConfig } from '../../../src/app/config/index.ts';
import { configureBackfillKind, planBackfill } from '../../../src/app/jobs/backfills.ts';
import { keepBatches } from '../../../src/app/jobs/batch-keeping.ts';
import { createConfiguredScoring } from '../../../src/app/scoring/configured-scoring.ts';
import { loadScorerKit } from '../../../src/app/scoring/scorer-kit.ts';
import { leaveOutPurged, loadPurgeKey } from '../../../src/app/jobs/purges.ts';
import { BACKFILL } from '../../../src/backfill/backfill-job.ts';
import type { AskedBackfill } from '../../../src/api/access/write-ports.ts';
import { readTrace } from '../../../src/conventions/index.ts';
import { createPurgeKind } from '../../../src/purge/purge-job.ts';
import { preparePurge } from '../../../src/purge/start-purge.ts';
import { followJob, openJob } from '../../../src/jobs/follow-job.ts';
import { startJobRunner } from '../../../src/jobs/job-runner.ts';
import type { Job } from '../../../src/store/contracts/jobs.ts';
import type { PurgeSubject } from '../../../src/store/contracts/purge.ts';
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

/** A process that runs backfills and purges, and keeps batches. */
export async function startBatchProcess(opened: Store, server: BatchServer, more: object = {}) {
  const withKey = { store: { purgeKey: 'a secret of sixteen characters' }, ...more };
  const config = parseConfig(buildBatchConfig(server, withKey));
  const kit = await loadScorerKit(config);
  const { store, purged } = await leaveOutPurged(config, opened, silentLog);
  const scoring = createConfiguredScoring({ config, kit, stores: store, readTrace, log: silentLog, purged });
  const place = { isBesideLive: false, batches: store.judgeBatches, deskTerms: DESK };
  const { jobs, duties, spans, purges } = store;
  const nowMs = () => spans.nowMs();
  const key = loadPurgeKey(config.store);
  const kinds = [
    configureBackfillKind({ config, kit }, scoring, place),
    createPurgeKind({ purges, jobs, key, nowMs, secondPassMs: 3_000 }),
  ];
  const runner = startJobRunner(
    { jobs, duties, nowMs, kinds, log: silentLog },
    { lookEveryMs: 50, firstRetryMs: 10, lease: LEASE },
  );
  const keeper = keepBatches(config, store, silentLog, { pace: PACE, duty: LEASE });
  return {
    /** Creates a backfill with batches over the last two days. Returns the id of its job. */
    async open(asked: Partial<AskedBackfill> = {}): Promise<string> {
      const toMs = Date.now();
      const spec = await planBackfill(
        { config, kit },
        {
          fromMs: toMs - 48 * 3_600_000,
          toMs,
          scorers: [BATCHED_SCORER],
          batch: true,
          limits: {},
          ...asked,
        },
      );
      return openJob(jobs, { kind: BACKFILL, tenant: '', spec: { ...spec } }, key.hide);
    },
    /** Begins a purge. Returns the id of its job. */
    async purge(subject: Pick<PurgeSubject, 'kind' | 'id'>): Promise<string> {
      const asked = { tenant: undefined, ...subject };
      return (await preparePurge({ ...store, nowMs }, key, asked, undefined)).start();
    },
    async stop() {
      await runner.stop();
      await keeper.stop();
      purged.stop();
    },
  };
}

/** Follows a job to its end. */
export function endOfJob(store: Store, id: string): Promise<Job> {
  return followJob(store.jobs, id, { onChange: () => undefined, signal: new AbortController().signal });
}
