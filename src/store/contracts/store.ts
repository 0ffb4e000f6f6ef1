import type { StatusCounts } from '../../domain/decision.ts';
import type { MonitorStore } from '../../monitors/monitor-store.ts';
import type { AlertFeed } from './alert-deliveries.ts';
import type { DeadLetterStore } from './dead-letters.ts';
import type { AlertStore, MarkerStore, MonitorView } from './monitors.ts';
import type { SpanSink } from './span-sink.ts';
import type {
  DecisionStore,
  JudgeCallStore,
  MemberStore,
  RuleVersionStore,
  ScoreStore,
  SpanSource,
  TraceKey,
} from './stores.ts';

export interface TraceListFilter {
  readonly tenant?: string;
  readonly service?: string;
  /** Traces that had arrivals at or after this moment, Unix milliseconds. */
  readonly sinceMs?: number;
  /** At most `MAX_KEYS`. */
  readonly limit: number;
}

/** One trace with what became of it. Times are Unix milliseconds. */
export interface TraceSummary extends TraceKey {
  readonly services: readonly string[];
  /** Distinct spans, those of our own scope not counted. */
  readonly spanCount: number;
  readonly firstArrivalMs: number;
  readonly lastArrivalMs: number;
  readonly rootSeen: boolean;
  readonly agentSeen: boolean;
  readonly errorSeen: boolean;
  /** Number of current decisions by status; empty for a trace that waits or is not an agent's. */
  readonly decisions: StatusCounts;
}

/** The space that a store takes. */
export interface StoreSize {
  /** Bytes on disk, of all tables. */
  readonly bytes: number;
  /** Rows of the tables that people ask for; versions of a row that are not merged yet count each. */
  readonly rows: { readonly spans: number; readonly scores: number; readonly decisions: number };
}

/** Everything that is kept, in one ClickHouse database. */
export interface Store {
  readonly sink: SpanSink;
  readonly spans: SpanSource;
  readonly decisions: DecisionStore;
  readonly scores: ScoreStore;
  readonly ruleVersions: RuleVersionStore;
  readonly judgeCalls: JudgeCallStore;
  readonly members: MemberStore;
  readonly deadLetters: DeadLetterStore;
  readonly monitors: MonitorStore;
  readonly monitorView: MonitorView;
  readonly alerts: AlertStore;
  readonly markers: MarkerStore;
  /** Alerts to send, and those that were sent. */
  readonly alertFeed: AlertFeed;
  /** Processes that send alerts. */
  readonly alertMembers: MemberStore;
  /** Newest traces with the state of their decisions. */
  listTraces(filter: TraceListFilter): Promise<TraceSummary[]>;
  /** Names of scorers that have score rows. */
  scorerNames(): Promise<string[]>;
  /**
   * Source of spans in one line. Throws `StoreUnavailableError` for foreign tables that are absent or may not be read,
   * `ConfigError` for tables that lack columns.
   */
  describeSource(): Promise<string>;
  /** Before rules become active: what is in tables of others by now is their past. Throws as `describeSource` does. */
  watchSource(): Promise<void>;
  /** The space that it takes. */
  size(): Promise<StoreSize>;
  /** Resolves when the server answers; throws `StoreUnavailableError`. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
