import type { Failure } from '../../../src/domain/failure.ts';
import type { AgentPast } from '../../../src/domain/behaviour/measures.ts';
import { compareValues } from '../../../src/domain/compare-values.ts';
import { decisionVersion, isHeldBack, isLiveRule, type Decision } from '../../../src/domain/decision.ts';
import { scoreVersion, type Score } from '../../../src/domain/score.ts';
import { hashValue } from '../../../src/domain/identity.ts';
import { runVersion, type RunRecord } from '../../../src/domain/run-record.ts';
import { endUnixNano, OWN_SCOPE, type Span, type TraceData } from '../../../src/domain/trace/span.ts';
import { buildSessionTargetId } from '../../../src/domain/session-target.ts';
import { StoreUnavailableError } from '../../../src/domain/errors.ts';
import type { ScoringStores } from '../../../src/scoring/scoring.ts';
import {
  type Arrival,
  computeShard,
  joinTraceKey,
  joinVersionKey,
  type Member,
  type RepairQuery,
  type RuleVersion,
  type SpendEntry,
  type TraceActivity,
  type TraceFacts,
  type TraceKey,
  type VersionSample,
} from '../../../src/store/contracts/stores.ts';
import type { MemberStore } from '../../../src/store/tables/members.ts';
import { type JudgeCallRecord } from '../../../src/domain/judge-call.ts';
import type { RepairStore } from '../../../src/store/tables/decisions.ts';
import type { SessionActivity, SessionKey, SessionPlace } from '../../../src/store/contracts/lists.ts';
import { listSpendingIn, spendingIn } from '../store/spend-ledger.ts';

interface StoredSpan {
  readonly tenant: string;
  readonly span: Span;
  readonly arrivedAtMs: number;
  /** Time from which a row is visible: an insert may commit long after its time stamp. */
  readonly committedAtMs: number;
}

const seen = (value: string | undefined): string[] => (value === undefined || value === '' ? [] : [value]);

/**
 * The store's contracts in memory, with the relevant behaviour of ClickHouse: rows become visible at their commit, not at
 * their time stamp. The greatest version of a row wins; among equal versions the last decision and the first score. A tombstone
 * hides its row.
 */
export class MemoryStore {
  /** True time, Unix milliseconds. */
  clockMs: number;
  /** Difference of the store's clock to the true time, milliseconds. */
  skewMs = 0;
  readonly spanRows: StoredSpan[] = [];
  readonly judgeCallRows: JudgeCallRecord[] = [];
  readonly spendRows: SpendEntry[] = [];
  /** Number of reads of decisions that a budget holds back. */
  heldBackReads = 0;
  /** First targets of versions, by `joinVersionKey`, and the number of their reads. */
  readonly versionSamples = new Map<string, VersionSample>();
  versionReads = 0;
  /** Every row that was written, in order. */
  readonly decisionLog: Decision[] = [];
  readonly scoreLog: Score[] = [];
  readonly runLog: RunRecord[] = [];
  readonly reads: TraceKey[][] = [];
  /** Size of the content of each trace, characters. */
  traceSize = 0;
  /** While it returns true, writes throw: the store is unavailable, or the process crashed between two writes. */
  failing: (what: 'scores' | 'decisions' | 'runs' | 'arrivals' | 'versions') => boolean = () => false;
  readonly #decisions = new Map<string, Decision>();
  readonly #scores = new Map<string, Score>();
  readonly #runs = new Map<string, RunRecord>();
  readonly #rules: RuleVersion[] = [];
  readonly #members = new Map<string, Member>();

  constructor(clockMs = Date.UTC(2026, 10, 21, 12)) {
    this.clockMs = clockMs;
  }

  /** Stores spans as one insert with the current time. `heldBackMs` delays its commit. */
  ingest(spans: readonly Span[], options: { tenant?: string; heldBackMs?: number } = {}): void {
    for (const span of spans) {
      this.spanRows.push({
        tenant: options.tenant ?? '',
        span,
        arrivedAtMs: this.clockMs + this.skewMs,
        committedAtMs: this.clockMs + (options.heldBackMs ?? 0),
      });
    }
  }

