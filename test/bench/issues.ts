/**
 * Measures how failures become issues: made runs with planted modes of failure in other words each time are read, their failures are found and
 * grouped, and the issues are held against the modes. `node test/bench/issues.ts [--runs 5000] [--seeds 1,2,3] [--list] [--serve 1500]`. `--list` measures the list
 * of many issues, too, and `--serve` the processor of `serve` for so many runs, with issues and without.
 */
import { parseArgs } from 'node:util';
import { readTraces } from '../../src/conventions/index.ts';
import { computeIssueId, signFailure } from '../../src/domain/failure.ts';
import { findFailures } from '../../src/issues/find-failures.ts';
import { groupSignatures } from '../../src/issues/group-failures.ts';
import type { Signature } from '../../src/store/contracts/issues.ts';
import { seededRandom } from '../support/builders/score-streams.ts';
import { atLeast, atMost, head, row, share, sumUp, verdictOn } from './bench-table.ts';
import { measureList } from './issues/list-speed.ts';
import { makeRuns, MODES } from './issues/planted-runs.ts';
import { measureServe } from './issues/serve-cost.ts';

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '5000' },
    seeds: { type: 'string', default: '1,2,3' },
    list: { type: 'boolean', default: false },
    serve: { type: 'string' },
  },
});
const runs = Number(options.runs);

/** A failure that was found, with the mode that was planted in its run. */
interface Found {
  readonly mode: string;
  readonly text: string;
  readonly issue: string;
}

/** Failures of one seed, and the processor time of finding and grouping them. */
interface Grouped {
  readonly found: readonly Found[];
  readonly planted: ReadonlyMap<string, number>;
  /** Planted runs without a failure, and failures of good runs. */
  readonly missed: number;
  readonly false: number;
  readonly findMs: number;
  readonly groupMs: number;
}

/** Finds and groups the failures of made runs. */
function group(seed: number): Grouped {
  const signatures = new Map<string, Signature>();
  const found: { mode: string; text: string; signatureId: string }[] = [];
  const planted = new Map<string, number>();
  let [missed, wrong, findMs] = [0, 0, 0];
  let index = 0;
  for (const { request, judged, mode } of makeRuns(runs, seededRandom(seed))) {
    const [run] = readTraces(request).flatMap(({ runs: read }) => read);
    const startedMs = processorMs();
    const failures = findFailures(run!, { judged });
    findMs += processorMs() - startedMs;
    if (mode !== null) {
      planted.set(mode, (planted.get(mode) ?? 0) + 1);
    }
    missed += mode !== null && failures.length === 0 ? 1 : 0;
    wrong += mode === null ? failures.length : 0;
    for (const failure of failures) {
      const signatureId = computeIssueId('', run!.agent ?? '', signFailure(failure));
      const { kind, subject, text } = failure;
      const own = {
        tenant: '',
        agent: 'shop',
        kind,
        signatureId,
        subject,
        issueIds: [signatureId],
        quotes: [subject.quote ?? ''].filter(Boolean),
      };
      signatures.set(
        signatureId,
        signatures.get(signatureId) ?? { ...own, firstSeen: index, firstTrace: '' },
      );
      found.push({ mode: mode ?? `good-${index}`, text, signatureId });
    }
    index += 1;
  }
  const startedMs = processorMs();
  const sets = groupSignatures([...signatures.values()], []);
  const groupMs = processorMs() - startedMs;
  const issueOf = new Map(
    sets.flatMap((set) => set.map(({ signatureId }) => [signatureId, set[0].signatureId])),
  );
  return {
    found: found.map(({ signatureId, ...each }) => ({ ...each, issue: issueOf.get(signatureId)! })),
    planted,
    missed,
    false: wrong,
    findMs,
    groupMs,
  };
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Computes the adjusted Rand index of two partitions (L. Hubert and P. Arabie, Comparing partitions, 1985). */
function computeRand(items: readonly Found[]): number {
  const pairs = (groups: Iterable<readonly unknown[]>) =>
    [...groups].reduce((sum, { length }) => sum + (length * (length - 1)) / 2, 0);
  const both = pairs(Map.groupBy(items, ({ mode, issue }) => `${mode} ${issue}`).values());
  const modes = pairs(Map.groupBy(items, ({ mode }) => mode).values());
  const issues = pairs(Map.groupBy(items, ({ issue }) => issue).values());
  const expected = (modes * issues) / pairs([items]);
  return (both - expected) / ((modes + issues) / 2 - expected);
}

/** Finds the mode of most failures of each issue. */
function nameIssues(found: readonly Found[]): Map<string, { readonly mode: string; readonly count: number }> {
  return new Map(
    [...Map.groupBy(found, ({ issue }) => issue)].map(([issue, own]) => {
      const [mode] = [...Map.groupBy(own, (each) => each.mode)].toSorted(
        (a, b) => b[1].length - a[1].length,
      )[0]!;
      return [issue, { mode, count: own.length }];
    }),
  );
}

const seeds = options.seeds.split(',').map(Number);
const results = seeds.map((seed) => ({ seed, ...group(seed) }));

head(
  `Issues of each planted mode, ${runs} runs, seeds ${options.seeds}`,
  'mode',
  'share',
  'runs',
  'issues',
  'goal',
);
for (const [mode, { share: planned }] of Object.entries(MODES)) {
  const counts = results.map(
    ({ found }) => [...nameIssues(found).values()].filter((each) => each.mode === mode).length,
  );
  const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  const planted = results.map((result) => result.planted.get(mode) ?? 0).join(', ');
  row(
    mode,
    share(planned, 1),
    planted,
    counts.join(', '),
    verdictOn(mode, [atMost(mean, 1.3, 'issues'), atLeast(mean, 1, 'issue')]),
  );
}

head(
  'All failures',
  'seed',
  'failures',
  'missed',
  'of good runs',
  'adjusted Rand',
  'noise issues above 0.1 %',
  'finding, ms a run',
  'grouping, ms a run',
  'goals',
);
for (const { seed, found, missed, false: wrong, findMs, groupMs } of results) {
  const rand = computeRand(found);
  const noise = [...nameIssues(found).values()].filter(
    ({ mode, count }) => !(mode in MODES) && count > runs / 1_000,
  );
  const [find, grouping] = [findMs / runs, groupMs / runs];
  row(
    String(seed),
    String(found.length),
    String(missed),
    String(wrong),
    rand.toFixed(3),
    String(noise.length),
    find,
    grouping,
    verdictOn(`seed ${seed}`, [
      atLeast(rand, 0.9, 'Rand'),
      atMost(noise.length, 2, 'noise issues'),
      atMost(find + grouping, 0.3, 'ms a run'),
    ]),
  );
}
if (options.list) {
  await measureList();
}
if (options.serve !== undefined) {
  await measureServe(Number(options.serve), 2);
}
sumUp();
