import type { Decision } from '../domain/decision.ts';
import type { AppError } from '../domain/errors.ts';
import type { Score } from '../domain/score.ts';
import type { TraceReading } from '../domain/trace/agent-run.ts';
import { createLookScoring } from '../estimate/look-scoring.ts';
import type { TraceReader } from '../scoring/read/read-context.ts';
import { scoreTraces } from '../scoring/score-traces.ts';
import type { Scoring } from '../scoring/scoring.ts';
import type { ScoringMode } from '../scoring/scoring-mode.ts';
import { joinTraceKey, type TraceKey } from '../store/contracts/stores.ts';

/** One trace of a preview, with what the rule says of it and what is stored. */
export interface PreviewedTrace {
  readonly key: TraceKey;
  /** Null for a trace that was not read by itself: a piece of another run, or one that the rule declines. */
  readonly reading: TraceReading | null;
  /** Under the name of the rule. */
  readonly decisions: readonly Decision[];
  readonly scores: readonly Score[];
  /** Current scores of the same scorers on this trace. */
  readonly stored: readonly Score[];
  /** Error that broke it off: its verdicts are missing. */
  readonly error: AppError | null;
}

/** Scores traces as live scoring does, and stores nothing. Gives leased money back at the end. */
export async function judgeSample(
  scoring: Scoring,
  mode: ScoringMode,
  keys: readonly TraceKey[],
  { rule, judging }: { readonly rule: { readonly name: string }; readonly judging: AbortSignal },
): Promise<PreviewedTrace[]> {
  const readings = new Map<string, TraceReading>();
  const readTrace: TraceReader = async (data, options) => {
    const reading = await scoring.readTrace(data, options);
    readings.set(data.traceId, reading);
    return reading;
  };
  const signals = [judging, ...(scoring.signal === undefined ? [] : [scoring.signal])];
  const looking = { ...createLookScoring(scoring), readTrace, signal: AbortSignal.any(signals) };
  const stored = await scoring.stores.scores.ofTraces(keys);
  const outcomes = await scoreTraces(looking, keys, mode);
  await scoring.budget.giveBack();
  const names = new Set(mode.rules.flatMap(({ scorers }) => scorers.map((each) => each.name)));
  return outcomes.map(({ key, decisions, scores, error }) => {
    const rows = new Set([...names, ...scores.map(({ scorer }) => scorer)]);
    return {
      key,
      reading: readings.get(key.traceId) ?? null,
      decisions: decisions.map((row) => ({ ...row, rule: rule.name })),
      scores,
      stored: (stored.get(joinTraceKey(key)) ?? []).filter(
        ({ scorer, source }) => rows.has(scorer) && source !== 'human',
      ),
      error,
    };
  });
}
