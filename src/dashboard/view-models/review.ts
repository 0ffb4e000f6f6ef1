import type { AgentRun } from '../../domain/trace/agent-run.ts';
import type { Replies } from '../api-types.ts';
import { showParts, type ShownPart } from './messages.ts';

export type ReviewQueue = Replies['/labels/queue'];
export type ReviewTarget = ReviewQueue['items'][number];

/** Keys of a reviewer, and their actions. */
export const LABEL_KEYS = [
  { key: 'p', action: 'pass', does: 'Passes' },
  { key: 'f', action: 'fail', does: 'Fails' },
  { key: 'e', action: 'note', does: 'Note' },
  { key: 's', action: 'skip', does: 'Skip' },
  { key: 'n', action: 'next', does: 'Next' },
  { key: 'u', action: 'undo', does: 'Undo' },
] as const;

export type LabelAction = (typeof LABEL_KEYS)[number]['action'];

/** Work of a reviewer on a queue. */
export interface Review {
  /** `loading`: between two batches; `sending`: a label is on its way. In both, no key acts. */
  readonly phase: 'loading' | 'ready' | 'sending';
  /** Answers of the batch in the order in which they are shown; the one before them comes first, so that it can be undone. */
  readonly targets: readonly ReviewTarget[];
  /** Place of the shown answer. */
  readonly at: number;
  /** Labels given on this page, by target: true passes. */
  readonly given: ReadonlyMap<string, boolean>;
  /** Labels given since the counts of the queue were read. */
  readonly sinceRead: number;
  /** Targets that the reviewer left for later. */
  readonly skipped: ReadonlySet<string>;
}

/** Begin of the work: no batch is there yet. */
export const NO_REVIEW: Review = {
  phase: 'loading',
  targets: [],
  at: 0,
  given: new Map(),
  sinceRead: 0,
  skipped: new Set(),
};

/** Takes a batch of the server. An answer that was labelled or skipped on this page is not shown again. */
export function takeBatch(review: Review, items: readonly ReviewTarget[]): Review {
  const { given, skipped, targets, at } = review;
  const fresh = items.filter(({ targetId }) => !given.has(targetId) && !skipped.has(targetId));
  const before = targets.slice(0, at).slice(-1);
  return { ...review, phase: 'ready', targets: [...before, ...fresh], at: before.length, sinceRead: 0 };
}

/** Finds the answer that is shown; undefined after the last one. */
export function shownTarget({ targets, at }: Review): ReviewTarget | undefined {
  return targets[at];
}

/** Lists what the reviewer can do now. */
export function listActions(review: Review): LabelAction[] {
  if (review.phase !== 'ready') {
    return [];
  }
  const target = shownTarget(review);
  return [
    ...(target === undefined ? [] : (['pass', 'fail', 'note', 'skip', 'next'] as const)),
    ...(review.at > 0 ? (['undo'] as const) : []),
  ];
}

/** Finds what a key does now. */
export function findLabelAction(key: string, review: Review): LabelAction | undefined {
  const found = LABEL_KEYS.find((entry) => entry.key === key)?.action;
  return found !== undefined && listActions(review).includes(found) ? found : undefined;
}

/** Notes a stored label, and goes on to the answer after it. */
export function noteLabel(review: Review, { targetId }: ReviewTarget, passes: boolean): Review {
  return {
    ...goOn(review),
    given: new Map(review.given).set(targetId, passes),
    sinceRead: review.sinceRead + (review.given.has(targetId) ? 0 : 1),
  };
}

/** Leaves the shown answer for later; one with a label keeps it. */
export function skip(review: Review): Review {
  const target = shownTarget(review);
  return target === undefined || review.given.has(target.targetId)
    ? goOn(review)
    : { ...goOn(review), skipped: new Set(review.skipped).add(target.targetId) };
}

/** Goes back to the answer before. */
export function undo(review: Review): Review {
  const at = Math.max(review.at - 1, 0);
  const skipped = new Set(review.skipped);
  skipped.delete(review.targets[at]?.targetId ?? '');
  return { ...review, at, skipped };
}

/** After the last answer of a batch, the next batch is wanted. */
function goOn(review: Review): Review {
  const at = review.at + 1;
  return { ...review, at, phase: at < review.targets.length ? 'ready' : 'loading' };
}

/** Counts the labels of the reviewer, those of this page included, and all that are wanted. */
export function readProgress(
  { labelled, left }: Pick<ReviewQueue, 'labelled' | 'left'>,
  { sinceRead }: Pick<Review, 'sinceRead'>,
): { readonly done: number; readonly all: number } {
  return { done: labelled + sinceRead, all: labelled + Math.max(left, sinceRead) };
}

/** Scorer to review first: the one with the most answers to label. */
export function chooseScorer(
  counts: readonly { readonly scorer: string; readonly left: number }[],
): string | undefined {
  return counts.toSorted((a, b) => b.left - a.left || a.scorer.localeCompare(b.scorer))[0]?.scorer;
}

/** Parts of a run that a reviewer compares. */
export interface ReviewTexts {
  readonly question: readonly ShownPart[];
  readonly answer: readonly ShownPart[];
  /** Calls of tools with their results, in their order. */
  readonly evidence: readonly ShownPart[];
}

/** Sorts the parts of a run: the last question, the answer, and what the agent had read. */
export function readTexts({ input, output, documents }: AgentRun): ReviewTexts {
  const asked = input.inputMessages.findLast(({ role }) => role === 'user');
  const parts = output.flatMap(showParts);
  const documentParts = documents.map(({ id, content }): ShownPart => ({
    kind: 'other',
    title: id === null ? 'Document' : `Document ${id}`,
    text: content,
  }));
  return {
    question: asked === undefined ? [] : showParts(asked),
    answer: parts.filter(({ kind }) => kind === 'text' || kind === 'file'),
    evidence: [...parts.filter(({ kind }) => kind === 'call'), ...documentParts],
  };
}
