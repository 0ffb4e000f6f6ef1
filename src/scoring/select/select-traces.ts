import { joinTraceKey, type TraceActivity, type TraceFacts } from '../../store/contracts/stores.ts';
import type { StoreClock } from '../live/timers.ts';
import type { Scoring, ScoringStores } from '../scoring.ts';
import type { ScoringMode } from '../scoring-mode.ts';
import { needsFacts, needsFeedback, listOpenRules, selectRule } from './select-rules.ts';
import type { RunRecord } from '../../domain/run-record.ts';
import { hashValue } from '../../domain/identity.ts';
import type { AgentVersion } from '../../domain/deploy-marker.ts';
import { countFirstTraces } from './sample-trace.ts';
import type { VersionRequest, VersionState } from './new-versions.ts';
import type { SelectedRule, TraceCandidate, TraceLookups, TraceTask, VersionStates } from '../trace-task.ts';
import { listAttributeKeys } from './where.ts';

/** A trace whose rules have been selected and whose content is not read yet. */
export type Selected = Omit<TraceTask, 'read'>;

/** Reads the facts of the candidates whose open rules need them. */
export async function readFacts(
  { stores }: Scoring,
  candidates: readonly TraceCandidate[],
  mode: ScoringMode,
): Promise<Map<string, TraceFacts>> {
  if (!mode.selects) {
    return new Map();
  }
  const open = candidates.map((candidate) => ({
    candidate,
    rules: listOpenRules(candidate, mode).open,
  }));
  const needing = open.filter(({ rules }) => needsFacts(rules));
  if (needing.length === 0) {
    return new Map();
  }
  const attributeKeys = new Set(mode.rules.flatMap((rule) => listAttributeKeys(rule.where)));
  return stores.spans.facts(
    needing.map(({ candidate }) => candidate.activity),
    [...attributeKeys],
    { feedback: needing.some(({ rules }) => needsFeedback(rules)) },
  );
}

/** Most versions of one trace that count. */
const MOST_VERSIONS = 20;

/**
 * Finds the places of candidates among the first traces of their versions. Both maps are keyed by `joinTraceKey` of the activity. Only
 * live scoring looks at versions: it alone sees traces in the order in which they come.
 */
export async function findVersionStates(
  { newVersions }: Scoring,
  candidates: readonly TraceCandidate[],
  facts: ReadonlyMap<string, TraceFacts>,
  mode: ScoringMode,
): Promise<Map<string, VersionStates>> {
  const requests = candidates.flatMap((candidate) => {
    const key = joinTraceKey(candidate.activity);
    const versions = facts.get(key)?.versions ?? [];
    return versions.length === 0
      ? []
      : listVersionRequests(candidate, versions, mode).map((request) => ({ key, request }));
  });
  const states = requests.length === 0 ? [] : await newVersions.find(requests.map(({ request }) => request));
  const found = new Map<string, Map<string, { request: VersionRequest; state: VersionState }>>();
  requests.forEach(({ key, request }, index) => {
    const byRule = found.get(key) ?? new Map<string, { request: VersionRequest; state: VersionState }>();
    byRule.set(request.rule, { request, state: states[index] ?? 'late' });
    found.set(key, byRule);
  });
  return found;
}

function listVersionRequests(
  candidate: TraceCandidate,
  versions: readonly AgentVersion[],
  mode: ScoringMode,
): VersionRequest[] {
  const { activity, session } = candidate;
  return listOpenRules(candidate, mode).open.flatMap(({ rule, inForce }) => {
    const slots = inForce === undefined ? 0 : countFirstTraces(inForce);
    const request = {
      tenant: activity.tenant,
      rule: rule.name,
      target: hashValue(session?.targetId ?? activity.traceId),
      versions: versions.slice(0, MOST_VERSIONS),
      slots,
      sinceMs: inForce?.fromMs ?? 0,
    };
    return slots === 0 ? [] : [request];
  });
}

/** Decides for each rule whether it scores a trace. */
export function selectTrace(candidate: TraceCandidate, lookups: TraceLookups, mode: ScoringMode): Selected {
  const { tenant, traceId } = candidate.activity;
  const { open, settled } = listOpenRules(candidate, mode);
  const selections = open.map((each) => selectRule(each, candidate, lookups, mode));
  return {
    ...candidate,
    ...lookups,
    key: { tenant, traceId },
    rules: selections.flatMap((each): SelectedRule[] => (each.outcome === 'selected' ? [each.selected] : [])),
    declined: selections.filter((each) => each.outcome === 'declined'),
    settled,
  };
}

/** Merges the facts of several traces: a fact of one is a fact of all. Returns undefined without any. */
export function mergeFacts(facts: Iterable<TraceFacts>): TraceFacts | undefined {
  const [first, ...others] = facts;
  return first && others.reduce(mergeTwo, first);
}

