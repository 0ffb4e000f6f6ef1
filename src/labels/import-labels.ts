import { InvalidInputError, readErrorMessage } from '../domain/errors.ts';
import { DAY_MS } from '../domain/durations.ts';
import type { Score } from '../domain/score.ts';
import { allSettled } from '../domain/waits.ts';
import { type DutyDeps, startRepeatedDuty, type StartedPart } from '../process/parts.ts';
import type { LabelledTrace } from '../store/contracts/sources.ts';
import type { Store } from '../store/store.ts';

/** Annotation of a person in another tool. */
export interface ForeignLabel {
  readonly traceId: string;
  /** '' for an annotation of the trace. */
  readonly spanId: string;
  readonly scorer: string;
  readonly score: number;
  readonly label: string;
  readonly reason: string;
  /** User or identifier of the annotation. */
  readonly author: string;
}

/** Reader of the annotations of people in one tool. */
export interface LabelReader {
  /** Kind of the tool: the beginning of the authors of its labels. */
  readonly kind: string;
  /** Reads the annotations of these traces and their spans. Our own scores are left out. Throws when the tool cannot be read. */
  read(traces: readonly LabelledTrace[], signal: AbortSignal): Promise<ForeignLabel[]>;
}

export type GivenLabel = Omit<ForeignLabel, 'author'> & {
  readonly sessionId: '';
  readonly source: 'human';
  readonly scoredBy: string;
};

export interface ImportDeps extends DutyDeps {
  readonly everyMs: number;
  /** Stores labels of one tenant. Throws an `InvalidInputError` when one of them cannot be stored. */
  readonly post: (tenant: string, labels: readonly GivenLabel[]) => Promise<unknown>;
}

/** Age of the oldest runs whose labels are read, milliseconds. */
const RANGE_MS = 30 * DAY_MS;

/** Runs of a look: the newest ones, and as many older ones, which take turns. */
const PAGE = 200;

/** Starts to read labels of other tools, in one of the scorer processes at a time. */
export function startLabelImport(
  readers: readonly LabelReader[],
  store: Pick<Store, 'labels' | 'scores' | 'spans'>,
  { everyMs, post, ...deps }: ImportDeps,
): StartedPart {
  let offset = PAGE;
  // The labels of all servers of a kind are compared together: none of them has the labels of another.
  const kinds = Map.groupBy(readers, ({ kind }) => kind);
  const postEach = createPoster(post, deps.log);
  const work = async (signal: AbortSignal) => {
    const sinceMs = (await store.spans.nowMs()) - RANGE_MS;
    const newest = await store.labels.recentTraces({ sinceMs, offset: 0, limit: PAGE });
    const older =
      newest.length < PAGE ? [] : await store.labels.recentTraces({ sinceMs, offset, limit: PAGE });
    offset = older.length < PAGE ? PAGE : offset + PAGE;
    const traces = [...newest, ...older];
    const takeAll = async ([kind, servers]: readonly [string, readonly LabelReader[]]) => {
      const labels = await Promise.all(servers.map((reader) => reader.read(traces, signal)));
      await takeOver(kind, traces, labels.flat());
    };
    // A tool that is away holds up no other.
    await allSettled(traces.length === 0 ? [] : [...kinds].map(takeAll));
  };

  async function takeOver(kind: string, traces: readonly LabelledTrace[], labels: readonly ForeignLabel[]) {
    const known = await store.labels.byAuthors(`${kind}:`, traces);
    const tenants = new Map(traces.map(({ traceId, tenant }) => [traceId, tenant]));
    const given = labels.flatMap(({ author, ...label }): [string, GivenLabel][] => {
      const tenant = tenants.get(label.traceId);
      const scoredBy = `${kind}:${author || 'anonymous'}`;
      return tenant === undefined ? [] : [[tenant, { ...label, sessionId: '', source: 'human', scoredBy }]];
    });
    const former = new Map(known.map((score) => [joinKey(score), score]));
    const changed = given.filter(([, label]) => isChanged(label, former.get(joinKey(label))));
    for (const [tenant, labelled] of Map.groupBy(changed, ([each]) => each)) {
      await postEach(
        tenant,
        labelled.map(([, label]) => label),
      );
    }
    const wanted = new Set(given.map(([, label]) => joinKey(label)));
    const gone = known.filter((score) => !wanted.has(joinKey(score)));
    if (gone.length > 0) {
      await store.scores.write(gone.map((score) => ({ ...score, isDeleted: true })));
    }
  }

  const failing = 'labels of other tools cannot be read; they are read again later';
  return startRepeatedDuty({ duty: 'labels of tools', everyMs, failing, work }, deps);
}

/** Stores labels. One that cannot be stored must not hold up the others; it is logged once. */
function createPoster(post: ImportDeps['post'], log: DutyDeps['log']): ImportDeps['post'] {
  const refused = new Set<string>();
  return async function postEach(tenant, labels): Promise<void> {
    try {
      await post(tenant, labels);
    } catch (error) {
      if (!(error instanceof InvalidInputError)) {
        throw error;
      }
      const [only] = labels;
      if (labels.length > 1) {
        for (const label of labels) {
          await postEach(tenant, [label]);
        }
      } else if (only !== undefined && !refused.has(joinKey(only))) {
        refused.add(joinKey(only));
        const { scorer, scoredBy, traceId } = only;
        const reason = readErrorMessage(error);
        log.warn('a label of another tool cannot be stored', { scorer, scoredBy, traceId, reason });
      }
    }
  };
}

type Key = Pick<Score, 'traceId' | 'spanId' | 'scorer' | 'scoredBy'>;

/** Identifies the label of an author. The row of a trace may have got the span of its run. */
function joinKey({ traceId, spanId, scorer, scoredBy, ...row }: Key & { readonly target?: string }): string {
  return JSON.stringify([traceId, row.target === 'trace' ? '' : spanId, scorer, scoredBy]);
}

function isChanged(label: GivenLabel, row: Score | undefined): boolean {
  return row?.score !== label.score || row.label !== label.label || row.reason !== label.reason;
}

const YES = new Set(['true', 'yes', 'pass', 'passed', 'good', 'correct', 'positive', 'thumbs-up', '👍']);
const NO = new Set(['false', 'no', 'fail', 'failed', 'bad', 'incorrect', 'negative', 'thumbs-down', '👎']);

/** Reads a score from the value of an annotation: a number, or a word that says yes or no. Undefined for other words. */
export function readLabelScore(value: unknown): number | undefined {
  if (typeof value === 'number') {
    return Number.isFinite(value) ? value : undefined;
  }
  const word = (typeof value === 'string' || typeof value === 'boolean' ? String(value) : '')
    .trim()
    .toLowerCase();
  const number = word === '' ? Number.NaN : Number(word);
  return Number.isFinite(number) ? number : YES.has(word) ? 1 : NO.has(word) ? 0 : undefined;
}
