import { MEASURES, nameMeasure } from '../../domain/behaviour/measures.ts';
import type { Item } from '../api-types.ts';
import { formatScore } from './format.ts';
import type { Query } from './paths/fill-path.ts';

export type TraceRow = Item<'/traces'>;

/** Filters of the list of traces that its address may name, with their names for people. */
export const TRACE_FILTERS: Readonly<Record<string, string>> = {
  q: 'Text',
  agent: 'Agent',
  agentVersion: 'Version',
  environment: 'Environment',
  scorer: 'Quality',
  tool: 'Tool',
  toolError: 'Tool error',
  reason: 'Not scored',
  status: 'Decision',
  rule: 'Rule',
  service: 'Service',
  serviceVersion: 'Service version',
  model: 'Model',
  userId: 'User',
  sessionId: 'Session',
  source: 'Source of the score',
  min: 'Least score',
  max: 'Greatest score',
  traceId: 'Trace',
  order: 'Order',
};

/** Groups of checkboxes beside the list: their names, parameters of the address and facets of the API. */
export const FACET_GROUPS = [
  { name: 'Agent', parameter: 'agent', facet: 'agent' },
  { name: 'Version', parameter: 'agentVersion', facet: 'agentVersion' },
  { name: 'Environment', parameter: 'environment', facet: 'environment' },
  { name: 'Quality', parameter: 'scorer', facet: 'scorer' },
  { name: 'Tool', parameter: 'tool', facet: 'tool' },
  { name: 'Not scored', parameter: 'reason', facet: 'notScored' },
] as const;

/** Orders the values of a facet: qualities stand before measures, which every run has. */
export function orderFacet<T extends { readonly value: string }>(facet: string, counts: readonly T[]): T[] {
  return facet === 'scorer'
    ? counts.toSorted(
        (a, b) => Number(isMeasure({ scorer: a.value })) - Number(isMeasure({ scorer: b.value })),
      )
    : [...counts];
}

/** Saved views: the filters of each. */
export const VIEWS: readonly { readonly name: string; readonly query: Query }[] = [
  { name: 'Failed tools', query: { toolError: 'true' } },
  { name: 'Worst today', query: { order: 'worst', since: '24h' } },
  { name: 'Not scored', query: { status: ['not_applicable', 'deferred', 'failed'] } },
];

/** Filter in force: a value of a parameter. */
export interface ActiveFilter {
  readonly parameter: string;
  readonly value: string;
  /** `Agent: support-agent`. */
  readonly text: string;
}

/** Lists the filters of an address. */
export function listActiveFilters(search: URLSearchParams): ActiveFilter[] {
  return Object.entries(TRACE_FILTERS).flatMap(([parameter, name]) =>
    search
      .getAll(parameter)
      .filter((value) => value !== '')
      .map((value) => ({ parameter, value, text: `${name}: ${value.replaceAll('_', ' ')}` })),
  );
}

/** Reads the filters of the list from its address, as the API takes them. */
export function readTraceFilters(search: URLSearchParams): Record<string, readonly string[]> {
  const filters: Record<string, string[]> = {};
  for (const { parameter, value } of listActiveFilters(search)) {
    filters[parameter] = [...(filters[parameter] ?? []), value];
  }
  return filters;
}

/** Adds a value to a repeated parameter, or takes it away. */
export function toggleValue(
  search: URLSearchParams,
  { parameter, value }: Pick<ActiveFilter, 'parameter' | 'value'>,
): Query {
  const values = search.getAll(parameter);
  return {
    [parameter]: values.includes(value) ? values.filter((each) => each !== value) : [...values, value],
    cursor: undefined,
  };
}

/** Score of a row in a few letters. */
export interface ScoreChip {
  readonly key: string;
  readonly scorer: string;
  readonly text: string;
  /** Undefined for a measure: only its scorer's past says what is good. */
  readonly isBad: boolean | undefined;
}

const MEASURED: ReadonlySet<string> = new Set(MEASURES.map(nameMeasure));

/** True for a measure of behaviour, which has no pass line. */
export function isMeasure({ scorer }: { readonly scorer: string }): boolean {
  return MEASURED.has(scorer);
}

/** Lists the scores of a row as chips, the bad ones first. */
export function listChips({ scores, finding }: TraceRow): ScoreChip[] {
  return scores
    .map(({ scoreId, scorer, score, passes }) => ({
      key: scoreId,
      scorer,
      text: formatScore(score),
      isBad: passes === null || MEASURED.has(scorer) ? undefined : finding?.scorer === scorer || !passes,
    }))
    .toSorted((a, b) => rank(a) - rank(b) || a.scorer.localeCompare(b.scorer));
}

function rank({ isBad }: ScoreChip): number {
  return isBad === undefined ? 2 : isBad ? 0 : 1;
}

/** Writes a code of a reason for people: `no_content: the spans have none` becomes `no content`. */
export function describeReason(reason: string): string {
  return (reason.split(':')[0] ?? '').replaceAll('_', ' ');
}

/** Writes why scorers gave no score: `no content (hallucination, tone)`. */
export function describeNotScored({ notScored }: Pick<TraceRow, 'notScored'>): string {
  return [...Map.groupBy(notScored, ({ reason }) => describeReason(reason))]
    .map(([words, rows]) => {
      const scorers = rows.map(({ scorer }) => (scorer === '*' ? 'all scorers of a rule' : scorer));
      return `${words === '' ? 'not scored' : words} (${scorers.join(', ')})`;
    })
    .join('; ');
}

/** States of a trace with a sign and words: colour is never the only sign. */
export const STATES = {
  waiting: { sign: '…', words: 'waiting' },
  scored: { sign: '✓', words: 'scored' },
  partly: { sign: '◐', words: 'partly scored' },
  not_scored: { sign: '–', words: 'not scored' },
} as const satisfies Record<TraceRow['state'], { sign: string; words: string }>;
