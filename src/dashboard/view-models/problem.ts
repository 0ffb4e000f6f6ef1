/** Reason why the dashboard has no data. */
export interface Problem {
  /** HTTP status; 0 without a reply. */
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** Faults of the input. */
  readonly errors: readonly { readonly path: string; readonly message: string }[];
  /** Seconds after which the server wants to be asked again. */
  readonly retryAfterS: number | undefined;
}

/** State that a page shows for a problem. */
export type ProblemKind = 'signed-out' | 'forbidden' | 'missing' | 'starting' | 'failed';

export function classifyProblem({ status, title }: Problem): ProblemKind {
  if (status === 401) {
    return 'signed-out';
  }
  if (status === 403) {
    return 'forbidden';
  }
  if (status === 404) {
    return 'missing';
  }
  return status === 503 && title === 'Starting' ? 'starting' : 'failed';
}
