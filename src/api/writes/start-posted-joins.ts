import type { Score } from '../../domain/score.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { joinSessionKey } from '../../store/contracts/sessions.ts';
import { joinPostedScore, joinPostedScores } from '../../scoring/record/posted-scores.ts';
import type { Store } from '../../store/contracts/store.ts';
import { listSessions, readPostedRuns } from './posted-runs.ts';
import { type DutyDeps, startRepeatedDuty, type StartedPart } from '../../process/parts.ts';

/** Time between two looks, milliseconds. */
const LOOK_EVERY_MS = 5_000;

/** Time that a look reads again, milliseconds: longer than the longest insert, whose rows become visible that long after their stamp. */
const OVERLAP_MS = 45_000;

/** Time for which a score waits for its run, milliseconds. A run that comes later adds its facts when its trace is read. */
const WAIT_MS = DAY_MS;

/** Most scores that wait. */
const MAX_WAITING = 10_000;

type JoinStores = Pick<Store, 'labels' | 'scores' | 'runs' | 'sessions' | 'spans'>;

/**
 * Starts to join posted scores with runs, in one of the scorer processes at a time. A post and the store of its run may overlap: the post
 * finds no run yet, and the scorer has read the scores of the trace before the post. Then neither of both joins them.
 */
export function startPostedJoins(store: JoinStores, deps: DutyDeps): StartedPart {
  const waiting = new Map<string, Score>();
  let readUntilMs: number | undefined;
  const work = async () => {
    const nowMs = await store.spans.nowMs();
    const writtenSinceMs = Math.min(readUntilMs ?? nowMs - WAIT_MS, nowMs) - OVERLAP_MS;
    for (const score of await store.labels.unjoined({ writtenSinceMs, limit: MAX_WAITING })) {
      waiting.set(score.scoreId, score);
    }
    forgetOldest(waiting, nowMs);
    if (waiting.size > 0) {
      await joinWaiting(store, waiting, writtenSinceMs);
    }
    readUntilMs = nowMs;
  };
  const onIdle = () => {
    waiting.clear();
    readUntilMs = undefined;
  };
  const failing = 'posted scores wait for the facts of their runs';
  return startRepeatedDuty({ duty: 'posted scores', everyMs: LOOK_EVERY_MS, failing, work, onIdle }, deps);
}

/** Joins the waiting scores whose runs are known by now, and takes them out. */
async function joinWaiting(store: JoinStores, waiting: Map<string, Score>, sinceMs: number): Promise<void> {
  const known = await readPostedRuns(store, await leaveOutIdle(store, [...waiting.values()], sinceMs));
  const found = [...waiting.values()].filter((score) => joinPostedScore(score, known) !== undefined);
  // Somebody may have replaced or deleted a score since it was read.
  const current = await store.scores.byIds(found.map(({ scoreId }) => scoreId));
  await store.scores.write(joinPostedScores([...current.values()], known));
  found.forEach(({ scoreId }) => waiting.delete(scoreId));
}

/** Leaves out the scores of sessions without a turn since a time: their turns were looked up before, and the look-up is costly. */
async function leaveOutIdle(
  { sessions }: Pick<Store, 'sessions'>,
  waiting: readonly Score[],
  sinceMs: number,
): Promise<Score[]> {
  const changed = await sessions.changed(listSessions(waiting), sinceMs);
  const names = new Set(changed.map(joinSessionKey));
  return waiting.filter((score) => score.traceId !== '' || names.has(joinSessionKey(score)));
}

function forgetOldest(waiting: Map<string, Score>, nowMs: number): void {
  const oldestFirst = [...waiting.values()].toSorted((a, b) => a.scoredAt - b.scoredAt);
  const tooMany = waiting.size - MAX_WAITING;
  for (const [index, { scoreId, scoredAt }] of oldestFirst.entries()) {
    if (index < tooMany || nowMs - scoredAt > WAIT_MS) {
      waiting.delete(scoreId);
    }
  }
}
