import type { WatchedTraces } from '../../purge/purged-traces.ts';
import type { Scoring } from '../../scoring/scoring.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Config } from '../../configuration.ts';
import { createConfiguredScoring } from '../../scoring/setup/configured-scoring.ts';
import { createTurnReader } from '../../scoring/setup/read-traces.ts';
import { loadScorerKit, type ScorerKit } from '../../scoring/setup/scorer-kit.ts';

export interface ScoringOnDemandDeps {
  readonly config: Config;
  readonly store: Store;
  readonly purged: WatchedTraces;
  /** Scorers of live scoring; undefined: they are loaded with the first request. */
  readonly kit: ScorerKit | undefined;
  readonly log: Log;
}

/** Scorers, and the scoring with them. */
export interface LoadedScoring {
  readonly kit: ScorerKit;
  readonly scoring: Scoring;
}

/** Scoring that requests of the API ask for. */
export interface ScoringOnDemand {
  /** Loads it with the first request, and again after a failure. Throws a `ConfigError` for scorers that cannot be used. */
  load(): Promise<LoadedScoring>;
  /** True in a process that scores live traffic, too. */
  readonly isBesideLive: boolean;
  /** Gives the leased money back. */
  stop(): Promise<void>;
}

/** Creates the scoring on demand. It costs nothing before the first request. */
export function createScoringOnDemand({
  config,
  store,
  purged,
  kit: shared,
  log,
}: ScoringOnDemandDeps): ScoringOnDemand {
  let loading: Promise<LoadedScoring> | undefined;
  const load = async (): Promise<LoadedScoring> => {
    const kit = shared ?? (await loadScorerKit(config, { log }));
    const readTrace = createTurnReader();
    return { kit, scoring: createConfiguredScoring({ config, kit, stores: store, purged, readTrace, log }) };
  };
  return {
    isBesideLive: shared !== undefined,
    load: () => {
      loading ??= load().catch((error: unknown) => {
        loading = undefined;
        throw error;
      });
      return loading;
    },
    async stop() {
      const loaded = await loading?.catch(() => undefined);
      await loaded?.scoring.budget.giveBack();
      if (shared === undefined) {
        await loaded?.kit.guests.stop();
      }
    },
  };
}
