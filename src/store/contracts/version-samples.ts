import type { AgentVersion } from '../../domain/deploy-marker.ts';

/** Version whose first targets a rule scores. */
export interface VersionKey extends AgentVersion {
  readonly tenant: string;
  readonly rule: string;
}

/** Returns a version key as one string, for maps. */
export function joinVersionKey(key: VersionKey): string {
  const { tenant, rule, service, agent, serviceVersion, agentVersion } = key;
  return JSON.stringify([tenant, rule, service, agent, serviceVersion, agentVersion]);
}

/** First targets of a version. */
export interface VersionSample {
  /** Number of first targets; 0 for a version that was in use before its rule asked for new versions. */
  readonly slots: number;
  /** Hashes of the ids of the targets that were chosen so far, in order. */
  readonly targets: readonly string[];
}

/** Store of the first targets of each version. All processes see the same choice. */
export interface VersionSampleStore {
  /** Keyed by `joinVersionKey`; a version without a choice is absent. */
  read(keys: readonly VersionKey[]): Promise<Map<string, VersionSample>>;
  /**
   * Adds targets to the choice of a version, after the `known` ones. Adds nothing when another process has added some since these
   * were read: read the choice again to see which targets it has.
   * @param added its `slots` count only for the first targets of the version; with 0, the version is no new one
   */
  append(key: VersionKey, known: number, added: VersionSample): Promise<void>;
  /** Returns the versions, by `joinVersionKey`, of which a run came before a time (Unix milliseconds, by the store's clock). */
  findInUse(asks: readonly { readonly key: VersionKey; readonly beforeMs: number }[]): Promise<Set<string>>;
}
