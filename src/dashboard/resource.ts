import { useCallback, useEffect, useState } from 'preact/hooks';
import { ProblemError } from './client.ts';
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

/**
 * Loads data for a page. The data stays while the same key is loaded again; another key begins anew.
 * @param key what the data depends on
 */
export function useResource<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Resource<T> {
  const [entry, setEntry] = useState<{ key: string; state: ResourceState<T> }>({ key, state: LOADING });
  const [round, setRound] = useState(0);
  const [loadedRound, setLoadedRound] = useState(-1);
  const reload = useCallback(() => setRound((number) => number + 1), []);
  const signedIn = signIns.value;
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const finish = (state: ResourceState<T>): void => {
      if (!abort.signal.aborted) {
        setEntry({ key, state });
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
  }, [key, round, signedIn]);
  const state = entry.key === key ? entry.state : LOADING;
  return { ...state, isRefreshing: state.kind === 'ready' && loadedRound !== round, reload };
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
