import type { Score } from '../../domain/score.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { joinPostedScore, joinPostedScores } from '../../scoring/record/posted-scores.ts';
import type { Store } from '../../store/contracts/store.ts';
import { type DutyDeps, startRepeatedDuty } from '../repeat-duty.ts';
import type { StartedPart } from '../stop-parts.ts';

/** Time between two looks, milliseconds. */
const LOOK_EVERY_MS = 5_000;

/** Time that a look reads again, milliseconds: longer than the longest insert, whose rows become visible that long after their stamp. */
const OVERLAP_MS = 45_000;

/** Time for which a score waits for its run, milliseconds. A run that comes later adds its facts when its trace is read. */
const WAIT_MS = DAY_MS;

/** Most scores that wait. */
const MAX_WAITING = 10_000;

/**
 * Starts to join posted scores with runs, in one of the scorer processes at a time. A post and the store of its run may overlap: the post
 * finds no run yet, and the scorer has read the scores of the trace before the post. Then neither of both joins them.
 */
export function startPostedJoins(
  { labels, scores, runs, spans }: Pick<Store, 'labels' | 'scores' | 'runs' | 'spans'>,
  deps: DutyDeps,
): StartedPart {
  const waiting = new Map<string, Score>();
  let readUntilMs: number | undefined;
  const work = async () => {
    const nowMs = await spans.nowMs();
    const writtenSinceMs = Math.min(readUntilMs ?? nowMs - WAIT_MS, nowMs) - OVERLAP_MS;
    for (const score of await labels.unjoined({ writtenSinceMs, limit: MAX_WAITING })) {
      waiting.set(score.scoreId, score);
    }
    readUntilMs = nowMs;
    forgetOldest(waiting, nowMs);
    if (waiting.size === 0) {
      return;
    }
    const known = [...(await runs.ofTraces([...waiting.values()])).values()].flat();
    const found = [...waiting.values()].filter((score) => joinPostedScore(score, known) !== undefined);
    // Somebody may have replaced or deleted a score since it was read.
    const current = await scores.byIds(found.map(({ scoreId }) => scoreId));
    await scores.write(joinPostedScores([...current.values()], known));
    found.forEach(({ scoreId }) => waiting.delete(scoreId));
  };
  const onIdle = () => {
    waiting.clear();
    readUntilMs = undefined;
  };
  const failing = 'posted scores wait for the facts of their runs';
  return startRepeatedDuty({ duty: 'posted scores', everyMs: LOOK_EVERY_MS, failing, work, onIdle }, deps);
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
