import { joinTraceKey, type TraceActivity, type TraceFacts } from '../store/contracts/stores.ts';
import { scoreTask, toAppError, type TraceContext } from './apply-rules.ts';
import type { ScoringMode } from './scoring-mode.ts';
import { waitUntil, type TraceCandidate } from './select/select-rules.ts';
import type { SelectContext } from './select/select-context.ts';
import { readFacts, selectTrace, type Selected } from './select/select-traces.ts';
import type { JoinedRun } from './read/sibling-traces.ts';
import type { StoreClock } from './store-clock.ts';
import { emptyOutcome, type TraceOutcome, type TraceTask } from './trace-task.ts';

/** A run of several traces, and those of them that were to be scored. */
export interface JoinedTask {
  readonly run: JoinedRun;
  readonly triggers: readonly Selected[];
  readonly clock: StoreClock;
}

type JoinedContext = SelectContext & TraceContext;

/**
 * Scores a run that came as several traces as one, under the trace that owns it; each other member is decided as a part of it,
 * and what it had as a run of its own is withdrawn. Whatever breaks off, an undecided trigger is left that brings the run here
 * again. One outcome for each trigger; the first one's holds the owner's rows where the owner
 * is none of them.
 */
export async function scoreJoined(
  context: JoinedContext,
  task: JoinedTask,
  mode: ScoringMode,
): Promise<TraceOutcome[]> {
  try {
    return await scoreMembers(context, task, mode);
  } catch (error) {
    return buildTriggerOutcomes(task, { error: toAppError(error) });
  }
}

async function scoreMembers(
  context: JoinedContext,
  task: JoinedTask,
  mode: ScoringMode,
): Promise<TraceOutcome[]> {
  const { run, triggers, clock } = task;
  const ownerId = run.data.traceId;
  const candidates = await readCandidates(context, task, mode);
  const owner = candidates.find(({ activity }) => activity.traceId === ownerId);
  const waitUntilMs = mode.waits && owner !== undefined ? waitUntil(owner, context.readiness) : null;
  if (owner === undefined || waitUntilMs !== null) {
    return buildTriggerOutcomes(task, { waitUntilMs });
  }
  const facts = mergeFacts(await readFacts(context, candidates, mode));
  const existing = await context.stores.scores.ofTraces(run.members);
  const decide = (candidate: TraceCandidate, read: TraceTask['read']): Promise<TraceOutcome> => {
    const lookups = { facts, existing: existing.get(joinTraceKey(candidate.activity)) ?? [], clock };
    const selected = selectTrace(candidate, lookups, mode);
    const lease = triggers[0]?.lease ?? selected.key;
    return scoreTask(context, { ...selected, lease, read: selected.rules.length > 0 ? read : null }, mode);
  };
  const done: TraceOutcome[] = [];
  for (const stage of planStages(candidates, owner, task)) {
    const read = (candidate: TraceCandidate) => (candidate === owner ? run.data : { partOf: ownerId });
    done.push(...(await Promise.all(stage.map((candidate) => decide(candidate, read(candidate))))));
    if (done.some((outcome) => outcome.error !== null)) {
      break;
    }
  }
  return selectOutcomes(task, done);
}

/** The triggers last: as long as one of them is undecided, the run is found again. The owner before its parts. */
function planStages(
  candidates: readonly TraceCandidate[],
  owner: TraceCandidate,
  { triggers }: JoinedTask,
): TraceCandidate[][] {
  const asked = new Set(triggers.map(({ key }) => joinTraceKey(key)));
  const isTrigger = ({ activity }: TraceCandidate) => asked.has(joinTraceKey(activity));
  const parts = candidates.filter((candidate) => candidate !== owner);
  const [others, ours] = [parts.filter((part) => !isTrigger(part)), parts.filter(isTrigger)];
  return isTrigger(owner) ? [others, [owner], ours] : [[owner], others, ours];
}

/** The members, each as new as the whole run is; never older than what was decided of it before. */
async function readCandidates(
  { stores }: SelectContext,
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
  const isOthers = triggers.some(({ key }) => key.traceId !== run.data.traceId);
  const isReread = triggers.some(({ reread }) => reread);
  return run.members.map((member) => {
    const isOwner = member.traceId === run.data.traceId;
    return {
      activity: { ...member, lastArrivalMs, rootSeen: run.finished },
      prior: findPrior(member),
      reread: isOwner && (isOthers || isReread),
      nowMs: clock.nowMs(),
    };
  });
}

/** Merges the facts of the parts: a fact of a part is a fact of the run. */
function mergeFacts(facts: ReadonlyMap<string, TraceFacts>): TraceFacts | undefined {
  const [first, ...others] = facts.values();
  return first && others.reduce(mergeTwo, first);
}

function mergeTwo(a: TraceFacts, b: TraceFacts): TraceFacts {
  const attributes = new Map(a.attributes);
  for (const [key, values] of b.attributes) {
    attributes.set(key, union(attributes.get(key) ?? [], values));
  }
  return {
    ...a,
    services: union(a.services, b.services),
    environments: union(a.environments, b.environments),
    agents: union(a.agents, b.agents),
    hasError: a.hasError || b.hasError,
    hasToolError: a.hasToolError || b.hasToolError,
    hasNegativeFeedback: a.hasNegativeFeedback || b.hasNegativeFeedback,
    attributes,
  };
}

function union(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])];
}

function buildTriggerOutcomes({ triggers }: JoinedTask, parts: Partial<TraceOutcome>): TraceOutcome[] {
  return triggers.map(({ key, activity }) => emptyOutcome(key, { activity, ...parts }));
}

/** Adds the outcomes of traces that were not asked for to the first that was. */
function selectOutcomes({ triggers }: JoinedTask, done: readonly TraceOutcome[]): TraceOutcome[] {
  const asked = new Set(triggers.map(({ key }) => joinTraceKey(key)));
  const others = done.filter(({ key }) => !asked.has(joinTraceKey(key)));
  const error = done.find((outcome) => outcome.error !== null)?.error ?? null;
  return triggers.map(({ key, activity }, index) => {
    const own = done.filter((outcome) => joinTraceKey(outcome.key) === joinTraceKey(key));
    const told = index === 0 ? [...own, ...others] : own;
    return emptyOutcome(key, {
      activity,
      decisions: told.flatMap((outcome) => outcome.decisions),
      scores: told.flatMap((outcome) => outcome.scores),
      tombstones: told.flatMap((outcome) => outcome.tombstones),
      error,
    });
  });
}
