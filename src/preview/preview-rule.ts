import { countReasons, type ReasonCounts } from './count-reasons.ts';
import { listTraces } from '../backfill/select-backfill.ts';
import { WEEK_MS } from '../domain/durations.ts';
import type { PriceTable } from '../domain/money/model-prices.ts';
import { estimateCost, type CostEstimate } from '../estimate/estimate-cost.ts';
import type { Pace } from '../estimate/estimate-time.ts';
import { PlannedWork } from '../estimate/planned-work.ts';
import { readHistory } from '../estimate/read-history.ts';
import { renderTraces } from '../estimate/render-work.ts';
import { lookAtTraces } from '../estimate/select-traces.ts';
import type { Scoring } from '../scoring/scoring.ts';
import { previewMode, type ScoringMode } from '../scoring/scoring-mode.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';
import type { JudgeUseStore } from '../store/contracts/judge-use.ts';
import { joinTraceKey, MAX_KEYS, type TraceKey } from '../store/contracts/stores.ts';
import { judgeSample, type PreviewedTrace } from './judge-sample.ts';

/** Begin of the names that rules have in a preview. No decision has such a name, so that former decisions of the rule do not count. */
const PREVIEW_RULES = 'preview:';

/** Needs of a preview. */
export interface PreviewWork {
  readonly scoring: Scoring;
  readonly readSizes: JudgeUseStore['sizes'];
  readonly prices: PriceTable;
  /** Limits of the calls to a provider. */
  readonly findProvider: Pace['findProvider'];
}

/** Preview that somebody asks for. Times are Unix milliseconds. */
export interface AskedPreview {
  /** A rule on traces or their parts. */
  readonly rule: PreparedRule;
  readonly fromMs: number;
  readonly toMs: number;
  /** '' for all tenants. */
  readonly tenant: string;
  /** Traces that are really judged. */
  readonly sample: number;
  /** Ends the list of traces: then the counts are too small. */
  readonly listing: AbortSignal;
  /** Ends the verdicts: those that have not come are missing. */
  readonly judging: AbortSignal;
}

/** Preview of a rule over the traces of a range. */
export interface RulePreview {
  /** Traces of agents or models that began in the range. */
  readonly matched: number;
  /** Traces that the rule would score, as far as this is known before their content is read. */
  readonly selected: number;
  /** Traces that it would not score, by the code of the reason; `arriving` for those that live scoring waits for. */
  readonly left: ReasonCounts;
  /** False: the time was too short to list all traces, so that the numbers are too small. */
  readonly isComplete: boolean;
  /** Of the range. */
  readonly estimate: CostEstimate;
  /** Number of weeks of the range, to scale its numbers. */
  readonly weeks: number;
  readonly traces: readonly PreviewedTrace[];
}

/**
 * Looks at what a rule would do with the traces of a range, and judges some of them. It is the path of live scoring at its first look, and
 * stores no score, decision or judge call. What its verdicts cost is reserved and settled. Throws what the store throws.
 */
export async function previewRule(work: PreviewWork, asked: AskedPreview): Promise<RulePreview> {
  const { scoring } = work;
  const { rule, fromMs, toMs } = asked;
  const mode = previewMode([{ ...rule, name: PREVIEW_RULES + rule.name, paidBy: rule.name }]);
  const plan = await planRange(scoring, mode, asked);
  const estimate = await estimateRange(work, mode, plan, asked);
  const [first] = plan.work.list();
  const chosen = [...(first?.sample.values() ?? [])].slice(0, asked.sample);
  return {
    matched: plan.matched,
    selected: plan.work.targets,
    left: plan.left,
    isComplete: plan.isComplete,
    estimate,
    weeks: (toMs - fromMs) / WEEK_MS,
    traces: await judgeSample(scoring, mode, chosen, asked),
  };
}

interface PlannedRange {
  readonly matched: number;
  readonly left: ReasonCounts;
  readonly isComplete: boolean;
  readonly work: PlannedWork<TraceKey>;
}

async function planRange(
  scoring: Scoring,
  mode: ScoringMode,
  { fromMs, toMs, tenant, listing, rule }: AskedPreview,
): Promise<PlannedRange> {
  const range = { fromMs, toMs, ...(tenant === '' ? {} : { tenant }) };
  const work = new PlannedWork<TraceKey>();
  let [matched, left] = [0, {} as ReasonCounts];
  for await (const { traces } of listTraces(scoring.stores.spans, range, { after: null, limit: MAX_KEYS })) {
    if (listing.aborted) {
      return { matched, left, isComplete: false, work };
    }
    const looked = await lookAtTraces(scoring, mode, traces);
    matched += traces.length;
    for (const { key, rules, declined, isArriving } of looked) {
      if (isArriving) {
        left = countReasons(left, ['arriving']);
        continue;
      }
      left = countReasons(
        left,
        declined.flatMap(({ rows }) => rows.map(({ reason }) => reason)),
      );
      const cells = rules.flatMap((selected) =>
        selected.scorers.map((scorer) => ({ rule: selected.rule.name, title: rule.name, scorer })),
      );
      work.add(key, joinTraceKey(key), cells);
    }
  }
  return { matched, left, isComplete: true, work };
}

async function estimateRange(
  { scoring, readSizes, prices, findProvider }: PreviewWork,
  mode: ScoringMode,
  { work }: PlannedRange,
  { tenant }: AskedPreview,
): Promise<CostEstimate> {
  const cells = work.list();
  return estimateCost({
    cells,
    runs: await renderTraces(scoring, cells, mode),
    ...(await readHistory(scoring, cells, mode.rules, { readSizes, tenant })),
    prices,
    targets: work.targets,
    pace: { findProvider, places: scoring.judgeStock.concurrency, tracesPerSecond: null, traces: null },
  });
}
