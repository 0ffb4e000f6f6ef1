import type { Decision } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import { buildSessionTargetId } from '../../domain/session-target.ts';
import type { SessionActivity } from '../../store/contracts/sessions.ts';
import type { ComputedLine } from '../explain.ts';
import type { ScoringStores } from '../scoring-stores.ts';
import { prepareRule, type Rule } from '../select/rule.ts';
import { buildRuleHistory } from '../select/rule-history.ts';
import { readSessionWait, type SessionSettings } from './session-readiness.ts';

const SCORED_ENOUGH = 'it was scored as often as readiness.session.rescores allows in 24 hours';

export interface SessionExplanation {
  readonly decisions: readonly Decision[];
  /** Reasons why rules on sessions have no current row. They are computed, not stored. */
  readonly computed: readonly (ComputedLine & { readonly targetId: string })[];
  readonly scores: readonly Score[];
  /** The store's clock, Unix milliseconds. */
  readonly nowMs: number;
}

/** Reads every decision of a session and finds the reason for every rule that has none. Throws when the store does. */
export async function explainSession(
  stores: Pick<ScoringStores, 'sessions' | 'ruleVersions' | 'spans'>,
  activity: SessionActivity,
  { rules, settings }: { readonly rules: readonly Rule[]; readonly settings: SessionSettings },
): Promise<SessionExplanation> {
  const { tenant, sessionId, lastArrivalMs } = activity;
  const targetId = buildSessionTargetId(sessionId);
  const [decisions, scores, versions, nowMs] = await Promise.all([
    stores.sessions.decisions(tenant, [targetId]),
    stores.sessions.scores({ tenant, sessionId }),
    stores.ruleVersions.list(),
    stores.spans.nowMs(),
  ]);
  const history = buildRuleHistory(versions);
  const onSessions = rules.filter(({ target }) => target === 'session').map(prepareRule);
  const names = new Set(onSessions.map(({ name }) => name));
  const prior = decisions.filter((row) => names.has(row.rule));
  const line = (
    rule: string,
    status: ComputedLine['status'],
    reason: string,
    dueAtMs: number | null = null,
  ) => ({
    tenant,
    traceId: '',
    targetId,
    rule,
    status,
    reason,
    dueAtMs,
  });
  const open = onSessions.filter(
    ({ name }) => !prior.some((row) => row.rule === name && row.evidenceUntil >= lastArrivalMs),
  );
  const dueAtMs =
    open.length === 0 ? null : await readSessionWait(stores.sessions, activity, prior, nowMs, settings);
  const isIdleBefore = (dueAtMs ?? 0) > lastArrivalMs + settings.idleMs;
  const waitReason = isIdleBefore ? SCORED_ENOUGH : 'further turns may still come';
  const computed = open.map((rule) => {
    if (history.inForce(rule, lastArrivalMs) === null) {
      return line(rule.name, 'not_covered', 'the last turn arrived before the rule was first loaded');
    }
    return dueAtMs === null
      ? line(rule.name, 'waiting', 'the session is ready: it is scored next')
      : line(rule.name, 'waiting', waitReason, dueAtMs);
  });
  return { decisions, computed, scores, nowMs };
}
