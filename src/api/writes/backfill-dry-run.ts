import { BACKFILL, type BackfillReport } from '../../jobs/stored-job.ts';
import {
  bindRule,
  defaultJudgeShare,
  listJudges,
  type BackfillParts,
} from '../../jobs/configured-backfill.ts';
import { dryRunBackfill, type BackfillEstimate, type LookedBackfill } from '../../jobs/dry-run.ts';
import { priceBatches } from '../../domain/money/model-prices.ts';
import type { Scoring } from '../../scoring/scoring.ts';
import { findProviderPace, sessionSettings } from '../../scoring/setup/configured-scoring.ts';
import type { Job } from '../../store/contracts/jobs.ts';
import type { JudgeUseStore } from '../../store/tables/judge-calls.ts';
import { backfillJson, type JobJson } from '../json/rows.ts';

/** Backfill that was only looked at, as JSON: in the shape of its job. */
export interface BackfillDryRun extends JobJson, BackfillReport {
  readonly dryRun: true;
  readonly estimate: BackfillEstimate;
}

export interface DryRunParts extends BackfillParts {
  readonly scoring: Scoring;
  readonly judgeUse: JudgeUseStore;
  /** True beside a process that scores live traffic, too. */
  readonly isBesideLive: boolean;
}

/** Says what a backfill would do and cost, and stores nothing. Throws `AppError` when the store cannot be read. */
export async function dryRunConfigured(
  { config, kit, scoring, judgeUse, isBesideLive }: DryRunParts,
  looked: LookedBackfill,
): Promise<BackfillDryRun> {
  const { spec, tenant } = looked;
  const createdAtMs = await scoring.stores.spans.nowMs();
  const rules = await Promise.all(spec.rules.map((rule) => bindRule(kit, rule)));
  const { prices } = config.judges;
  const { report, estimate } = await dryRunBackfill(
    {
      scoring,
      rules,
      liveRules: kit.rules,
      sessions: sessionSettings(config),
      readSizes: (query) => judgeUse.sizes(query),
      prices: spec.batch === true ? priceBatches(listJudges(rules), prices) : prices,
      findProvider: (name) => findProviderPace(config, name),
      judgeShare: defaultJudgeShare(isBesideLive),
    },
    looked,
  );
  const job: Job = {
    id: '',
    kind: BACKFILL,
    tenant,
    spec: { ...spec },
    status: 'done',
    checkpoint: null,
    report: {},
    costUsd: 0,
    owner: '',
    error: '',
    left: '',
    createdAtMs,
    startedAtMs: null,
    finishedAtMs: null,
    version: 0,
  };
  return { ...backfillJson(job), ...report, dryRun: true, estimate };
}