  decisions(): Decision[] {
    return [...this.#decisions.values()];
  }

  scores(): Score[] {
    return [...this.#scores.values()].filter((score) => !score.isDeleted);
  }

  runs(): RunRecord[] {
    return [...this.#runs.values()].filter((run) => !run.isDeleted);
  }

  readonly members: MemberStore = {
    beat: async (name, { pairs, leaving = false }) => {
      const earlierMs = this.#members.get(name)?.beatAtMs ?? 0;
      const nowMs = this.clockMs + this.skewMs;
      if (nowMs >= earlierMs) {
        this.#members.set(name, { name, pairs, beatAtMs: nowMs, isLeaving: leaving });
      }
      return { nowMs, members: [...this.#members.values()] };
    },
    dismissAll: async () => {
      this.#members.forEach((member, name) => this.#members.set(name, { ...member, isLeaving: true }));
    },
  };

  readonly repairs: RepairStore = {
    read: async (query, limit) => {
      const rows = this.#toRepair(query);
      const ids = [...new Set(rows.map((row) => row.traceId || row.targetId))].slice(0, limit);
      const last = rows.findLast((row) => (row.traceId || row.targetId) === ids.at(-1));
      return {
        decisions: rows.filter((row) => ids.includes(row.traceId || row.targetId)),
        after: last === undefined || ids.length < limit ? null : computeMark(query.orderKey, last),
      };
    },
    count: async (query) => this.#toRepair(query).length,
  };

  /** Current failures, by trace and id. */
  readonly failures = new Map<string, Failure>();

  /** Pasts of agents, by `joinAgentKey`. */
  readonly agentPasts = new Map<string, AgentPast>();

  readonly stores: ScoringStores = {
    agentPasts: { read: async () => this.agentPasts },
    failures: {
      ofTraces: async (keys) =>
        Map.groupBy(
          [...this.failures.values()].filter((row) =>
            keys.some((key) => joinTraceKey(key) === joinTraceKey(row)),
          ),
          joinTraceKey,
        ),
      write: async (rows) => {
        for (const row of rows) {
          const key = `${joinTraceKey(row)} ${row.failureId}`;
          void (row.isDeleted ? this.failures.delete(key) : this.failures.set(key, row));
        }
      },
    },
    spans: {
      nowMs: async () => this.clockMs + this.skewMs,
      arrivals: async (fromMs, toMs) => {
        this.#failIf('arrivals');
        const inRange = this.#visible().filter((row) => row.arrivedAtMs >= fromMs && row.arrivedAtMs < toMs);
        return [...this.#grouped(inRange).values()].map((rows): Arrival => buildArrival(rows));
      },
      activity: async (keys) => this.#of(keys, buildActivity),
      facts: async (keys, attributeKeys) => this.#of(keys, (rows) => buildFacts(rows, attributeKeys)),
      read: async (keys) => {
        this.reads.push([...keys]);
        return this.#of(keys, (rows): TraceData => {
          const byId = new Map(rows.map(({ span }) => [span.spanId, span]));
          return {
            traceId: rows[0]!.span.traceId,
            spans: [...byId.values()],
            logs: [],
            size: this.traceSize,
          };
        });
      },
      list: async ({ tenant, fromMs, toMs, after, limit }) =>
        [...this.#grouped(this.#visible()).values()]
          .map(buildActivity)
          .filter((each) => tenant === undefined || each.tenant === tenant)
          .filter((each) => startMs(each) >= fromMs && startMs(each) < toMs)
          .sort(byStart)
          .filter(
            (each) =>
              after === undefined || byStart(each, { firstStartUnixNano: after.startUnixNano, ...after }) > 0,
          )
          .slice(0, limit),
      count: async ({ tenant, fromMs, toMs }) =>
        [...this.#grouped(this.#visible()).values()]
          .map(buildActivity)
          .filter((each) => tenant === undefined || each.tenant === tenant)
          .filter((each) => startMs(each) >= fromMs && startMs(each) < toMs).length,
      findTrace: async (traceId) =>
        [...this.#grouped(this.#visible().filter((row) => row.span.traceId === traceId)).values()].map(
          buildActivity,
        ),
    },
    decisions: {
      ofTraces: async (keys) => {
        const wanted = new Set(keys.map(joinTraceKey));
        return Map.groupBy(
          this.decisions().filter((row) => wanted.has(joinTraceKey(row))),
          joinTraceKey,
        );
      },
      write: async (decisions) => {
        this.#failIf('decisions');
        for (const row of decisions) {
          this.decisionLog.push(row);
          const key = [row.tenant, row.traceId, row.target, row.targetId, row.rule, row.scorer].join('\n');
          const current = this.#decisions.get(key);
          if (current === undefined || decisionVersion(row) >= decisionVersion(current)) {
            this.#decisions.set(key, row);
          }
        }
      },
      due: async ({ untilMs, shards, limit, ofSessions = false }) =>
        this.decisions()
          .filter((row) => (row.traceId === '') === ofSessions)
          .filter((row) => row.status === 'deferred' && (row.nextAttemptAt ?? Infinity) <= untilMs)
          .filter((row) => !isHeldBack(row))
          .filter(
            (row) =>
              shards === null ||
              shards.includes(computeShard({ ...row, traceId: row.traceId || row.targetId })),
          )
          .slice(0, limit),
      heldBack: async (query) => {
        const {
          untilMs = Infinity,
          evidenceBeforeMs = Infinity,
          order,
          shards,
          limit,
          ofSessions = false,
        } = query;
        this.heldBackReads += 1;
        const sign = order === 'newest-first' ? -1 : 1;
        return this.decisions()
          .filter((row) => (row.traceId === '') === ofSessions && isHeldBack(row))
          .filter((row) => (row.nextAttemptAt ?? Infinity) <= untilMs)
          .filter((row) => row.evidenceUntil < evidenceBeforeMs)
          .filter(
            (row) =>
              shards === null ||
              shards.includes(computeShard({ ...row, traceId: row.traceId || row.targetId })),
          )
          .toSorted((one, other) => sign * (one.evidenceUntil - other.evidenceUntil))
          .slice(0, limit);
      },
      undecided: async ({ sinceMs, pairs, shards = null, limit }) =>
        [...this.#grouped(this.#visible()).values()]
          .map(buildActivity)
          .filter((each) => each.agentSeen && each.lastArrivalMs >= sinceMs)
          .filter((each) => shards === null || shards.includes(computeShard(each)))
          .filter((each) =>
            pairs.some(({ rule, scorer, fromMs, untilMs, ofSessions = false }) => {
              if (ofSessions) {
                return fromMs <= each.firstArrivalMs && !this.#isRead(each);
              }
              const covers = fromMs <= each.firstArrivalMs && each.firstArrivalMs < untilMs;
              const rows = this.decisions().filter(
                (row) => row.rule === rule && joinTraceKey(row) === joinTraceKey(each),
              );
              return covers && (rows.length === 0 || !isDecided(rows, scorer, each.lastArrivalMs));
            }),
          )
          .slice(0, limit),
    },
    scores: {
      byIds: async (ids) =>
        new Map(
          this.scores().flatMap((score) => (ids.includes(score.scoreId) ? [[score.scoreId, score]] : [])),
        ),
      ofTraces: async (keys) => {
        const wanted = new Set(keys.map(joinTraceKey));
        return Map.groupBy(
          this.scores().filter((score) => wanted.has(joinTraceKey(score))),
          joinTraceKey,
        );
      },
      write: async (scores) => {
        this.#failIf('scores');
        for (const score of scores) {
          this.scoreLog.push(score);
          const key = [score.tenant, score.scorer, score.day, score.scoreId].join('\n');
          const current = this.#scores.get(key);
          if (current === undefined || scoreVersion(score) > scoreVersion(current)) {
            this.#scores.set(key, score);
          }
        }
      },
    },
    runs: {
      ofTraces: async (keys) => {
        const wanted = new Set(keys.map(joinTraceKey));
        return Map.groupBy(
          this.runs().filter((run) => wanted.has(joinTraceKey(run))),
          joinTraceKey,
        );
      },
      readUntil: async (keys) => {
        const wanted = new Set(keys.map(joinTraceKey));
        const found = new Map<string, number>();
        for (const run of this.runLog) {
          const name = joinTraceKey(run);
          if (wanted.has(name) && run.target === 'trace' && run.readFrom === 'content') {
            found.set(name, Math.max(found.get(name) ?? 0, run.evidenceUntil));
          }
        }
        return found;
      },
      write: async (records) => {
        this.#failIf('runs');
        for (const record of records) {
          this.runLog.push(record);
          const key = [record.tenant, record.traceId, record.target, record.targetId].join('\n');
          const current = this.#runs.get(key);
          if (current === undefined || runVersion(record) >= runVersion(current)) {
            this.#runs.set(key, record);
          }
        }
      },
    },
    sessions: {
      undecided: async ({ sinceMs, pairs, shards, limit }) =>
        this.#sessions()
          .filter((each) => {
            if (each.lastArrivalMs < sinceMs) {
              return false;
            }
            const targetId = buildSessionTargetId(each.sessionId);
            const isOurs = shards === null || shards.includes(computeShard({ ...each, traceId: targetId }));
            const rows = this.decisions().filter(
              (row) => row.tenant === each.tenant && row.target === 'session' && row.targetId === targetId,
            );
            const isUndecided = pairs.some(
              ({ rule, scorer, fromMs }) =>
                fromMs <= each.lastArrivalMs &&
                !rows.some(
                  (row) =>
                    row.rule === rule &&
                    (row.scorer === scorer || (row.scorer === '*' && row.status !== 'scored')) &&
                    row.evidenceUntil >= each.lastArrivalMs,
                ),
            );
            return isOurs && isUndecided;
          })
          .sort((a, b) => a.lastArrivalMs - b.lastArrivalMs)
          .slice(0, limit)
          .map((each) => ({ ...each, lastWrittenMs: each.lastArrivalMs, turns: 1, isLate: false })),
      activity: async (key) => this.#sessions().find((each) => isSameSession(each, key)),
      changed: async (keys, sinceMs) =>
        this.#sessions().filter(
          (each) => each.lastArrivalMs >= sinceMs && keys.some((key) => isSameSession(each, key)),
        ),
      list: async ({ tenant, fromMs, toMs, after, limit }) =>
        this.#sessions()
          .map((each) => ({ ...each, lastTurnMs: this.#lastTurnMs(each) }))
          .filter((each) => tenant === undefined || each.tenant === tenant)
          .filter((each) => each.lastTurnMs >= fromMs && each.lastTurnMs < toMs)
          .sort(byLastTurn)
          .filter((each) => after === undefined || byLastTurn(each, after) > 0)
          .slice(0, limit),
      find: async (sessionId) => this.#sessions().filter((each) => each.sessionId === sessionId),
      turns: async (key, limit) => {
        const turns = this.runs()
          .filter((run) => run.target === 'trace' && isSameSession(run, key))
          .map(({ tenant, traceId, startedAt }) => ({ tenant, traceId, startedAtMs: startedAt }))
          .sort((a, b) => b.startedAtMs - a.startedAtMs);
        return { turns: turns.slice(0, limit), count: turns.length };
      },
      turnsOf: (keys, limit) => Promise.all(keys.map((key) => this.stores.sessions.turns(key, limit))),
      decisions: async (tenant, targetIds) =>
        this.decisions().filter(
          (row) => row.tenant === tenant && row.target === 'session' && targetIds.includes(row.targetId),
        ),
      resultTimes: async ({ tenant, targetId, rules, sinceMs }) => {
        const results = this.decisionLog.filter(
          (row) =>
            row.tenant === tenant &&
            row.target === 'session' &&
            row.targetId === targetId &&
            rules.includes(row.rule) &&
            (row.status === 'scored' || row.status === 'failed'),
        );
        return [...Map.groupBy(results, (row) => row.evidenceUntil).values()]
          .map((rows) => Math.min(...rows.map((row) => row.decidedAt)))
          .filter((atMs) => atMs >= sinceMs)
          .sort((a, b) => a - b);
      },
      scores: async (key) =>
        this.scores().filter((score) => score.target === 'session' && isSameSession(score, key)),
      findIds: async (targets) =>
        this.runs().filter(
          (run) =>
            run.target === 'session' &&
            targets.some(({ tenant, targetId }) => run.tenant === tenant && run.targetId === targetId),
        ),
    },
    ruleVersions: {
      list: async () => [...this.#rules],
      record: async (version) => {
        const known = this.#rules.findIndex(
          (each) => each.rule === version.rule && each.version === version.version,
        );
        const earlierMs = this.#rules[known]?.activeFromMs ?? Infinity;
        this.#rules.splice(known < 0 ? this.#rules.length : known, 1, {
          ...version,
          activeFromMs: Math.min(version.activeFromMs, earlierMs),
        });
      },
    },
    versionSamples: {
      read: async (keys) => {
        this.versionReads += 1;
        return new Map(
          keys.flatMap((key) => {
            const sample = this.versionSamples.get(joinVersionKey(key));
            return sample === undefined ? [] : [[joinVersionKey(key), sample]];
          }),
        );
      },
      append: async (key, known, { slots, targets }) => {
        this.#failIf('versions');
        const name = joinVersionKey(key);
        const sample = this.versionSamples.get(name);
        if ((sample?.targets.length ?? 0) === known && sample?.slots !== 0) {
          this.versionSamples.set(name, {
            slots: sample?.slots ?? slots,
            targets: [...(sample?.targets ?? []), ...targets],
          });
        }
      },
      findInUse: async (asks) =>
        new Set(
          asks.flatMap(({ key, beforeMs }) =>
            this.runLog.some(
              (run) =>
                run.tenant === key.tenant &&
                run.serviceName === key.service &&
                run.serviceVersion === key.serviceVersion &&
                (key.agentVersion === '' || run.agentVersion === key.agentVersion) &&
                run.evidenceUntil < beforeMs,
            )
              ? [joinVersionKey(key)]
              : [],
          ),
        ),
    },
    judgeCalls: {
      write: async (calls) => {
        this.judgeCallRows.push(...calls);
      },
      readSpending: async (...query) => spendingIn(this.spendRows, ...query),
      listSpending: async (range) => listSpendingIn(this.spendRows, range),
      spend: async (entries) => {
        this.spendRows.push(...entries);
      },
    },
  };

  /** In the order of the ids. */
  #toRepair({ status, scorer, sinceMs, ofSessions, orderKey, after }: RepairQuery): Decision[] {
    return this.decisions()
      .filter((row) => (row.traceId === '') === ofSessions && row.status === status && isLiveRule(row.rule))
      .filter((row) => scorer === undefined || row.scorer === scorer)
      .filter((row) => row.evidenceUntil >= sinceMs)
      .filter((row) => after === null || computeMark(orderKey, row) > after)
      .sort((a, b) => compareValues(computeMark(orderKey, a), computeMark(orderKey, b)));
  }

  #sessions(): SessionActivity[] {
    const turns = this.runs().filter((run) => run.target === 'trace' && run.sessionId !== '');
    return [...Map.groupBy(turns, (run) => JSON.stringify([run.tenant, run.sessionId])).values()].map(
      (runs) => ({
        tenant: runs[0]!.tenant,
        sessionId: runs[0]!.sessionId,
        firstArrivalMs: Math.min(...runs.map((run) => run.evidenceUntil)),
        lastArrivalMs: Math.max(...runs.map((run) => run.evidenceUntil)),
      }),
    );
  }

  #lastTurnMs(key: SessionKey): number {
    const turns = this.runs().filter((run) => run.target === 'trace' && isSameSession(run, key));
    return Math.max(...turns.map((run) => run.startedAt));
  }

  #isRead({ tenant, traceId, lastArrivalMs }: TraceActivity): boolean {
    return this.runLog.some(
      (run) =>
        run.tenant === tenant &&
        run.traceId === traceId &&
        run.readFrom === 'content' &&
        run.evidenceUntil >= lastArrivalMs,
    );
  }

  #failIf(what: 'scores' | 'decisions' | 'runs' | 'arrivals' | 'versions'): void {
    if (this.failing(what)) {
      throw new StoreUnavailableError(`the store is away (${what})`);
    }
  }

  #visible(): StoredSpan[] {
    return this.spanRows.filter(
      (row) => row.committedAtMs <= this.clockMs && row.span.scopeName !== OWN_SCOPE,
    );
  }

  #grouped(rows: readonly StoredSpan[]): Map<string, StoredSpan[]> {
    return Map.groupBy(rows, (row) => joinTraceKey({ tenant: row.tenant, traceId: row.span.traceId }));
  }

