import { useCallback, useEffect, useState } from 'preact/hooks';
import type { ReadPath, Replies } from './api-types.ts';
import { ProblemError, read, type Request } from './client.ts';
import { renewals } from './live.ts';
import { query } from './router.ts';
import { isSignedOut, signIns } from './session.ts';
import { classifyProblem, type Problem } from './view-models/problem.ts';

/** Data of a page, or the reason why there is none. */
type ResourceState<T> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'problem'; readonly problem: Problem }
  | { readonly kind: 'ready'; readonly data: T };

export type Resource<T> = ResourceState<T> & {
  /** True while data that is shown is loaded again. */
  readonly isRefreshing: boolean;
  readonly reload: () => void;
};

const LOADING = { kind: 'loading' } as const;

interface ResourceOptions {
  /** False for data that must not change under the hands of a person. Default: it renews itself. */
  readonly isLive?: boolean;
}

/**
 * Loads data for a page, and loads it again with each renewal. The data stays while the same key is loaded again; another key begins anew.
 * @param name what the data depends on, beside the tenant of the bar
 */
export function useResource<T>(
  name: string,
  load: (signal: AbortSignal) => Promise<T>,
  { isLive = true }: ResourceOptions = {},
): Resource<T> {
  const key = `${name} ${query.value.get('tenant') ?? ''}`;
  const [entry, setEntry] = useState<{ key: string; state: ResourceState<T> }>({ key, state: LOADING });
  const [round, setRound] = useState(0);
  const [loadedRound, setLoadedRound] = useState(-1);
  const reload = useCallback(() => setRound((number) => number + 1), []);
  const signedIn = signIns.value;
  const renewal = isLive ? renewals.value : 0;
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const finish = (state: ResourceState<T>): void => {
      if (!abort.signal.aborted) {
        setEntry((before) =>
          before.key === key && keepsData(before.state, state) ? before : { key, state },
        );
        setLoadedRound(round);
      }
    };
    load(abort.signal).then(
      (data) => finish({ kind: 'ready', data }),
      (error: unknown) => {
        const problem = readProblem(error);
        isSignedOut.value ||= !abort.signal.aborted && problem.status === 401;
        finish({ kind: 'problem', problem });
        if (!abort.signal.aborted && classifyProblem(problem) === 'starting') {
          timer = setTimeout(reload, (problem.retryAfterS ?? 1) * 1_000);
        }
      },
    );
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
    // `load` is another function at each call; the key says what it loads.
  }, [key, round, signedIn, renewal]);
  const state = entry.key === key ? entry.state : LOADING;
  return { ...state, isRefreshing: state.kind === 'ready' && loadedRound !== round, reload };
}

/** Reads a route for a page, as `useResource` loads data: the route and what is asked of it are the key. */
export function useRead<Path extends ReadPath>(
  path: Path,
  request: Omit<Request, 'signal'> = {},
  options?: ResourceOptions,
): Resource<Replies[Path]> {
  const load = (signal: AbortSignal) => read(path, { ...request, signal });
  return useResource(`${path} ${JSON.stringify(request)}`, load, options);
}

/** Returns true when what is shown stays: the same came again, or nothing came, which the frame tells. */
function keepsData<T>(before: ResourceState<T>, next: ResourceState<T>): boolean {
  if (before.kind !== 'ready' || next.kind === 'loading') {
    return false;
  }
  return next.kind === 'problem'
    ? next.problem.status === 0
    : JSON.stringify(before.data) === JSON.stringify(next.data);
}

function readProblem(error: unknown): Problem {
  if (error instanceof ProblemError) {
    return error.problem;
  }
  return {
    status: 0,
    title: 'The dashboard failed',
    detail: error instanceof Error ? error.message : String(error),
    errors: [],
    retryAfterS: undefined,
  };
}
