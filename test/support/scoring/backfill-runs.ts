import { backfillKind } from '../../../src/backfill/backfill-job.ts';
import { readBackfillReport, type BackfillReport } from '../../../src/backfill/backfill-report.ts';
import {
  computeBackfillId,
  describeRules,
  type BackfillRange,
  type BackfillSpec,
} from '../../../src/backfill/backfill-spec.ts';
import { dryRunBackfill, type DryRun } from '../../../src/backfill/dry-run.ts';
import type { PriceTable } from '../../../src/domain/money/model-prices.ts';
import { AppError } from '../../../src/domain/errors.ts';
import type { JobRun } from '../../../src/jobs/job-kind.ts';
import type { Scoring } from '../../../src/scoring/scoring.ts';
import { prepareRule, type Rule } from '../../../src/scoring/select/rule.ts';
import { NO_SESSION_WAIT, type SessionSettings } from '../../../src/scoring/sessions/score-session.ts';
import type { CallSize } from '../../../src/store/contracts/judge-use.ts';
import type { Job, JobProgress } from '../../../src/store/contracts/jobs.ts';

/** Backfill as a test asks for it. */
export interface AskedBackfill extends BackfillRange {
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
  });
}

/** Builds a stored job of a backfill. */
export function buildBackfillJob(asked: AskedBackfill): Job {
  return {
    id: 'job',
    kind: 'backfill',
    tenant: asked.tenant ?? '',
    spec: { ...buildBackfillSpec(asked) },
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
    ...asked.from,
  };
}

/** Runs a backfill in this process under a lease that is never lost. Throws what its work throws, with the progress as `saved`. */
export async function runBackfill(scoring: Scoring, asked: AskedBackfill): Promise<RanBackfill> {
  const job = buildBackfillJob(asked);
  const stop = new AbortController();
  let saved: JobProgress | undefined = asked.from;
  const check = async () => {
    if (stop.signal.aborted) {
      throw new Stopped();
    }
  };
  const run: JobRun = {
    signal: stop.signal,
    check,
    // A stop is a kill here: it keeps nothing.
    keep: () => undefined,
    save: async (progress) => {
      await check();
      saved = structuredClone(progress);
      try {
        asked.onSave?.(readBackfillReport(progress.report));
      } catch (error) {
        stop.abort();
        throw error;
      }
    },
  };
  const rule = `backfill:${computeBackfillId(buildBackfillSpec(asked), job.tenant)}`;
  try {
    const { report, costUsd } = await createBackfillKind(scoring, asked).run(job, run);
    return { ...readBackfillReport(report), costUsd, rule, saved };
  } catch (error) {
    throw Object.assign(error as Error, { saved });
  }
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
