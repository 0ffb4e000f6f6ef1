import type { Replies } from '../api-types.ts';

export type TraceDetail = Replies['/traces/{traceId}'];
export type SpanItem = TraceDetail['spans'][number];
export type ScoreItem = TraceDetail['scores'][number];

/** Row of the waterfall of a trace. */
export interface WaterfallRow {
  readonly span: SpanItem;
  /** 1 for a root. */
  readonly level: number;
  readonly hasChildren: boolean;
  /** Id of the row above it in the tree; '' for a root. */
  readonly parent: string;
  /** Begin and length as shares of the whole trace. */
  readonly offset: number;
  readonly width: number;
  /** Scores of this span's run. */
  readonly scores: readonly ScoreItem[];
  /** Number of claims that cite this span as their evidence. */
  readonly citations: number;
}

/** Builds the rows of a waterfall: each span after its parent, brothers in the order of their begin. */
export function buildWaterfall({ spans, scores }: Pick<TraceDetail, 'spans' | 'scores'>): WaterfallRow[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const children = Map.groupBy(
    spans.toSorted((a, b) => startOf(a) - startOf(b)),
    ({ parentSpanId, spanId }) => (byId.has(parentSpanId) && parentSpanId !== spanId ? parentSpanId : ''),
  );
  const start = spans.reduce((least, span) => Math.min(least, startOf(span)), Number.POSITIVE_INFINITY);
  const end = spans.reduce((most, span) => Math.max(most, startOf(span) + span.durationMs), start);
  const length = end - start || 1;
  const citations = countCitations(scores);
  // The head of the page has the scores of the whole trace.
  const ofSteps = scores.filter(({ target }) => target !== 'trace');
  const scoresOf = Map.groupBy(ofSteps, ({ spanId }) => spanId);
  const rows: WaterfallRow[] = [];
  const seen = new Set<string>();
  const add = (roots: readonly SpanItem[]): void => {
    // A stack of its own: a trace may be nested deeper than calls can be.
    const open = roots.toReversed().map((span) => ({ span, level: 1, parent: '' }));
    for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
      const { span, level, parent } = entry;
      if (seen.has(span.spanId)) {
        continue;
      }
      seen.add(span.spanId);
      const below = children.get(span.spanId) ?? [];
      rows.push({
        span,
        level,
        hasChildren: below.length > 0,
        parent,
        offset: (startOf(span) - start) / length,
        width: span.durationMs / length,
        scores: scoresOf.get(span.spanId) ?? [],
        citations: citations.get(span.spanId) ?? 0,
      });
      for (const child of below.toReversed()) {
        open.push({ span: child, level: level + 1, parent: span.spanId });
      }
    }
  };
  add(children.get('') ?? []);
  // Spans that are each other's ancestors hang on no root.
  for (const span of spans) {
    add([span]);
  }
  return rows;
}

function startOf({ startedAt }: SpanItem): number {
  return startedAt === null ? 0 : Date.parse(startedAt);
}

function countCitations(scores: readonly ScoreItem[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { spanId } of scores.flatMap(({ verdicts }) => verdicts)) {
    if (spanId !== undefined && spanId !== '') {
      counts.set(spanId, (counts.get(spanId) ?? 0) + 1);
    }
  }
  return counts;
}

/** Leaves out the rows below closed ones. */
export function listOpenRows(rows: readonly WaterfallRow[], closed: ReadonlySet<string>): WaterfallRow[] {
  let closedLevel = Number.POSITIVE_INFINITY;
  return rows.filter(({ span, level }) => {
    if (level > closedLevel) {
      return false;
    }
    closedLevel = closed.has(span.spanId) ? level : Number.POSITIVE_INFINITY;
    return true;
  });
}

/** Action of a key in the waterfall. */
export type WaterfallMove =
  | { readonly kind: 'focus'; readonly spanId: string }
  | { readonly kind: 'open' | 'close' | 'select'; readonly spanId: string };

/** Finds what a key does on a row: arrows move, open and close, as the pattern of a tree grid says. */
export function moveInWaterfall(
  rows: readonly WaterfallRow[],
  closed: ReadonlySet<string>,
  { key, spanId }: { readonly key: string; readonly spanId: string },
): WaterfallMove | undefined {
  const index = rows.findIndex(({ span }) => span.spanId === spanId);
  const row = rows[index];
  const focus = (target: WaterfallRow | undefined): WaterfallMove | undefined =>
    target === undefined ? undefined : { kind: 'focus', spanId: target.span.spanId };
  switch (key) {
    case 'ArrowDown':
      return focus(rows[index + 1]);
    case 'ArrowUp':
      return focus(rows[index - 1]);
    case 'Home':
      return focus(rows[0]);
    case 'End':
      return focus(rows.at(-1));
    case 'ArrowRight':
      return row?.hasChildren === true && closed.has(spanId)
        ? { kind: 'open', spanId }
        : focus(firstChild(rows, index));
    case 'ArrowLeft':
      if (row?.hasChildren === true && !closed.has(spanId)) {
        return { kind: 'close', spanId };
      }
      return focus(rows.find(({ span }) => span.spanId === row?.parent));
    case 'Enter':
    case ' ':
      return { kind: 'select', spanId };
    default:
      return undefined;
  }
}

function firstChild(rows: readonly WaterfallRow[], index: number): WaterfallRow | undefined {
  const [row, next] = [rows[index], rows[index + 1]];
  return row !== undefined && next?.parent === row.span.spanId ? next : undefined;
}
