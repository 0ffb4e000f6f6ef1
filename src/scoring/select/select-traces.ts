import { hashValue } from '../../domain/identity.ts';
import type { RunRecord } from '../../domain/run-record.ts';
import type { Score } from '../../domain/score.ts';
import type { AgentVersion } from '../../domain/deploy-marker.ts';
import { joinTraceKey, type TraceFacts } from '../../store/contracts/stores.ts';
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
import type { SelectedRule } from './selection.ts';
import type { StoreClock } from '../store-clock.ts';
import type { TraceTask } from '../trace-task.ts';
import type { SelectContext } from './select-context.ts';
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
  { stores }: SelectContext,
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
  { newVersions }: Pick<SelectContext, 'newVersions'>,
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