  #of<T>(keys: readonly TraceKey[], make: (rows: StoredSpan[]) => T): Map<string, T> {
    const grouped = this.#grouped(this.#visible());
    return new Map(
      keys.flatMap((key) => {
        const rows = grouped.get(joinTraceKey(key));
        return rows === undefined ? [] : [[joinTraceKey(key), make(rows)] as const];
      }),
    );
  }
}

function computeMark(orderKey: string, { tenant, traceId, targetId }: Decision): string {
  return hashValue([orderKey, tenant, traceId || targetId]);
}

function byLastTurn(a: SessionPlace, b: SessionPlace): number {
  return (
    a.lastTurnMs - b.lastTurnMs ||
    compareValues(a.tenant, b.tenant) ||
    compareValues(a.sessionId, b.sessionId)
  );
}

function isSameSession(a: SessionKey, b: SessionKey): boolean {
  return a.tenant === b.tenant && a.sessionId === b.sessionId;
}

/** Returns true when every target has a row of the scorer, or of its whole rule, that has seen the last arrival. */
function isDecided(rows: readonly Decision[], scorer: string, lastArrivalMs: number): boolean {
  return [...Map.groupBy(rows, (row) => row.targetId).values()].every((target) => {
    const verdict = target.find((row) => row.scorer === '*' && row.status !== 'scored');
    const deciding = verdict ?? target.find((row) => row.scorer === scorer);
    return deciding !== undefined && deciding.evidenceUntil >= lastArrivalMs;
  });
}

