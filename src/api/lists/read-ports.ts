import type { TraceReading } from '../../domain/trace/agent-run.ts';
import type { Decision } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import type { Rule } from '../../config/index.ts';
import type { JudgeUse } from '../../store/contracts/judge-use.ts';
import type {
  ListedSession,
  ListedTrace,
  ListFilters,
  ListPage,
  Listed,
} from '../../store/contracts/lists.ts';
import type { JudgeCallRecord, RuleVersion, TraceKey } from '../../store/contracts/stores.ts';
import type { BudgetTotals } from '../json/budget-json.ts';
import type { ComputedDecision } from '../json/computed-json.ts';
import type { StepSpan } from '../json/span-json.ts';

/** Scores of one tenant, or of all. */
export interface ScorePorts {
  /** Newest first, by the start of the run. */
  list(filters: ListFilters, page: ListPage): Promise<Listed<Score>>;
  /** The worst first, in the direction of each scorer. */
  listWorst(filters: ListFilters, limit: number): Promise<readonly Score[]>;
  /** Throws a `NotFoundError` for an id that the tenant does not have. */
  read(scoreId: string): Promise<ScoreView>;
}

/** Place of a quote in the messages of a run and in its spans; null for what was not found. */
export interface QuotePlace {
  readonly spanId: string | null;
  readonly messageIndex: number | null;
  readonly partIndex: number | null;
  readonly start: number | null;
  readonly end: number | null;
}

/** One score with its evidence. */
export interface ScoreView {
  readonly score: Score;
  /** One for each verdict. */
  readonly places: readonly QuotePlace[];
  readonly judgeCalls: readonly JudgeCallRecord[];
}

/** One trace with all that is known of it. */
export interface TraceView {
  readonly key: TraceKey;
  /** Null when no span is stored any more. */
  readonly reading: TraceReading | null;
  readonly spans: readonly StepSpan[];
  readonly scores: readonly Score[];
  readonly decisions: readonly Decision[];
  readonly computed: readonly ComputedDecision[];
  readonly joinedWith: readonly string[];
  readonly nowMs: number;
}

/** Tenant that a request names for its id; undefined: the only one that has it. */
interface AskedTenant {
  readonly tenant?: string | undefined;
}

/** Trace that a request asks for. */
interface AskedTrace extends AskedTenant {
  readonly traceId: string;
}

/** Session that a request asks for. */
interface AskedSession extends AskedTenant {
  readonly sessionId: string;
}

/** Traces of one tenant, or of all. */
export interface TracePorts {
  /** Newest first, by the start of the run. */
  list(filters: ListFilters, page: ListPage): Promise<Listed<ListedTrace>>;
  /** Throws a `NotFoundError` for a trace that the tenant does not have, and a `SeveralTenantsError` for one that several have. */
  read(asked: AskedTrace): Promise<TraceView>;
  /** Throws as `read`, and a `NotFoundError` for a span that the trace does not have. */
  readSpan(asked: AskedTrace & { readonly spanId: string }): Promise<StepSpan>;
}

/** One session with its turns. */
export interface SessionView {
  readonly session: ListedSession;
  /** The newest ones, the oldest of them first. */
  readonly turns: readonly ListedTrace[];
  readonly omittedTurns: number;
  readonly decisions: readonly Decision[];
  readonly nowMs: number;
}

/** Sessions of one tenant, or of all. */
export interface SessionPorts {
  /** Newest first, by the start of the first turn. */
  list(filters: ListFilters, page: ListPage): Promise<Listed<ListedSession>>;
  /** Throws a `NotFoundError` for a session that the tenant does not have, and a `SeveralTenantsError` for one that several have. */
  read(asked: AskedSession): Promise<SessionView>;
}

/** A scorer of the configuration. What only a process that scores knows is null elsewhere. */
export interface ScorerView {
  readonly scorer: string;
  readonly use: string | null;
  readonly module: string | null;
  readonly kind: 'code' | 'judge' | 'own';
  readonly version: string | null;
  readonly judge: string | null;
  readonly fingerprint: string | null;
  readonly higherIsBetter: boolean | null;
  readonly scoreMin: number | null;
  readonly scoreMax: number | null;
  readonly rows: readonly string[];
  readonly rules: readonly string[];
  /** Unix milliseconds. */
  readonly activeFromMs: number | null;
}

/** A rule of the configuration, with its stored versions (the newest first) and counts since a time. */
export interface RuleView {
  readonly rule: Rule;
  /** Undefined before a process has loaded the rule. */
  readonly version: string | undefined;
  readonly versions: readonly RuleVersion[];
  readonly sinceMs: number;
  readonly eligible: number;
  readonly scored: number;
}

/** State of a judge in this process. */
export interface JudgeState {
  readonly breaker: 'closed' | 'half_open' | 'open';
  /** Answers that came from the cache, of the tenant or of all. */
  readonly cacheHits: number;
}

/** Judges with their use, and caps of budgets. */
export interface JudgesView {
  readonly judges: readonly {
    readonly judge: string;
    readonly use: readonly JudgeUse[];
    /** Undefined in a process that scores nothing. */
    readonly state: JudgeState | undefined;
  }[];
  readonly caps: readonly (BudgetTotals & { readonly reservedUsd: number })[];
}

/** Configured scorers, rules and judges, with the counts of one tenant, or of all. */
export interface ConfigurationPorts {
  scorers(): Promise<readonly ScorerView[]>;
  rules(): Promise<readonly RuleView[]>;
  /** Times are Unix milliseconds. */
  judges(sinceMs: number): Promise<JudgesView>;
}

/** Reads of one tenant, or of all. */
export interface ReadPorts {
  readonly scores: ScorePorts;
  readonly traces: TracePorts;
  readonly sessions: SessionPorts;
  readonly configuration: ConfigurationPorts;
}
