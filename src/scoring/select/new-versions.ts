import type { AgentVersion } from '../../domain/deploy-marker.ts';
import { LruMap } from '../../domain/lru-map.ts';
import { joinVersionKey, type VersionKey, type VersionSample } from '../../store/contracts/stores.ts';
import type { VersionSampleStore } from '../../store/tables/versions.ts';
import type { Log } from '../../telemetry/log.ts';
import { CommitRounds } from '../record/group-commit.ts';

/** Most chosen targets in memory, about 20 MB. Beyond it, choices that were not used for longest are read again when needed. */
const MOST_REMEMBERED = 200_000;

/** Appends after which nothing changed. After so many, the store does not take the choice: a version that was erased comes again. */
const MOST_VAIN_APPENDS = 3;

/** A target, and the versions of which it may be one of the first. */
export interface VersionRequest {
  readonly tenant: string;
  readonly rule: string;
  /** Hash of the id of the target: rows of the choice stay when a person's data is erased. */
  readonly target: string;
  readonly versions: readonly AgentVersion[];
  /** Number of first targets that the rule asks for. */
  readonly slots: number;
  /** Time since which the rule asks for new versions, Unix milliseconds. */
  readonly sinceMs: number;
}

/**
 * `first`: the target is one of the first of a version. `open`: a version still takes targets, or is not known yet. `late`: all
 * versions have their first targets.
 */
export type VersionState = 'first' | 'open' | 'late';

/** A version, and the requests of targets for a place in it. */
interface Demand {
  readonly key: VersionKey;
  readonly name: string;
  readonly requests: readonly VersionRequest[];
  /** Appends in a row that changed nothing. */
  readonly vain: number;
  /** Number of targets at the last look. */
  readonly known: number;
}

/** Choice of a version in memory. A full one never changes. */
interface KnownSample {
  readonly targets: ReadonlySet<string>;
  readonly isFull: boolean;
}

/** The first targets of each version: one choice in the store, the same for all processes and after a restart. */
export class NewVersions {
  readonly #store: VersionSampleStore;
  readonly #log: Log;
  readonly #takes = new CommitRounds().add<VersionRequest>((requests) => this.#takeAll(requests));
  /** Choices that this process has seen. */
  readonly #samples = new LruMap<KnownSample>(
    { maxSize: MOST_REMEMBERED },
    ({ targets }) => targets.size + 1,
  );

  constructor(store: VersionSampleStore, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** States in the order of the requests. Reads the store only for versions that this process does not know. */
  async find(requests: readonly VersionRequest[]): Promise<VersionState[]> {
    const keys = new Map(requests.flatMap(listKeys).map((key) => [joinVersionKey(key), key]));
    const unknown = [...keys].filter(([name]) => this.#samples.get(name) === undefined);
    if (unknown.length > 0) {
      const stored = await this.#store.read(unknown.map(([, key]) => key));
      // A choice that became known meanwhile may be newer.
      const still = unknown.filter(([name]) => this.#samples.get(name) === undefined);
      still.forEach(([name]) => this.#remember(name, stored.get(name)));
    }
    return requests.map((request) => this.#stateOf(request));
  }

  /** Takes a place for the target where a version has one. Returns true when the target is one of the first. */
  async take(request: VersionRequest): Promise<boolean> {
    await this.#takes.write([request]);
    return this.#stateOf(request) === 'first';
  }

  /** Adds targets until each is chosen or its versions are full. Of several processes that add, one gets on at a time. */
  async #takeAll(requests: readonly VersionRequest[]): Promise<void> {
    let open = listDemands(requests).filter(({ name }) => this.#samples.get(name)?.isFull !== true);
    while (open.length > 0) {
      const stored = await this.#store.read(open.map(({ key }) => key));
      open.forEach(({ name }) => this.#remember(name, stored.get(name)));
      const missing = open.flatMap((demand) => narrowDemand(demand, stored.get(demand.name)));
      const fresh = missing.filter(({ name }) => !stored.has(name));
      const inUse = await this.#store.findInUse(
        fresh.map(({ key, requests: [first] }) => ({ key, beforeMs: first?.sinceMs ?? 0 })),
      );
      for (const { key, name, known, requests: waiting } of missing) {
        const slots = inUse.has(name) ? 0 : (stored.get(name)?.slots ?? waiting[0]?.slots ?? 0);
        const targets = [...new Set(waiting.map(({ target }) => target))].slice(0, slots - known);
        await this.#store.append(key, known, { slots, targets });
        if (known === 0 && slots > 0) {
          this.#log.info('a new version: its first targets are scored', { ...key, targets: slots });
        }
      }
      open = missing.filter(({ vain }) => vain < MOST_VAIN_APPENDS);
    }
  }

  #stateOf(request: VersionRequest): VersionState {
    const samples = listKeys(request).map((key) => this.#samples.get(joinVersionKey(key)));
    if (samples.some((sample) => sample?.targets.has(request.target))) {
      return 'first';
    }
    return samples.every((sample) => sample?.isFull === true) ? 'late' : 'open';
  }

  /** Remembers a choice. `sample` is undefined for a version without one. */
  #remember(name: string, sample: VersionSample = { slots: Infinity, targets: [] }): void {
    this.#samples.set(name, { targets: new Set(sample.targets), isFull: isFull(sample) });
  }
}

/** Returns the rest of a demand after a look at the store; nothing when it is met or cannot be met. */
function narrowDemand(demand: Demand, sample: VersionSample | undefined): Demand[] {
  const requests = demand.requests.filter(({ target }) => sample?.targets.includes(target) !== true);
  if (requests.length === 0 || (sample !== undefined && isFull(sample))) {
    return [];
  }
  const known = sample?.targets.length ?? 0;
  return [{ ...demand, requests, known, vain: known === demand.known ? demand.vain + 1 : 0 }];
}

function listDemands(requests: readonly VersionRequest[]): Demand[] {
  const demands = new Map<string, { key: VersionKey; requests: VersionRequest[] }>();
  for (const request of requests) {
    for (const key of listKeys(request)) {
      const name = joinVersionKey(key);
      const demand = demands.get(name) ?? { key, requests: [] };
      demand.requests.push(request);
      demands.set(name, demand);
    }
  }
  return [...demands].map(([name, demand]) => ({ ...demand, name, vain: 0, known: -1 }));
}

function listKeys({ tenant, rule, versions }: VersionRequest): VersionKey[] {
  return versions.map((version) => ({ tenant, rule, ...version }));
}

function isFull({ slots, targets }: VersionSample): boolean {
  return targets.length >= slots;
}
