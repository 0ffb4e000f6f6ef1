import { SOLE_CLAIMS } from '../ownership/ownership.ts';
import { joinTraceKey, type TraceActivity, type TraceFacts } from '../store/contracts/stores.ts';
import { addFacts, readKnownRuns } from './record/record-runs.ts';
import { scoreTask, traceError } from './apply-rules.ts';
import type { ScoringMode } from './scoring-mode.ts';
import { computeWaitUntil, type TraceCandidate, type VersionStates } from './select/select-rules.ts';
import type { Scoring } from './scoring.ts';
import type { StoreClock } from './live/timers.ts';
import {
  findVersionStates,
  readFacts,
  selectTrace,
  mergeFacts,
  mergeVersionStates,
  joinTimes,
  type Selected,
} from './select/select-traces.ts';
import type { JoinedRun } from './read/sibling-traces.ts';
import { buildOutcome, type TraceOutcome, type TraceTask } from './trace-task.ts';

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
  context: Scoring,
  task: JoinedTask,
  mode: ScoringMode,
): Promise<TraceOutcome[]> {
  try {
    return await scoreMembers(context, task, mode);
  } catch (error) {
    return buildTriggerOutcomes(task, { error: traceError(error) });
  }
}

async function scoreMembers(context: Scoring, task: JoinedTask, mode: ScoringMode): Promise<TraceOutcome[]> {
  const { run, clock } = task;
  const ownerId = run.data.traceId;
  const candidates = await readCandidates(context, task, mode);
  const owner = candidates.find(({ activity }) => activity.traceId === ownerId);
  const waitUntilMs = mode.waits && owner !== undefined ? computeWaitUntil(owner, context.readiness) : null;
  if (owner === undefined || waitUntilMs !== null) {
    return buildTriggerOutcomes(task, { waitUntilMs });
  }
  const facts = mergeFacts((await readFacts(context, candidates, mode)).values());
  const versions = await findVersionsOfRun(context, candidates, owner, { facts, mode });
  const existingReadMs = context.monotonicMs();
  const existing = await context.stores.scores.ofTraces(run.members);
  const knownRuns = await readKnownRuns(context.stores, candidates, mode);
  const decide = async (candidate: TraceCandidate, read: TraceTask['read']): Promise<TraceOutcome> => {
    const key = joinTraceKey(candidate.activity);
    const lookups = {
      facts,
      versions,
      existing: existing.get(key) ?? [],
      existingReadMs,
      knownRuns: knownRuns.get(key) ?? [],
      clock,
    };
    const selected = selectTrace(candidate, lookups, mode);
    if (selected.rules.length > 0 || mode.sessionRules.length > 0) {
      return scoreTask(context, { ...selected, read }, mode);
    }
    // A part is no run of its own.
    const [declined] = candidate === owner ? await addFacts(context.stores, [selected], mode) : [];
    return scoreTask(context, { ...(declined ?? { ...selected, facts: undefined }), read: null }, mode);
  };
  const done: TraceOutcome[] = [];
  for (const stage of planStages(candidates, owner, task)) {
    const read = (candidate: TraceCandidate) => (candidate === owner ? run.data : { partOf: ownerId });
    done.push(...(await Promise.all(stage.map((candidate) => decide(candidate, read(candidate))))));
    if (done.some(({ error, left }) => error !== null || left.length > 0)) {
      break;
    }
  }
  return selectOutcomes(task, done);
}

/** Finds the place of a run among the first ones of its versions: that of its owner, or one that a piece took before it was joined. */
async function findVersionsOfRun(
  context: Scoring,
  candidates: readonly TraceCandidate[],
  owner: TraceCandidate,
  { facts, mode }: { readonly facts: TraceFacts | undefined; readonly mode: ScoringMode },
): Promise<VersionStates> {
  const names = facts === undefined ? [] : candidates.map(({ activity }) => joinTraceKey(activity));
  const factsByKey = new Map(names.flatMap((name) => (facts === undefined ? [] : [[name, facts] as const])));
  const states = await findVersionStates(context, candidates, factsByKey, mode);
  return mergeVersionStates(states.get(joinTraceKey(owner.activity)), [...states.values()]);
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
      room: triggers[0]?.room,
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
  const left = done.find((outcome) => outcome.left.length > 0)?.left ?? [];
  return triggers.map(({ key, activity }, index) => {
    const own = done.filter((outcome) => joinTraceKey(outcome.key) === joinTraceKey(key));
    const included = index === 0 ? [...own, ...others] : own;
    return buildOutcome(key, {
      activity,
      decisions: included.flatMap((outcome) => outcome.decisions),
      scores: included.flatMap((outcome) => outcome.scores),
      tombstones: included.flatMap((outcome) => outcome.tombstones),
      left,
      error,
    });
  });
}
