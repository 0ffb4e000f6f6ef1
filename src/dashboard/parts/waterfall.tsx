import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { formatDuration } from '../view-models/format.ts';
import { listOpenRows, moveInWaterfall, type WaterfallRow } from '../view-models/waterfall.ts';
import { Score } from './score.tsx';
import { Text } from './text.tsx';

/** Rows that are drawn before the reader asks for all. */
const SHOWN_ROWS = 500;

interface WaterfallProps {
  readonly rows: readonly WaterfallRow[];
  readonly selected: string;
  readonly onSelect: (spanId: string) => void;
}

/** The steps of a trace as a tree with their times. Arrow keys move, open and close; Enter selects. */
export function Waterfall({ rows, selected, onSelect }: WaterfallProps) {
  const [isWhole, setWhole] = useState(rows.length <= SHOWN_ROWS);
  const { closed, toggle } = useClosed();
  const open = useMemo(() => listOpenRows(rows, closed), [rows, closed]);
  const shown = isWhole ? open : open.slice(0, SHOWN_ROWS);
  const grid = useRef<HTMLTableElement>(null);
  const [focused, setFocused] = useState(selected);
  // One row is in the order of Tab: the focused one, else the first.
  const stop = shown.some(({ span }) => span.spanId === focused) ? focused : shown[0]?.span.spanId;
  useEffect(() => setFocused(selected), [selected]);

  const onKeyDown = (event: KeyboardEvent): void => {
    const row = event.target instanceof Element ? event.target.closest('tr') : null;
    const spanId = row?.dataset['span'];
    const move =
      spanId === undefined ? undefined : moveInWaterfall(shown, closed, { key: event.key, spanId });
    if (move === undefined) {
      return;
    }
    event.preventDefault();
    if (move.kind === 'focus') {
      setFocused(move.spanId);
      grid.current?.querySelector<HTMLElement>(`tr[data-span="${move.spanId}"]`)?.focus();
    } else if (move.kind === 'select') {
      onSelect(move.spanId);
    } else {
      toggle(move.spanId);
    }
  };

  return (
    <div class="scroll waterfall">
      <table
        ref={grid}
        role="treegrid"
        aria-label="Spans"
        aria-rowcount={rows.length + 1}
        onKeyDown={onKeyDown}
      >
        <WaterfallHead />
        <tbody>
          {shown.map((row) => (
            <Step
              key={row.span.spanId}
              row={row}
              isClosed={closed.has(row.span.spanId)}
              isSelected={row.span.spanId === selected}
              isStop={row.span.spanId === stop}
              onSelect={onSelect}
              onToggle={toggle}
            />
          ))}
        </tbody>
      </table>
      {shown.length < open.length && (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {open.length.toLocaleString('en')} steps
        </button>
      )}
    </div>
  );
}

/** Steps that the reader has closed. */
function useClosed() {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const toggle = (spanId: string): void => {
    const next = new Set(closed);
    if (!next.delete(spanId)) {
      next.add(spanId);
    }
    setClosed(next);
  };
  return { closed, toggle };
}

function WaterfallHead() {
  return (
    <thead>
      <tr>
        <th scope="col">Step</th>
        <th scope="col" class="number">
          Duration
        </th>
        <th scope="col">Time</th>
      </tr>
    </thead>
  );
}

/** Sign and colour of each kind of step. */
const KINDS = {
  agent: { sign: '◆', color: 'var(--line-0)' },
  model: { sign: '●', color: 'var(--line-3)' },
  tool: { sign: '■', color: 'var(--line-1)' },
  retrieval: { sign: '▤', color: 'var(--line-2)' },
  other: { sign: '·', color: 'var(--quiet)' },
} as const;

/** Widest indentation, levels: a deeper step stands there, and a text names its level. */
const MAX_INDENT = 12;

interface StepProps {
  readonly row: WaterfallRow;
  readonly isClosed: boolean;
  readonly isSelected: boolean;
  readonly isStop: boolean;
  readonly onSelect: (spanId: string) => void;
  readonly onToggle: (spanId: string) => void;
}

function Step({ row, isClosed, isSelected, isStop, onSelect, onToggle }: StepProps) {
  const { span, level, hasChildren, offset, width, scores, citations } = row;
  return (
    <tr
      data-span={span.spanId}
      tabIndex={isStop ? 0 : -1}
      aria-level={level}
      aria-selected={isSelected}
      {...(hasChildren ? { 'aria-expanded': !isClosed } : {})}
      onClick={() => onSelect(span.spanId)}
    >
      <td class="step" style={{ paddingLeft: `${Math.min(level, MAX_INDENT) - 0.4}rem` }}>
        {hasChildren && (
          <span
            class="toggle"
            aria-hidden="true"
            onClick={(event) => {
              event.stopPropagation();
              onToggle(span.spanId);
            }}
          >
            {isClosed ? '▸' : '▾'}
          </span>
        )}
        <span aria-hidden="true">{KINDS[span.kind].sign}</span> <span class="small quiet">{span.kind}</span>{' '}
        <Text of={span.name} />
        {span.status === 'error' && <span class="bad"> ✗ error</span>}{' '}
        {scores.map((score) => (
          <span key={score.scoreId} class="chip">
            <Text of={score.scorer} /> <Score {...score} />
          </span>
        ))}
        {citations > 0 && (
          <span class="chip">cited by {citations === 1 ? 'one claim' : `${citations} claims`}</span>
        )}
      </td>
      <td class="number">{formatDuration(span.durationMs)}</td>
      <td class="bar-cell">
        <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
          <rect
            fill={KINDS[span.kind].color}
            x={100 * offset}
            width={Math.max(100 * width, 0.5)}
            height="8"
          />
        </svg>
      </td>
    </tr>
  );
}
