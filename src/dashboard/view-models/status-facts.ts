import type { Replies } from '../api-types.ts';
import { formatBytes, formatDuration, formatNumber, UNKNOWN } from './format.ts';

export type Status = Replies['/status'];
type Fact = readonly [name: string, value: string];

/** Says first what does not work. */
export function describeHealth({ components = [], judges = [] }: Status): {
  readonly isHealthy: boolean;
  readonly words: string;
} {
  const failing = [
    ...components.filter(({ healthy }) => !healthy).map(({ name, error }) => `${name}: ${error ?? 'fails'}`),
    ...judges
      .filter(({ state }) => state === 'failing')
      .map(
        ({ scorer, judge, lastFailure }) =>
          `${scorer} (${judge || 'no judge'}): ${lastFailure?.reason ?? 'fails'}`,
      ),
  ];
  return failing.length === 0
    ? { isHealthy: true, words: 'All works' }
    : { isHealthy: false, words: `${failing.length} of its parts fail. ${failing.join('; ')}` };
}

/** Lists what the process is. */
export function listProcessFacts(status: Status): Fact[] {
  const { version, pid, roles, otlpHttp, otlpGrpc, spansPerSecond, scoresPerSecond } = status;
  return [
    ['Version', version],
    ['Process', String(pid)],
    ['Roles', roles.join(', ')],
    ['Spans over HTTP', otlpHttp ?? 'not received here'],
    ['Spans over gRPC', otlpGrpc ?? 'not received here'],
    ['Spans, last minute', formatRate(spansPerSecond)],
    ['Scores, last minute', formatRate(scoresPerSecond)],
  ];
}

function formatRate(perSecond: number | undefined): string {
  return perSecond === undefined ? UNKNOWN : `${Number(perSecond.toPrecision(3))}/s`;
}

/** Lists what waits for its scores. */
export function listQueueFacts({
  waiting,
  queued,
  inFlight,
  retries,
  lagMs,
  oldestWaitMs,
  oldestQueuedMs,
}: NonNullable<Status['scoring']>): Fact[] {
  return [
    ['Traces that still arrive', formatNumber(waiting)],
    ['Queued traces', formatNumber(queued)],
    ['Traces under way', formatNumber(inFlight)],
    ['Traces that wait for another attempt', formatNumber(retries)],
    ['Arrivals were read', lagMs === null ? 'not yet' : `${formatDuration(lagMs)} ago`],
    ['Oldest trace that still arrives', formatDuration(oldestWaitMs)],
    ['Oldest queued trace', formatDuration(oldestQueuedMs)],
  ];
}

/** Lists what the store has. */
export function listStoreFacts({ kind, version, bytes, rows }: NonNullable<Status['store']>): Fact[] {
  return [
    ['Kind', kind],
    ['Version', version],
    ['On disk', formatBytes(bytes)],
    ...Object.entries(rows).map(([table, count]) => [`Rows: ${table}`, formatNumber(count)] as const),
  ];
}