/** Returns the places of one trace of several, `first` for a rule when any of the traces is. */
export function mergeVersionStates(
  own: VersionStates | undefined,
  all: readonly VersionStates[],
): VersionStates {
  return new Map(
    [...(own ?? [])].map(([rule, { request, state }]) => {
      const isFirst = all.some((states) => states.get(rule)?.state === 'first');
      return [rule, { request, state: isFirst ? 'first' : state }] as const;
    }),
  );
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
    sessions: union(a.sessions, b.sessions),
    users: union(a.users, b.users),
    models: union(a.models, b.models),
    modelNames: union(a.modelNames, b.modelNames),
    serviceVersions: union(a.serviceVersions, b.serviceVersions),
    versions: [...a.versions, ...b.versions],
    hasError: a.hasError || b.hasError,
    hasToolError: a.hasToolError || b.hasToolError,
    hasNegativeFeedback: a.hasNegativeFeedback || b.hasNegativeFeedback,
    attributes,
  };
}

function union(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])];
}

type Times = Pick<TraceActivity, 'firstStartUnixNano' | 'lastEndUnixNano'>;

/** Returns the first start and the last end of several traces; 0 without any. */
export function joinTimes(traces: readonly Times[]): Times {
  const [first, ...others] = traces;
  return others.reduce<Times>(
    (joined, { firstStartUnixNano, lastEndUnixNano }) => ({
      firstStartUnixNano: least(joined.firstStartUnixNano, firstStartUnixNano),
      lastEndUnixNano: -least(-joined.lastEndUnixNano, -lastEndUnixNano),
    }),
    { firstStartUnixNano: first?.firstStartUnixNano ?? 0n, lastEndUnixNano: first?.lastEndUnixNano ?? 0n },
  );
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

type RunStores = Pick<ScoringStores, 'spans' | 'runs'>;

/** Reads the records of the traces that may have some. A fresh trace has none. */
export async function readKnownRuns(
  { runs }: RunStores,
  candidates: readonly TraceCandidate[],
  mode: ScoringMode,
): Promise<Map<string, RunRecord[]>> {
  const known = candidates.filter(
    ({ prior, reread }) =>
      prior.length > 0 || reread || mode.history === null || mode.sessionRules.length > 0,
  );
  return known.length === 0 || !mode.write ? new Map() : runs.ofTraces(known.map(({ activity }) => activity));
}

/** Finds the traces whose newest evidence no process has read, when a rule on sessions covers them. Returns their names. */
export async function findUnread(
  { runs }: RunStores,
  candidates: readonly TraceCandidate[],
  { sessionRules, history }: ScoringMode,
): Promise<ReadonlySet<string>> {
  const covered = candidates.filter(({ activity, claim }) =>
    sessionRules.some(
      (rule) =>
        history?.inForce(rule, activity.firstArrivalMs) !== null &&
        rule.scorers.some(({ name }) => claim.owns(rule.name, name)),
    ),
  );
  const readUntil =
    covered.length === 0 ? new Map() : await runs.readUntil(covered.map(({ activity }) => activity));
  return new Set(
    covered.flatMap(({ activity, reread }) => {
      const name = joinTraceKey(activity);
      return reread || (readUntil.get(name) ?? -1) < activity.lastArrivalMs ? [name] : [];
    }),
  );
}

/** Adds facts to the traces that no rule reads, in one query for all: their records stand on facts alone. */
export async function addFacts(
  { spans }: RunStores,
  declined: readonly Selected[],
  mode: ScoringMode,
): Promise<Selected[]> {
  const lacking = declined.filter(({ facts }) => facts === undefined);
  if (lacking.length === 0 || !mode.write) {
    return [...declined];
  }
  const found = await spans.facts(
    lacking.map(({ key }) => key),
    [],
    { feedback: false },
  );
  return declined.map((each) => ({ ...each, facts: each.facts ?? found.get(joinTraceKey(each.key)) }));
}

/**
 * Reads the facts, the versions, the scores and the runs of candidates. Returns the function that finds those of one candidate.
 * @param owner owner of the run whose traces the candidates are. A fact of one is then a fact of all, and so is the place among the
 * first of a version: that of the owner, or one that a piece took before it was joined
 */
export async function readLookups(
  scoring: Scoring,
  candidates: readonly TraceCandidate[],
  { clock, mode, owner }: { clock: StoreClock; mode: ScoringMode; owner?: TraceCandidate },
): Promise<(candidate: TraceCandidate) => TraceLookups> {
  const read = await readFacts(scoring, candidates, mode);
  const joined = owner && mergeFacts(read.values());
  const facts =
    joined === undefined
      ? read
      : new Map(candidates.map(({ activity }) => [joinTraceKey(activity), joined] as const));
  const states = await findVersionStates(scoring, candidates, facts, mode);
  const ofRun = owner && mergeVersionStates(states.get(joinTraceKey(owner.activity)), [...states.values()]);
  const existingReadMs = scoring.monotonicMs();
  const existing = await scoring.stores.scores.ofTraces(candidates.map((each) => each.activity));
  const knownRuns = await readKnownRuns(scoring.stores, candidates, mode);
  return ({ activity }) => {
    const key = joinTraceKey(activity);
    return {
      facts: facts.get(key),
      versions: ofRun ?? states.get(key),
      existing: existing.get(key) ?? [],
      existingReadMs,
      knownRuns: knownRuns.get(key) ?? [],
      clock,
    };
  };
}
