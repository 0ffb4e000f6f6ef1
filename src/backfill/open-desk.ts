import { BatchDesk } from '../batches/batch-desk.ts';
import type { DeskTerms } from '../batches/desk-terms.ts';
import type { PriceTable } from '../domain/money/model-prices.ts';
import type { JobRun } from '../jobs/job-kind.ts';
import type { Scoring } from '../scoring/scoring.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';
import { readStoreClock } from '../scoring/store-clock.ts';
import type { Job } from '../store/contracts/jobs.ts';
import type { JudgeBatchStore } from '../store/contracts/judge-batches.ts';
import { readBackfillSpec } from './backfill-spec.ts';

/** Parts of a process that ask judges in batches. */
export interface BatchParts {
  readonly batches: JudgeBatchStore;
  readonly prices: PriceTable;
  readonly terms?: Partial<DeskTerms>;
}

/** Opens the desk of a backfill that asks its judges in batches. */
export async function openDesk(
  { batches, prices, terms }: BatchParts,
  { scoring, rules }: { readonly scoring: Scoring; readonly rules: readonly PreparedRule[] },
  job: Job,
  run: JobRun,
): Promise<BatchDesk> {
  const { budget, stores, monotonicMs } = scoring;
  const { rescore, maxCostUsd } = readBackfillSpec(job.spec);
  const readRests = async ({ rule, tenant }: { readonly rule: string; readonly tenant: string }) => {
    const caps = rules.find(({ name }) => name === rule)?.budget;
    if (!budget.isLimited({ caps, tenant })) {
      return [];
    }
    const clock = await readStoreClock(stores.spans, monotonicMs);
    const call = { rule, caps, tenant };
    await budget.refresh(call, () => clock.nowMs());
    return budget.listUnleased(call);
  };
  const desk = new BatchDesk(
    {
      batches,
      jobId: job.id,
      // A rescore wants new replies.
      salt: rescore ? job.id : '',
      maxCostUsd,
      readRests,
      prices,
      nowMs: () => stores.spans.nowMs(),
      check: () => run.check(),
      signal: run.signal,
    },
    terms,
  );
  await desk.open();
  return desk;
}