function isAgentSpan(span: Span): boolean {
  return [...span.attributes.keys()].some((key) => key.startsWith('gen_ai.') || key.startsWith('traceloop.'));
}

function buildKey(rows: readonly StoredSpan[]): TraceKey {
  return { tenant: rows[0]!.tenant, traceId: rows[0]!.span.traceId };
}

function buildArrival(rows: readonly StoredSpan[]): Arrival {
  const times = rows.map((row) => row.arrivedAtMs);
  return {
    ...buildKey(rows),
    firstArrivalMs: Math.min(...times),
    lastArrivalMs: Math.max(...times),
    spanIds: [...new Set(rows.map((row) => row.span.spanId))],
    parentIds: [...new Set(rows.flatMap((row) => seen(row.span.parentSpanId)))],
    rootSeen: rows.some((row) => row.span.parentSpanId === ''),
    agentSeen: rows.some((row) => isAgentSpan(row.span)),
  };
}

function buildActivity(rows: readonly StoredSpan[]): TraceActivity {
  const { firstArrivalMs, lastArrivalMs, rootSeen, agentSeen } = buildArrival(rows);
  const starts = rows.map((row) => row.span.startUnixNano);
  const ends = rows.map((row) => endUnixNano(row.span));
  return {
    ...buildKey(rows),
    firstArrivalMs,
    lastArrivalMs,
    rootSeen,
    agentSeen,
    firstStartUnixNano: starts.reduce((a, b) => (a < b ? a : b)),
    lastEndUnixNano: ends.reduce((a, b) => (a > b ? a : b)),
    errorSeen: rows.some((row) => row.span.statusCode === 'Error'),
  };
}

