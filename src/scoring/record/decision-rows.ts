import { nameBudget } from '../../domain/money/budget.ts';
import { HELD_BACK, WHOLE_RULE, type Decision, type DecisionStatus } from '../../domain/decision.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { showUsd } from '../../domain/money/usd.ts';
import type { TraceKey } from '../../store/contracts/stores.ts';
import {
  formatReason,
  readReasonCode,
  computeBackoffMs,
  type AttemptCost,
  type AttemptResult,
  type ScorerAttempt,
} from '../attempt/attempt-failure.ts';
import type { Pair } from '../attempt/pair.ts';
import type { SpentCap } from '../budget/budget-request.ts';
import { isReadByShape } from '../select/where.ts';
import type { PreparedRule } from '../select/rule.ts';
import type { Selection, TraceTask } from '../trace-task.ts';

// All decision rows of scoring are built in this file.

/** Time until a trace whose interim row was never replaced is tried again, milliseconds. */
const IN_PROGRESS_MS = 10 * 60_000;

/** Status and reason of a trace or a target that gets no score from a whole rule. */
export interface Unscored {
  readonly status: Exclude<DecisionStatus, 'scored' | 'deferred'>;
  readonly reason: string;
}

/** Builds the row of a pair from its plan; null for a plan that writes no row by itself. */
export function buildPlannedRow(pair: Pair): Decision | null {
  if (pair.plan.action !== 'decide') {
    return null;
  }
  const { action: _action, ...columns } = pair.plan;
  return buildPairRow(pair, columns);
}

/** Builds the row of a pair from an attempt; null for an attempt that was broken off. */
export function buildAttemptRow(pair: Pair, attempt: ScorerAttempt, random: number): Decision | null {
  const { result } = attempt;
  if (result.status === 'abandoned' || pair.plan.action !== 'run') {
    return null;
  }
  const attempts = pair.plan.attempts + 1;
  return buildPairRow(pair, {
    ...(result.status === 'scored' && result.standing !== undefined ? { fingerprint: result.standing } : {}),
    status: result.status,
    reason: result.status === 'scored' ? formatReuse(attempt.cost) : result.reason,
    attempts,
    nextAttemptAt: computeNextAttempt(pair, result, attempts, random),
    revision: pair.plan.revision,
    costUsd: attempt.cost.costUsd,
  });
}

/** Formats the note on a score that uses earlier answers of its judge; '' when every question was asked anew. */
function formatReuse({ reusedAnswers, judgeCalls }: AttemptCost): string {
  return reusedAnswers === 0
    ? ''
    : `judge_reused: ${reusedAnswers} of ${reusedAnswers + judgeCalls} answers are the judge's earlier ones to the very same questions (judges.reuse)`;
}

function computeNextAttempt(
  pair: Pair,
  result: AttemptResult,
  attempts: number,
  random: number,
): number | null {
  if (result.status !== 'deferred') {
    return null;
  }
  const waitMs = computeBackoffMs(attempts, result.retryAfterMs, random);
  return Math.max(pair.task.clock.nowMs() + waitMs, result.notBeforeMs ?? 0);
}

/**
 * Builds the interim row of a pair that still runs; null for a pair that needs no run. The sweep takes a rule for decided as soon
 * as one of its rows has seen the latest arrival, so interim rows are written for all pairs or for none.
 */
export function buildInProgressRow(pair: Pair): Decision | null {
  if (pair.plan.action !== 'run') {
    return null;
  }
  return buildPairRow(pair, {
    status: 'deferred',
    reason: 'in_progress: the scorer is at work',
    attempts: pair.plan.attempts,
    nextAttemptAt: pair.task.clock.nowMs() + IN_PROGRESS_MS,
    revision: pair.plan.revision,
  });
}

/** Builds the row that withdraws an earlier verdict on the target of a pair; null without such a verdict. */
export function buildWithdrawnRow(pair: Pair): Decision | null {
  const verdict = pair.selected.prior.find(
    (row) => row.targetId === pair.target.targetId && row.scorer === WHOLE_RULE,
  );
  if (verdict === undefined || verdict.status === 'scored') {
    return null;
  }
  const row = buildPairRow(pair, {
    fingerprint: '',
    status: 'scored',
    reason: 'superseded: later spans changed the verdict; see the rows of the scorers',
    attempts: verdict.evidenceUntil >= pair.task.activity.lastArrivalMs ? verdict.attempts + 1 : 0,
    revision: verdict.revision + 1,
  });
  return { ...row, scorer: WHOLE_RULE };
}

type CellColumns = Pick<Decision, 'status' | 'reason' | 'attempts' | 'revision'> &
  Partial<Pick<Decision, 'fingerprint' | 'nextAttemptAt' | 'evidenceHash' | 'costUsd'>>;

function buildPairRow(pair: Pair, columns: CellColumns): Decision {
  const { task, selected, target, bound } = pair;
  return {
    ...task.key,
    target: target.kind,
    targetId: target.targetId,
    rule: selected.rule.name,
    scorer: bound.name,
    fingerprint: bound.fingerprint,
    agent: target.run.agent ?? '',
    environment: target.run.environment ?? '',
    ...(isReadByShape(target.run) ? { readByShape: true } : {}),
    nextAttemptAt: null,
    ...selected.selection,
    evidenceUntil: task.activity.lastArrivalMs,
    evidenceHash: pair.hash,
    costUsd: null,
    decidedAt: task.clock.nowMs(),
    ...columns,
  };
}

