import type { Decision } from '../../domain/decision.ts';
import type { Ownership } from '../../ownership/ownership.ts';
import type { SessionKey } from '../../store/contracts/sessions.ts';
import type { GroupCommit } from '../record/group-commit.ts';
import { buildRemovedRow } from '../record/decision-rows.ts';
import type { ScoringStores } from '../scoring-stores.ts';
import { findSessionKeys } from './session-keys.ts';

/** Most decisions of one read. */
const DUE_LIMIT = 1_000;

/**
 * Finds the sessions of which a deferred decision is to be tried again now, without those that a budget holds back. Ends the decisions
 * whose rule or scorer no process has any more. Throws when the store does.
 */
export async function findDueSessions(
  { decisions, sessions }: Pick<ScoringStores, 'decisions' | 'sessions'>,
  writer: GroupCommit<Decision>,
  { ownership, nowMs }: { readonly ownership: Ownership; readonly nowMs: number },
): Promise<SessionKey[]> {
  const rows = await decisions.due({
    untilMs: nowMs,
    shards: ownership.shards(),
    limit: DUE_LIMIT,
    ofSessions: true,
  });
  const removed = rows.filter((row) => !ownership.isKnown(row.rule, row.scorer));
  await writer.write(removed.map((row) => buildRemovedRow(row, nowMs)));
  const ours = rows.filter(({ tenant, targetId, rule, scorer }) =>
    ownership.claim({ tenant, traceId: targetId })?.owns(rule, scorer),
  );
  return [...(await findSessionKeys(sessions, ours)).values()];
}
