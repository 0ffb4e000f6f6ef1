import { SOLE_CLAIMS } from '../ownership/ownership.ts';
import { joinTraceKey, type TraceActivity } from '../store/contracts/stores.ts';
import { readLookups, addFacts, selectTrace, joinTimes, type Selected } from './select/select-traces.ts';
import { scoreTask, traceError } from './apply-rules.ts';
import type { ScoringMode } from './scoring-mode.ts';
import { computeWaitUntil } from './select/select-rules.ts';
import type { Scoring } from './scoring.ts';
import type { StoreClock } from './live/timers.ts';
import type { JoinedRun } from './read/sibling-traces.ts';
import { buildOutcome, type TraceCandidate, type TraceOutcome, type TraceTask } from './trace-task.ts';

/** A run of several traces, and those of its traces that are to be scored (the triggers). */
export interface JoinedTask {
  readonly run: JoinedRun;
  readonly triggers: readonly Selected[];
  readonly clock: StoreClock;
}

/**
 * Scores a run of several traces once, under the trace that owns it. Each other member gets a `part_of_run` decision, and its
 * earlier scores are withdrawn. After an interruption at least one trigger is undecided, so that the run is found again.
 * Returns one outcome for each trigger. The first outcome also has the rows of members that are not triggers.
 */
export async function scoreJoined(
  scoring: Scoring,
  task: JoinedTask,
  mode: ScoringMode,
): Promise<TraceOutcome[]> {
  try {
    return await scoreMembers(scoring, task, mode);
  } catch (error) {
    return buildTriggerOutcomes(task, { error: traceError(error) });
  }
}

async function scoreMembers(scoring: Scoring, task: JoinedTask, mode: ScoringMode): Promise<TraceOutcome[]> {
  const { run, clock } = task;
  const ownerId = run.data.traceId;
  const candidates = await readCandidates(scoring, task, mode);
  const owner = candidates.find(({ activity }) => activity.traceId === ownerId);
  const waitUntilMs = mode.waits && owner !== undefined ? computeWaitUntil(owner, scoring.readiness) : null;
  if (owner === undefined || waitUntilMs !== null) {
    return buildTriggerOutcomes(task, { waitUntilMs });
  }
  const findLookups = await readLookups(scoring, candidates, { clock, mode, owner });
  const decide = async (candidate: TraceCandidate, read: TraceTask['read']): Promise<TraceOutcome> => {
    const selected = selectTrace(candidate, findLookups(candidate), mode);
    if (selected.rules.length > 0 || mode.sessionRules.length > 0) {
      return scoreTask(scoring, { ...selected, read }, mode);
    }
    // A part is no run of its own.
    const [declined] = candidate === owner ? await addFacts(scoring.stores, [selected], mode) : [];
    return scoreTask(scoring, { ...(declined ?? { ...selected, facts: undefined }), read: null }, mode);
  };
  const done: TraceOutcome[] = [];
  for (const stage of planStages(candidates, owner, task)) {
    const read = (candidate: TraceCandidate) => (candidate === owner ? run.data : { partOf: ownerId });
    done.push(...(await Promise.all(stage.map((candidate) => decide(candidate, read(candidate))))));
    if (done.some(({ error, waiting }) => error !== null || waiting.length > 0)) {
      break;
    }
  }
  return selectOutcomes(task, done);
}

/** Orders the members: triggers last, because an undecided trigger brings the run back; the owner before its parts. */
function planStages(
  candidates: readonly TraceCandidate[],
  owner: TraceCandidate,
  { triggers }: JoinedTask,
): TraceCandidate[][] {
  const triggerKeys = new Set(triggers.map(({ key }) => joinTraceKey(key)));
  const isTrigger = ({ activity }: TraceCandidate) => triggerKeys.has(joinTraceKey(activity));
  const parts = candidates.filter((candidate) => candidate !== owner);
  const [others, ours] = [parts.filter((part) => !isTrigger(part)), parts.filter(isTrigger)];
  return isTrigger(owner) ? [others, [owner], ours] : [[owner], others, ours];
}

/** Reads the members. Each has the last arrival of the whole run, which is never before that of an earlier decision. */
async function readCandidates(
  { stores }: Scoring,
  { run, triggers, clock }: JoinedTask,
  mode: ScoringMode,
): Promise<TraceCandidate[]> {
  const names = new Set(mode.rules.map((rule) => rule.name));
  const decisions = await stores.decisions.ofTraces(run.members);
  const findPrior = (member: TraceActivity) =>
    (decisions.get(joinTraceKey(member)) ?? []).filter((row) => names.has(row.rule));
  const lastArrivalMs = Math.max(
    ...run.members.flatMap((member) => [
      member.lastArrivalMs,
      ...findPrior(member).map((row) => row.evidenceUntil),
    ]),
  );
  const times = joinTimes(run.members);
  const isOthers = triggers.some(({ key }) => key.traceId !== run.data.traceId);
  const isReread = triggers.some(({ reread }) => reread);
  // The process that owns a trigger scores the whole run.
  const claim = triggers[0]?.claim ?? SOLE_CLAIMS.claim({ tenant: '', traceId: run.data.traceId });
  return run.members.map((member) => {
    const isOwner = member.traceId === run.data.traceId;
    return {
      claim,
      activity: { ...member, ...times, lastArrivalMs, rootSeen: run.finished },
      prior: findPrior(member),
      reread: isOwner && (isOthers || isReread),
      readyAtMs: triggers[0]?.readyAtMs,
      reservation: triggers[0]?.reservation,
      nowMs: clock.nowMs(),
    };
  });
}

function buildTriggerOutcomes({ triggers }: JoinedTask, parts: Partial<TraceOutcome>): TraceOutcome[] {
  return triggers.map(({ key, activity }) => buildOutcome(key, { activity, ...parts }));
}

/** Returns the outcomes of the triggers. The first one gets the outcomes of the other members too. */
function selectOutcomes({ triggers }: JoinedTask, done: readonly TraceOutcome[]): TraceOutcome[] {
  const triggerKeys = new Set(triggers.map(({ key }) => joinTraceKey(key)));
  const others = done.filter(({ key }) => !triggerKeys.has(joinTraceKey(key)));
  const error = done.find((outcome) => outcome.error !== null)?.error ?? null;
  const waiting = done.find((outcome) => outcome.waiting.length > 0)?.waiting ?? [];
  return triggers.map(({ key, activity }, index) => {
    const own = done.filter((outcome) => joinTraceKey(outcome.key) === joinTraceKey(key));
    const included = index === 0 ? [...own, ...others] : own;
    return buildOutcome(key, {
      activity,
      decisions: included.flatMap((outcome) => outcome.decisions),
      scores: included.flatMap((outcome) => outcome.scores),
      tombstones: included.flatMap((outcome) => outcome.tombstones),
      waiting,
      error,
    });
  });
}
