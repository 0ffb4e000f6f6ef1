import type { Decision, Stratum } from '../domain/decision.ts';
import type { ScoreSource } from '../domain/score.ts';
import type { Admission } from './live/queue.ts';
import type { PreparedRule, RuleHistory } from './select/rule.ts';

/**
 * Mode of scoring: live, backfill, repair, one `score <id>`, or preview. All modes run the same code from the trace id on; all their
 * differences are in this type.
 */
export interface ScoringMode {
  readonly source: ScoreSource;
  /** Rules on traces and their parts. */
  readonly rules: readonly PreparedRule[];
  /** Rules on sessions: every trace that one of them covers is read, so that its session is known. */
  readonly sessionRules: readonly PreparedRule[];
  /** False: results are returned, not stored. */
  readonly write: boolean;
  /** History of rule versions; null: every rule covers every trace, at its present rate. */
  readonly history: RuleHistory | null;
  /** False: `where` and the sample are not used. */
  readonly selects: boolean;
  /** Stratum of every score; null: the stratum of the sample. */
  readonly stratum: Stratum | null;
  /** True: a new score keeps the source and the sampling of the score that it replaces, so that it counts the same. */
  readonly takesOver: boolean;
  /** True: a trace that still arrives is not scored yet. */
  readonly waits: boolean;
  /** True: a score or decision of the same evidence stays. False: every scorer runs again. */
  readonly reuses: boolean;
  /** True: a result of the same evidence stays after a change of the scorer's configuration. */
  readonly keepsFormerResults: boolean;
  /** True: a deferred decision is tried again before its time. */
  readonly retriesEarly: boolean;
  /** Decisions whose scorers run again; null: none. */
  readonly redo: Redo | null;
  /** Decides whether the runs of slow scorers get slots now; null: they wait for a slot. */
  readonly admission: Admission | null;
}

/** Work that runs scorers again on the same evidence. */
export interface Redo {
  /** Begin of the work by the store's clock, Unix milliseconds: a later score is a result of it, and stands. */
  readonly sinceMs: number;
  /** Returns true for a decision whose scorer runs again; undefined stands for a target without a decision of the rule. */
  selects(prior: Decision | undefined): boolean;
}

/** Live scoring of every trace at the present rate; each mode names how it differs. */
function buildMode(rules: readonly PreparedRule[], differences: Partial<ScoringMode>): ScoringMode {
  return {
    source: 'live',
    rules: rules.filter(({ target }) => target !== 'session'),
    sessionRules: rules.filter(({ target }) => target === 'session'),
    write: true,
    history: null,
    selects: true,
    stratum: null,
    takesOver: false,
    waits: true,
    reuses: true,
    keepsFormerResults: true,
    retriesEarly: false,
    redo: null,
    admission: null,
    ...differences,
  };
}

/**
 * Mode of the daemon for ready traces.
 * @param admission decides whether slow scorers run in a pass; default: they wait for a slot
 */
export function liveMode(
  rules: readonly PreparedRule[],
  history: RuleHistory,
  admission: Admission | null = null,
): ScoringMode {
  return buildMode(rules, { history, admission });
}

/**
 * Mode of a backfill. The rules are named `backfill:<id>`. The scores have a stratum of their own, apart from live ones.
 * @param redo makes the scorers run again; a new score then takes over the source and the sampling of the one that it replaces
 */
export function backfillMode(rules: readonly PreparedRule[], redo: Redo | null = null): ScoringMode {
  return buildMode(rules, {
    source: 'backfill',
    stratum: 'backfill',
    takesOver: redo !== null,
    keepsFormerResults: false,
    retriesEarly: true,
    redo,
  });
}

/** Mode of a command for one trace or session: no selection, and nothing is reused. */
export function apiMode(rules: readonly PreparedRule[], { write }: { write: boolean }): ScoringMode {
  return buildMode(rules, {
    source: 'api',
    write,
    selects: false,
    stratum: 'none',
    takesOver: true,
    waits: false,
    reuses: false,
    keepsFormerResults: false,
    retriesEarly: true,
  });
}

/**
 * Mode of a repair: the scorers of some decisions run again, whatever answers are there. All other decisions of the same evidence
 * stay. A new score counts like the one that it replaces, or like its decision.
 */
export function redoMode(rules: readonly PreparedRule[], redo: Redo): ScoringMode {
  return buildMode(rules, { selects: false, takesOver: true, redo });
}

/**
 * Mode that selects and scores as live scoring does at its first look, and stores nothing. The rules have names that no decision has; they
 * cover every trace, at their present rate.
 */
export function previewMode(rules: readonly PreparedRule[]): ScoringMode {
  return buildMode(rules, { write: false, reuses: false, keepsFormerResults: false, retriesEarly: true });
}
