import { DAY_MS } from '../../../src/domain/durations.ts';
import { updateIssues } from '../../../src/issues/update-issues.ts';
import { apiWorld, tokenOf, type ApiWorld } from '../../support/api/api-world.ts';
import { atMost, head, row, verdictOn } from '../bench-table.ts';
import { makeFailures, makeTraces } from '../many-scores.ts';

/** Size of the store: one trace in ten has a failure. */
const TRACES = 400_000;
const ISSUES = 1_000;

/** Agents of the history. */
const AGENTS = 4;
const FAILING_OF = 10;
const DAYS = 7;

const ROUNDS = 40;
const WARM_UP = 5;

/** Longest time of a list, milliseconds. */
const LIST_MS = 150;

const PATHS = [
  '/issues?limit=500',
  '/issues',
  '/issues?since=24h',
  '/issues?agent=agent-1',
  '/issues?version=v3',
  '/issues?state=ongoing&kind=tool-error',
];

/** Measures the list of many issues over many traces, over HTTP. */
export async function measureList(): Promise<void> {
  const world = await apiWorld();
  try {
    await fill(world);
    head(
      `List of ${ISSUES} issues over ${TRACES} traces of ${DAYS} days, one in ${FAILING_OF} with a failure`,
      'request',
      'items',
      'median, ms',
      'p95, ms',
      'goal',
    );
    for (const path of PATHS) {
      const times: number[] = [];
      let items = 0;
      for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
        const startedMs = performance.now();
        const { body, status } = await world.ask({ path, token: tokenOf('read') });
        times.push(performance.now() - startedMs);
        if (status !== 200) {
          throw new Error(`${path} was answered with ${status}: ${JSON.stringify(body)}`);
        }
        items = (body['items'] as readonly unknown[]).length;
      }
      const sorted = times.slice(WARM_UP).toSorted((a, b) => a - b);
      const p95 = sorted[Math.ceil(0.95 * sorted.length) - 1]!;
      row(
        path,
        String(items),
        sorted[Math.floor(sorted.length / 2)]!,
        p95,
        verdictOn(path, [atMost(p95, LIST_MS, 'ms')]),
      );
    }
  } finally {
    await world.stop();
  }
}

/** Fills a store by SQL: runs of four agents, and failures of many tools, of which the first has the most. */
export async function fill({ options, store }: Pick<ApiWorld, 'options' | 'store'>): Promise<void> {
  const history = { traces: TRACES, scorers: 0, days: DAYS, endMs: Date.now() - DAY_MS / 24 };
  await makeTraces(options, history, { from: 0, to: TRACES });
  await makeFailures(options, { issues: ISSUES / AGENTS, failingOf: FAILING_OF });
  const startedMs = performance.now();
  await updateIssues(store);
  console.log(
    `grouped in ${Math.round(performance.now() - startedMs)} ms, again in ${await again(store)} ms`,
  );
}

async function again(store: ApiWorld['store']): Promise<number> {
  const startedMs = performance.now();
  await updateIssues(store);
  return Math.round(performance.now() - startedMs);
}
