import { backfillKind } from '../../../src/jobs/backfill.ts';
import {
  computeBackfillId,
  describeRules,
  readBackfillReport,
  type BackfillReport,
  type BackfillSpec,
} from '../../../src/jobs/stored-job.ts';
import { dryRunBackfill, type DryRun } from '../../../src/jobs/dry-run.ts';
import type { PriceTable } from '../../../src/domain/money/model-prices.ts';
import { AppError } from '../../../src/domain/errors.ts';
import type { JobKind, JobRun } from '../../../src/jobs/job-kind.ts';
import type { Scoring } from '../../../src/scoring/scoring.ts';
import { prepareRule, type Rule } from '../../../src/scoring/select/rule.ts';
import { NO_SESSION_WAIT, type SessionSettings } from '../../../src/scoring/sessions/score-session.ts';
import type { CallSize } from '../../../src/store/contracts/stores.ts';
import type { JobRange } from '../../../src/jobs/selection.ts';
import type { Job, JobProgress } from '../../../src/store/contracts/jobs.ts';

/** Backfill as a test asks for it. */
export interface AskedBackfill extends JobRange {
  readonly rules: readonly Rule[];
  readonly liveRules?: readonly Rule[];
  readonly sessions?: SessionSettings;
  readonly options?: Partial<BackfillSpec>;
  /** Most traces of a page. */
  readonly pageSize?: number;
  /** Progress from which it continues. */
  readonly from?: JobProgress | undefined;
  /** Called with each stored progress. Throwing there is a stop of the process. */
  readonly onSave?: (report: BackfillReport) => void;
}

export interface RanBackfill extends BackfillReport {
  /** Name of its rule in decisions. */
  readonly rule: string;
  readonly costUsd: number;
  /** Last stored progress. */
  readonly saved: JobProgress | undefined;
}

/** Stop of the process that runs a backfill. */
export class Stopped extends AppError {
  constructor() {
    super('the process stops', { code: 'cancelled', stage: 'store', retryable: true });
  }
}

/** Builds the specification of a backfill. */
export function buildBackfillSpec({ fromMs, toMs, where, rules, options = {} }: AskedBackfill): BackfillSpec {
  return {
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    where: where ?? null,
    rules: describeRules(rules.map(prepareRule)),
    rescore: false,
    tracesPerSecond: null,
    maxCostUsd: null,
    concurrency: null,
    judgeShare: null,
    ...options,
  };
}

/** Creates the kind of job with these scorers. */
export function createBackfillKind(
  scoring: Scoring,
  {
    rules,
    liveRules = [],
    sessions = NO_SESSION_WAIT,
    pageSize,
  }: Pick<AskedBackfill, 'rules' | 'liveRules' | 'sessions' | 'pageSize'>,
) {
  return backfillKind({
    scoring,
    bindRule: async ({ name, sample, where }) => {
      const rule = rules.find((each) => each.name === name) ?? { ...rules[0]!, scorers: [] };
      return prepareRule({ ...rule, sample, ...(where === null ? {} : { where }) });
    },
    liveRules: liveRules.map(prepareRule),
    sessions,
    judgeShare: 1,
    settleMs: 0,
    pageSize,
    retryWaitsMs: [1, 1],
    batchTimes: { quietMs: 20, pollMs: [5, 20], appearsMs: 200 },
  });
}

/** Builds a stored job. */
export function buildJob(kind: string, spec: object, parts: Partial<Job> = {}): Job {
  return {
    id: 'job',
    kind,
    tenant: '',
    spec: { ...spec },
    status: 'running',
    checkpoint: null,
    report: {},
    costUsd: 0,
    owner: '',
    error: '',
    left: '',
    createdAtMs: 0,
    startedAtMs: 0,
    finishedAtMs: null,
    version: 1,
    ...parts,
  };
}

/** Result of a job in this process: its last progress, or the error and the progress that was stored before it. */
export interface RanJob {
  readonly progress: JobProgress | undefined;
  readonly saved: JobProgress | undefined;
  readonly error: unknown;
}

/**
 * Runs a job under a lease.
 * @param options.onSave called with each stored progress; throwing there is a stop of the process, which keeps nothing
 * @param options.checks number of checks after which the lease is lost
 */
export async function runJob(
  kind: JobKind,
  job: Job,
  {
    onSave = () => undefined,
    checks = Infinity,
  }: { readonly onSave?: ((progress: JobProgress) => void) | undefined; readonly checks?: number } = {},
): Promise<RanJob> {
  const stop = new AbortController();
  let saved: JobProgress | undefined;
  let left = checks;
  const check = async () => {
    left -= 1;
    if (stop.signal.aborted || left < 0) {
      throw new Stopped();
    }
  };
  const run: JobRun = {
    signal: stop.signal,
    check,
    keep: () => undefined,
    save: async (progress) => {
      await check();
      saved = structuredClone(progress);
      try {
        onSave(progress);
      } catch (error) {
        stop.abort();
        throw error;
      }
    },
  };
  try {
    return { progress: await kind.run(job, run), saved, error: null };
  } catch (error) {
    return { progress: saved, saved, error };
  }
}

/** Builds a stored job of a backfill. */
export function buildBackfillJob(asked: AskedBackfill): Job {
  return buildJob('backfill', buildBackfillSpec(asked), { tenant: asked.tenant ?? '', ...asked.from });
}

/** Runs a backfill in this process. Throws what its work throws, with the progress as `saved`. */
export async function runBackfill(scoring: Scoring, asked: AskedBackfill): Promise<RanBackfill> {
  const job = buildBackfillJob(asked);
  const { onSave } = asked;
  const ran = await runJob(createBackfillKind(scoring, asked), job, {
    onSave: ({ report }) => onSave?.(readBackfillReport(report)),
  });
  const saved = ran.saved ?? asked.from;
  if (ran.error !== null) {
    throw Object.assign(ran.error as Error, { saved });
  }
  const rule = `backfill:${computeBackfillId(buildBackfillSpec(asked), job.tenant)}`;
  return { ...readBackfillReport(ran.progress?.report), costUsd: ran.progress?.costUsd ?? 0, rule, saved };
}

/** Counts what a backfill would do. */
export async function countBackfill(scoring: Scoring, asked: AskedBackfill): Promise<BackfillReport> {
  return (await dryRun(scoring, asked)).report;
}

/** Looks at a backfill. The judge calls are those of a memory store; `prices` are the prices of its judges. */
export function dryRun(
  scoring: Scoring,
  asked: AskedBackfill,
  { sizes = [], prices = {} }: { readonly sizes?: readonly CallSize[]; readonly prices?: PriceTable } = {},
): Promise<DryRun> {
  const { rules, liveRules = [], sessions = NO_SESSION_WAIT, tenant = '' } = asked;
  return dryRunBackfill(
    {
      scoring,
      rules: rules.map(prepareRule),
      liveRules: liveRules.map(prepareRule),
      sessions,
      readSizes: async () => sizes,
      prices,
      findProvider: () => ({ concurrency: 16 }),
      judgeShare: 1,
    },
    { spec: buildBackfillSpec(asked), tenant, signal: new AbortController().signal },
  );
}
