import { tracePath } from './row-paths.ts';

const KEY = 'spanscore-list';

interface Listed {
  readonly tenant: string;
  readonly traceId: string;
}

/** Remembers the traces of a list in this tab, so that the page of one leads to the next. */
export function rememberList(traces: readonly Listed[]): void {
  sessionStorage.setItem(KEY, JSON.stringify(traces.map(({ tenant, traceId }) => ({ tenant, traceId }))));
}

/** Finds the pages before and after a trace in the list that it came from; undefined for a trace that came from none. */
export function findNeighbours(traceId: string): readonly (string | undefined)[] | undefined {
  const traces = JSON.parse(sessionStorage.getItem(KEY) ?? '[]') as Listed[];
  const index = traces.findIndex((each) => each.traceId === traceId);
  return index === -1
    ? undefined
    : [traces[index - 1], traces[index + 1]].map((trace) => trace && tracePath(trace));
}
