import type { Decision } from '../../domain/decision.ts';
import { RETURN_MS, type Ownership } from '../../ownership/ownership.ts';
import type { DecisionStore, TraceKey } from '../../store/contracts/stores.ts';
import type { GroupCommit } from '../record/group-commit.ts';
import { buildRemovedRow } from '../record/decision-rows.ts';

/** Interval of the reads of due attempts, milliseconds. */
export const DUE_EVERY_MS = 5 * 60_000;

/** Time of attempts that one read looks ahead, milliseconds: longer than the interval of the reads. */
const LOOK_AHEAD_MS = DUE_EVERY_MS + 60_000;

/** Most decisions of one read. */
const DUE_LIMIT = 10_000;

export interface DueAttempts {
  /** Attempts of this process, by the store's clock. */
  readonly attempts: readonly { readonly key: TraceKey; readonly atMs: number }[];
  /** Time until the next read, milliseconds. */
  readonly nextReadMs: number;
}

/**
 * Reads the deferred decisions by the time of their next attempt alone, whatever the age of their traces, ahead of that time.
 * Ends those whose rule or scorer no process has any more. Throws when the store does.
 */
export async function readDueAttempts(
  decisions: Pick<DecisionStore, 'due'>,
  writer: GroupCommit<Decision>,
  { ownership, nowMs }: { readonly ownership: Ownership; readonly nowMs: number },
): Promise<DueAttempts> {
  const untilMs = nowMs + LOOK_AHEAD_MS;
  const rows = await decisions.due({ untilMs, shards: ownership.shards(), limit: DUE_LIMIT });
  const known = rows.filter((row) => ownership.isKnown(row.rule, row.scorer));
  const unknown = rows.filter((row) => !ownership.isKnown(row.rule, row.scorer));
  // Two processes that read the same row write the same row.
  const removed = unknown.filter((row) => (row.nextAttemptAt ?? 0) <= nowMs);
  await writer.write(removed.map((row) => buildRemovedRow(row, nowMs)));
  const attempts = known.flatMap((row) =>
    ownership.claim(row)?.owns(row.rule, row.scorer) === true
      ? [{ key: { tenant: row.tenant, traceId: row.traceId }, atMs: row.nextAttemptAt ?? 0 }]
      : [],
  );
  const isFull = rows.length >= DUE_LIMIT && attempts.length + removed.length > 0;
  // The process that has the scorer may have ended: then the row is unknown soon.
  const isLeft = rows.length > attempts.length + removed.length;
  return { attempts, nextReadMs: isFull || isLeft ? RETURN_MS : DUE_EVERY_MS };
}
