import type { ComponentChildren } from 'preact';
import { Text } from './text.tsx';
import type { Resource } from '../resource.ts';
import { classifyProblem, type Problem } from '../view-models/problem.ts';

interface LoadedProps<T> {
  readonly of: Resource<T>;
  /** Name of the data, for the state of loading: `scores`. */
  readonly what: string;
  /** Lines of the place that is held while it loads. */
  readonly lines?: number;
  /** Default: a list without items is empty. */
  readonly isEmpty?: (data: T) => boolean;
  /** Shown instead of the children when there is no data. */
  readonly empty?: ComponentChildren;
  readonly children: (data: T) => ComponentChildren;
}

/** Lines of a table or a card. */
const USUAL_LINES = 5;

/** Shows data, or the state without it: loading, empty, forbidden, missing, failed. */
export function Loaded<T>({
  of,
  what,
  lines = USUAL_LINES,
  isEmpty = hasNoItems,
  empty,
  children,
}: LoadedProps<T>) {
  if (of.kind === 'loading') {
    return (
      <p role="status" class="state">
        Loading {what} …
        {Array.from({ length: lines }, (_, line) => (
          <span key={line} class="skeleton bone" aria-hidden="true" />
        ))}
      </p>
    );
  }
  if (of.kind === 'problem') {
    return <ProblemNote problem={of.problem} what={what} onRetry={of.reload} />;
  }
  if (empty !== undefined && isEmpty(of.data)) {
    return <div class="state">{empty}</div>;
  }
  return (
    <div aria-busy={of.isRefreshing} class={of.isRefreshing ? 'refreshing' : undefined}>
      {children(of.data)}
    </div>
  );
}

function hasNoItems(data: unknown): boolean {
  const { items } = (data ?? {}) as { readonly items?: readonly unknown[] };
  return items?.length === 0;
}

const HEADINGS = {
  'signed-out': 'Sign in first',
  forbidden: 'Not allowed',
  missing: 'Not found',
  starting: 'spanscore starts',
  failed: 'Failed',
} as const;

interface ProblemNoteProps {
  readonly problem: Problem;
  readonly what: string;
  readonly onRetry: () => void;
}

/** Reason why there is no data, and what to do. */
export function ProblemNote({ problem, what, onRetry }: ProblemNoteProps) {
  const kind = classifyProblem(problem);
  const canRetry = kind === 'failed' || kind === 'starting';
  return (
    <div role="alert" class="state problem">
      <h2>
        {HEADINGS[kind]}: {what}
      </h2>
      <p>
        <Text of={`${problem.title}: ${problem.detail}`} />
      </p>
      {problem.errors.length > 0 && (
        <ul>
          {problem.errors.map(({ path, message }) => (
            <li key={path}>
              <code>{path}</code>: <Text of={message} />
            </li>
          ))}
        </ul>
      )}
      {kind === 'forbidden' && (
        <p>Ask the person who runs spanscore for a token with this right, then sign in again.</p>
      )}
      {kind === 'starting' && <p>The page tries again by itself.</p>}
      {canRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