export interface VerdictFacts {
  readonly key: TraceKey;
  readonly rule: PreparedRule;
  /** The trace id for a verdict on the trace. */
  readonly targetId: string;
  /** Earlier rows that the verdict replaces: those of its target, or all rows of the rule. */
  readonly prior: readonly Decision[];
  readonly selection: Selection;
  readonly evidenceUntilMs: number;
  /** Absent: the content was not read. */
  readonly evidenceHash?: string;
  readonly readByShape?: boolean;
  readonly nowMs: number;
}

/** Builds the row of a verdict on a whole rule, and a new row in place of each earlier one. */
export function buildVerdictRows(verdict: Unscored, facts: VerdictFacts): Decision[] {
  const { key, rule, targetId, prior, selection, evidenceUntilMs, evidenceHash = '', nowMs } = facts;
  const columns: VerdictColumns = {
    ...verdict,
    ...selection,
    evidenceUntil: evidenceUntilMs,
    evidenceHash,
    decidedAt: nowMs,
  };
  const isOwn = (row: Decision) => row.targetId === targetId && row.scorer === WHOLE_RULE;
  const former = prior.find(isOwn);
  const isChanged =
    former !== undefined && former.evidenceHash !== '' && former.evidenceHash !== evidenceHash;
  const whole = {
    tenant: key.tenant,
    traceId: key.traceId,
    target: rule.target,
    targetId,
    rule: rule.name,
    scorer: WHOLE_RULE,
    fingerprint: '',
    ...(facts.readByShape === true ? { readByShape: true } : {}),
    ...columns,
    attempts: former !== undefined && former.evidenceUntil >= evidenceUntilMs ? former.attempts + 1 : 0,
    nextAttemptAt: null,
    revision: (former?.revision ?? 1) + (isChanged ? 1 : 0),
    costUsd: null,
  };
  return [whole, ...prior.filter((row) => !isOwn(row)).map((row) => replaceRow(row, columns))];
}

/**
 * Builds the new row of a target that the trace no longer has: later spans may join two runs. Its revision is above that of the
 * scores that go with it, so that a score of the target can come back.
 */
export function buildGoneRow(row: Decision, task: TraceTask, selection: Selection): Decision {
  const gone = replaceRow(row, {
    ...selection,
    status: 'not_applicable',
    reason: formatReason('target_gone', 'the trace no longer has this run'),
    evidenceUntil: task.activity.lastArrivalMs,
    evidenceHash: '',
    decidedAt: task.clock.nowMs(),
  });
  const wasGone = readReasonCode(row.reason) === readReasonCode(gone.reason);
  return { ...gone, revision: row.revision + (wasGone ? 0 : 1) };
}

/** Builds the row that ends a deferred decision whose rule or scorer no process has any more. */
export function buildRemovedRow(row: Decision, nowMs: number): Decision {
  return replaceRow(row, {
    status: 'filtered',
    reason: formatReason('rule_removed', `no process has scorer ${row.scorer} of rule ${row.rule} any more`),
    decidedAt: nowMs,
  });
}

/** Builds the row of a decision that its budget holds back for longer. */
export function buildHeldRow(row: Decision, { cap, renewsAtMs }: SpentCap, nowMs: number): Decision {
  const budget = `${nameBudget(cap.scope)} of ${showUsd(cap.capUsd)} USD a UTC ${cap.period}`;
  const reason = formatReason(HELD_BACK, `${budget} is spent`);
  return { ...replaceRow(row, { reason, decidedAt: nowMs }), nextAttemptAt: renewsAtMs };
}

/** Builds the row that ends a decision that its budget held back for too long. */
export function buildLapsedRow(row: Decision, maxAgeMs: number, nowMs: number): Decision {
  const age = `${Math.round((10 * maxAgeMs) / DAY_MS) / 10} days`;
  const former = row.reason.slice(HELD_BACK.length + 1).trim();
  return replaceRow(row, {
    status: 'failed',
    reason: formatReason(HELD_BACK, `no money within ${age} (scoring.catchUp); at last: ${former}`),
    decidedAt: nowMs,
  });
}

/** Builds the row that ends a deferred decision whose spans expired before its next attempt. */
export function buildExpiredRow(row: Decision, nowMs: number): Decision {
  return replaceRow(row, {
    status: 'failed',
    reason: formatReason('evidence_gone', 'the spans of the trace expired before the next attempt'),
    decidedAt: nowMs,
  });
}

type VerdictColumns = Selection &
  Pick<Decision, 'status' | 'reason' | 'evidenceUntil' | 'evidenceHash' | 'decidedAt'>;

/** Gives an earlier row the columns of a verdict, so that a key never has two current truths. */
function replaceRow(row: Decision, verdict: Partial<VerdictColumns>): Decision {
  const { evidenceUntil = row.evidenceUntil } = verdict;
  return {
    ...row,
    ...verdict,
    attempts: row.evidenceUntil >= evidenceUntil ? row.attempts + 1 : 0,
    nextAttemptAt: null,
    costUsd: null,
  };
}
