import { hashValue } from '../../domain/identity.ts';
import type { RunRecord } from '../../domain/run-record.ts';
import type { Score } from '../../domain/score.ts';
import type { AgentVersion } from '../../domain/deploy-marker.ts';
import { joinTraceKey, type TraceFacts, type TraceActivity } from '../../store/contracts/stores.ts';
import type { ScoringMode } from '../scoring-mode.ts';
import { countFirstTraces } from './sample-trace.ts';
import {
  needsFacts,
  needsFeedback,
  listOpenRules,
  selectRule,
  type KnownFacts,
  type TraceCandidate,
  type VersionStates,
} from './select-rules.ts';
import type { VersionAsk, VersionState } from './new-versions.ts';
import type { SelectedRule, TraceTask } from '../trace-task.ts';
import type { StoreClock } from '../live/timers.ts';
import type { Scoring } from '../scoring.ts';
import { listAttributeKeys } from './where.ts';

/** A trace whose rules have been selected and whose content is not read yet. */
export type Selected = Omit<TraceTask, 'read'>;

/** Facts about a trace from the store before its content is read. */
export interface TraceLookups extends KnownFacts {
  readonly existing: readonly Score[];
  readonly knownRuns: readonly RunRecord[];
  /** Time at which `existing` was read, milliseconds of the monotonic clock. */
  readonly existingReadMs: number;
  readonly clock: StoreClock;
}

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
  const asks = candidates.flatMap((candidate) => {
    const key = joinTraceKey(candidate.activity);
    const versions = facts.get(key)?.versions ?? [];
    return versions.length === 0
      ? []
      : listVersionAsks(candidate, versions, mode).map((ask) => ({ key, ask }));
  });
  const states = asks.length === 0 ? [] : await newVersions.find(asks.map(({ ask }) => ask));
  const found = new Map<string, Map<string, { ask: VersionAsk; state: VersionState }>>();
  asks.forEach(({ key, ask }, index) => {
    const byRule = found.get(key) ?? new Map<string, { ask: VersionAsk; state: VersionState }>();
    byRule.set(ask.rule, { ask, state: states[index] ?? 'late' });
    found.set(key, byRule);
  });
  return found;
}

function listVersionAsks(
  candidate: TraceCandidate,
  versions: readonly AgentVersion[],
  mode: ScoringMode,
): VersionAsk[] {
  const { activity, session } = candidate;
  return listOpenRules(candidate, mode).open.flatMap(({ rule, inForce }) => {
    const slots = inForce === undefined ? 0 : countFirstTraces(inForce);
    const ask = {
      tenant: activity.tenant,
      rule: rule.name,
      target: hashValue(session?.targetId ?? activity.traceId),
      versions: versions.slice(0, MOST_VERSIONS),
      slots,
      sinceMs: inForce?.fromMs ?? 0,
    };
    return slots === 0 ? [] : [ask];
  });
}

/** Decides for each rule whether it scores a trace. */
export function selectTrace(
  candidate: TraceCandidate,
  { facts, versions, existing, existingReadMs, knownRuns, clock }: TraceLookups,
  mode: ScoringMode,
): Selected {
  const { activity } = candidate;
  const { open, settled } = listOpenRules(candidate, mode);
  const selections = open.map((each) => selectRule(each, candidate, { facts, versions }, mode));
  const key = { tenant: activity.tenant, traceId: activity.traceId };
  return {
    key,
    claim: candidate.claim,
    activity,
    rules: selections.flatMap((each): SelectedRule[] => (each.outcome === 'selected' ? [each.selected] : [])),
    declined: selections.filter((each) => each.outcome === 'declined'),
    settled,
    facts,
    knownRuns,
    existing,
    existingReadMs,
    reread: candidate.reread,
    readyAtMs: candidate.readyAtMs,
    room: candidate.room,
    clock,
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
    [...(own ?? [])].map(([rule, { ask, state }]) => {
      const isFirst = all.some((states) => states.get(rule)?.state === 'first');
      return [rule, { ask, state: isFirst ? 'first' : state }] as const;
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