function buildFacts(rows: readonly StoredSpan[], attributeKeys: readonly string[]): TraceFacts {
  const spans = rows.map((row) => row.span);
  const values = (key: string) => [...new Set(spans.flatMap((span) => seen(span.attributes.get(key))))];
  return {
    ...buildKey(rows),
    services: [...new Set(spans.flatMap((span) => seen(span.serviceName)))],
    environments: values('deployment.environment.name'),
    agents: values('gen_ai.agent.name'),
    sessions: values('gen_ai.conversation.id'),
    users: values('user.id'),
    models: values('gen_ai.request.model'),
    modelNames: [...values('gen_ai.request.model'), ...values('gen_ai.response.model')],
    serviceVersions: values('service.version'),
    versions: spans.flatMap(({ serviceName, attributes }) => {
      const serviceVersion = attributes.get('service.version');
      return serviceVersion === undefined
        ? []
        : [{ service: serviceName, agent: '', serviceVersion, agentVersion: '' }];
    }),
    hasError: spans.some((span) => span.statusCode === 'Error'),
    hasToolError: spans.some(
      (span) => span.statusCode === 'Error' && span.attributes.has('gen_ai.tool.name'),
    ),
    hasNegativeFeedback: spans.some((span) =>
      [...span.attributes].some(([key, value]) => key.includes('feedback') && Number(value) < 0),
    ),
    attributes: new Map(attributeKeys.map((key) => [key, values(key)])),
  };
}

function startMs(activity: TraceActivity): number {
  return Number(activity.firstStartUnixNano / 1_000_000n);
}

function byStart(
  a: { firstStartUnixNano: bigint; traceId: string },
  b: { firstStartUnixNano: bigint; traceId: string },
): number {
  const difference = a.firstStartUnixNano - b.firstStartUnixNano;
  return difference === 0n
    ? a.traceId < b.traceId
      ? -1
      : a.traceId > b.traceId
        ? 1
        : 0
    : difference < 0n
      ? -1
      : 1;
}
