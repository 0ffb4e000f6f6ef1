import type { Stratum } from '../domain/decision.ts';
import type { ScoreSource } from '../domain/score.ts';
import type { PreparedRule } from './select/rule.ts';
import type { RuleHistory } from './select/rule-history.ts';

/**
 * Mode of scoring: live, a backfill, one `score <id>` or a preview. All run the same code from the trace id on; all their
 * differences are here.
 */
export interface ScoringMode {
  readonly source: ScoreSource;
  readonly rules: readonly PreparedRule[];
  /** False: results are computed and returned, nothing is stored. */
  readonly write: boolean;
  /** History of rule versions; null: every rule covers every trace, at its present rate. */
  readonly history: RuleHistory | null;
  /** False: `where` and sampling are passed over. */
  readonly selects: boolean;
  /** The stratum of every score, where it does not come from the sampling. */
  readonly stratum: Stratum | null;
  /** True when a replacing score takes over source and sampling of the former one, so that it is current and counts the same. */
  readonly takesOver: boolean;
  /** Traces that still arrive are waited for. */
  readonly waits: boolean;
  /** A score or decision of the same evidence stands. False: everything is scored anew. */
  readonly reuses: boolean;
  /** A deferred decision is tried again before its time. */
  readonly retriesEarly: boolean;
  /** Judged scorers that find the judges' queue full are deferred instead of waited for. */
  readonly shedsJudgeLoad: boolean;
}

/** Mode of the daemon for ready traces. */
export function liveMode(rules: readonly PreparedRule[], history: RuleHistory): ScoringMode {
  return {
    source: 'live',
    rules,
    write: true,
    history,
    selects: true,
    stratum: null,
    takesOver: false,
    waits: true,
    reuses: true,
    retriesEarly: false,
    shedsJudgeLoad: true,
  };
}

/** Rules are already named `backfill:<id>`. Its scores are a stratum of their own, never pooled with live ones. */
export function backfillMode(rules: readonly PreparedRule[]): ScoringMode {
  return {
    source: 'backfill',
    rules,
    write: true,
    history: null,
    selects: true,
    stratum: 'backfill',
    takesOver: false,
    waits: true,
    reuses: true,
    retriesEarly: true,
    shedsJudgeLoad: false,
  };
}

/** One trace, now, because someone asked: no selection, nothing reused. */
export function apiMode(rules: readonly PreparedRule[], options: { write: boolean }): ScoringMode {
  return {
    source: 'api',
    rules,
    write: options.write,
    history: null,
    selects: false,
    stratum: 'none',
    takesOver: true,
    waits: false,
    reuses: false,
    retriesEarly: true,
    shedsJudgeLoad: false,
  };
}

/** Mode that selects and scores, and stores nothing. */
export function previewMode(rules: readonly PreparedRule[]): ScoringMode {
  return { ...apiMode(rules, { write: false }), selects: true, takesOver: false };
}
