import type { Decision } from '../../domain/decision.ts';
import { buildSessionTargetId } from '../../domain/session-target.ts';
import type { SessionKey, UndecidedSession } from '../../store/contracts/sessions.ts';
import { scoreTask, traceError } from '../apply-rules.ts';
import { buildExpiredRow } from '../record/decision-rows.ts';
import type { Scoring } from '../scoring.ts';
import type { ScoringMode } from '../scoring-mode.ts';
import { readStoreClock } from '../store-clock.ts';
import { buildOutcome, type TraceOutcome } from '../trace-task.ts';
import { readSession } from './read-session.ts';
import { selectSessions, sessionMode } from './select-sessions.ts';
import { readSessionWait, type SessionSettings } from './session-readiness.ts';
import { AppError } from '../../domain/errors.ts';
import type { Claim } from '../../ownership/claim.ts';
import type { PurgedTraces } from '../../store/contracts/purge.ts';

/**
 * Scores a session by the rules on sessions, when it is ready. It is the same path as that of a trace: the turns are read as one
 * run. Returns an outcome without a trace id. Throws when the store cannot be read.
 */
export async function scoreSession(
  scoring: Scoring,
  key: SessionKey & Partial<Pick<UndecidedSession, 'isLate'>>,
  mode: ScoringMode,
  settings: SessionSettings,
): Promise<TraceOutcome> {
  const outcomeKey = { tenant: key.tenant, traceId: '' };
  try {
    return await scoreReady(scoring, key, sessionMode(mode), settings);
  } catch (error) {
    return buildOutcome(outcomeKey, { error: traceError(error) });
  }
}

async function scoreReady(
  scoring: Scoring,
  key: SessionKey & Partial<Pick<UndecidedSession, 'isLate'>>,
  mode: ScoringMode,
  settings: SessionSettings,
): Promise<TraceOutcome> {
  const { tenant, sessionId, isLate } = key;
  const { stores } = scoring;
  const targetId = buildSessionTargetId(sessionId);
  const outcomeKey = { tenant, traceId: '' };
  const taken = scoring.claims.claim({ tenant, traceId: targetId });
  if (taken === null) {
    return buildOutcome(outcomeKey);
  }
  const claim = endWithPurge(taken, scoring.purged, key);
  const clock = await readStoreClock(stores.spans, scoring.monotonicMs);
  const [activity, rows] = await Promise.all([
    stores.sessions.activity({ tenant, sessionId }),
    stores.sessions.decisions(tenant, [targetId]),
  ]);
  const names = new Set(mode.rules.map((rule) => rule.name));
  const prior = rows.filter((row) => names.has(row.rule));
  if (activity === undefined) {
    return expire(scoring, outcomeKey, mode, buildExpired(prior, clock.nowMs()));
  }
  const waitUntilMs = mode.waits
    ? await readSessionWait(stores.sessions, activity, prior, clock.nowMs(), settings)
    : null;
  if (waitUntilMs !== null) {
    return buildOutcome(outcomeKey, { waitUntilMs });
  }
  const [chosen] = await selectSessions(scoring, [{ activity, claim, prior, clock, isLate }], mode);
  if (chosen === undefined || chosen.selected.rules.length + chosen.selected.declined.length === 0) {
    return buildOutcome(outcomeKey);
  }
  const { selected, listed } = chosen;
  const existing = await stores.sessions.scores({ tenant, sessionId });
  const content = selected.rules.length === 0 ? null : await readSession(scoring, key, listed);
  if (content === null && selected.rules.length > 0) {
    return expire(scoring, outcomeKey, mode, buildExpired(prior, clock.nowMs()));
  }
  return scoreTask(scoring, { ...selected, existing, facts: undefined, read: content }, mode);
}

function buildExpired(prior: readonly Decision[], nowMs: number): Decision[] {
  return prior.filter((row) => row.status === 'deferred').map((row) => buildExpiredRow(row, nowMs));
}

/** Ends the deferred decisions of a session whose turns are no longer stored. */
async function expire(
  { decisionWriter }: Scoring,
  key: TraceOutcome['key'],
  { write }: ScoringMode,
  rows: readonly Decision[],
): Promise<TraceOutcome> {
  if (write) {
    await decisionWriter.write(rows);
  }
  return buildOutcome(key, { decisions: rows });
}

/** Guards a claim on a session: it ends when turns of the session are purged, because they may have been read. */
function endWithPurge(claim: Claim, purged: PurgedTraces, key: SessionKey): Claim {
  const mark = purged.mark();
  return {
    ...claim,
    check: async () => {
      await claim.check();
      await purged.renew();
      if (purged.isTouched(key, mark)) {
        throw new AppError('turns of the session were purged while it was scored', {
          code: 'cancelled',
          stage: 'judge',
          retryable: true,
          details: { isPurged: true },
        });
      }
    },
  };
}
