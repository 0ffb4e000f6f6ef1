import { SECOND_MS } from '../domain/durations.ts';
import type { ExpectedCalls } from './expected-calls.ts';

/** Limits of the calls to one provider. */
export interface ProviderPace {
  /** Calls at the same time. */
  readonly concurrency: number;
  readonly requestsPerMinute?: number | undefined;
  readonly tokensPerMinute?: number | undefined;
}

/** Returns a part of the limits. */
export function sharePace(
  { concurrency, requestsPerMinute = Infinity, tokensPerMinute = Infinity }: ProviderPace,
  share: number,
): ProviderPace {
  return {
    concurrency: concurrency * share,
    requestsPerMinute: requestsPerMinute * share,
    tokensPerMinute: tokensPerMinute * share,
  };
}

/** Limits of the work that is estimated. */
export interface Pace {
  /** Returns the limits of the provider of a judge. */
  readonly findProvider: (provider: string) => ProviderPace;
  /** Judged runs at the same time. */
  readonly places: number;
  /** Traces a second; null: no limit. */
  readonly tracesPerSecond: number | null;
  /** Traces at the same time; null: no limit. */
  readonly traces: number | null;
}

/** Work whose time is estimated. */
export interface PacedWork {
  /** Traces and sessions to read. */
  readonly targets: number;
  readonly calls: readonly ExpectedCalls[];
  /** Mean time of a call by judge, milliseconds. */
  readonly latencies: ReadonlyMap<string, number>;
}

/** Traces of eight spans that one process reads and scores by code in a second, when nothing limits it (`npm run bench:backfill`). */
const TRACES_PER_SECOND = 1_000;

/** Time of a call to a judge of which no call is known, milliseconds. */
const UNKNOWN_LATENCY_MS = 4_000;

const MINUTE_S = 60;

/** Estimates the time of work in seconds: the longest of the times that each limit alone would need. */
export function estimateSeconds({ targets, calls, latencies }: PacedWork, pace: Pace): number {
  const byProvider = Map.groupBy(calls, ({ model }) => model.split('/', 1)[0] ?? '');
  const computeBusy = (of: readonly ExpectedCalls[]) =>
    of.reduce(
      (sum, each) => sum + (each.calls * (latencies.get(each.model) ?? UNKNOWN_LATENCY_MS)) / SECOND_MS,
      0,
    );
  const providers = [...byProvider].flatMap(([name, of]) => {
    const { concurrency, requestsPerMinute = Infinity, tokensPerMinute = Infinity } = pace.findProvider(name);
    const tokens = of.reduce((sum, each) => sum + each.inputTokens + each.outputTokens, 0);
    const count = of.reduce((sum, each) => sum + each.calls, 0);
    return [
      computeBusy(of) / concurrency,
      (count * MINUTE_S) / requestsPerMinute,
      (tokens * MINUTE_S) / tokensPerMinute,
    ];
  });
  return Math.ceil(
    Math.max(
      targets / Math.min(pace.tracesPerSecond ?? Infinity, TRACES_PER_SECOND),
      computeBusy(calls) / Math.min(pace.places, pace.traces ?? Infinity),
      ...providers,
    ),
  );
}
