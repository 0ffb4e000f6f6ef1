import { isDeepStrictEqual } from 'node:util';
import { countLiveScorers } from './aggregates/refresh-aggregates.ts';
import type { Caller } from './api/access/request-access.ts';
import { openTenantStores, type ApiStoreDeps, type ServeApi } from './api/serve-api.ts';
import { createServeStatus } from './api/serve-status.ts';
import type { TenantStore } from './api/tenant-store.ts';
import { createConfigControl, type ConfigControl, type PreparedRevision } from './config/config-control.ts';
import { configJsonSchema, type Config } from './configuration.ts';
import { stopParts, type StartedPart } from './process/parts.ts';
import { withoutPurged } from './purge/purged-traces.ts';
import { loadParts, type ScorerRole, type ServeParts } from './serve-scorer.ts';
import { openOwnStore, readingTerms, type StoreConnection } from './store/connection/connect-store.ts';
import type { Log } from './telemetry/log.ts';

/** Place of the configuration of a process. */
export interface ConfigPlace {
  /** Absolute path of the file; undefined without one. */
  readonly file: string | undefined;
  /**
   * Loads the configuration anew. Throws a `ConfigError` that lists every fault.
   * @param text content in place of the file's
   */
  readonly load: (text?: string) => Promise<Config>;
}

/** Tokens of the senders of spans, which a reload may change. */
export interface Senders {
  tokens: Config['auth']['tokens'];
}

/** Stores of the API, and what a process that scores adds. */
type ApiStores = Pick<ApiStoreDeps, 'opened' | 'store' | 'purged' | 'kit' | 'reads'>;

/** Parts of a process that follow its configuration. */
interface RevisedParts {
  readonly initial: ServeParts;
  readonly stores: ApiStores;
  readonly scorer: ScorerRole | undefined;
  readonly connection: StoreConnection;
  readonly senders: Senders;
  readonly hasApi: boolean;
  /** Parts of the status that no reload changes. */
  readonly status: Omit<Parameters<typeof createServeStatus>[0], 'config' | 'control'>;
}

interface ControlDeps {
  /** Parts to stop; the list changes with each revision. */
  readonly started: StartedPart[];
  readonly log: Log;
  readonly signal: AbortSignal | undefined;
  readonly api: Pick<ServeApi, 'replace'>;
  readonly source: ConfigPlace | undefined;
}

/** Longest time of a request by a former configuration, milliseconds; its parts stop after it. */
const LAST_REQUEST_MS = 60_000;

/**
 * Opens the stores of the API by the first configuration, and the control of further ones. A revision is all that is made from one
 * configuration: `prepare` makes it ready, `commit` puts it in force, and what began before ends under its own revision.
 */
export async function openRevisions(
  revised: RevisedParts,
  deps: ControlDeps,
): Promise<{
  /** Undefined for a process that cannot load its configuration again. */
  readonly control: ConfigControl | undefined;
  /** Undefined in a process without the role `api`. */
  readonly findStore: ((caller: Caller) => TenantStore) | undefined;
}> {
  const { initial, scorer, hasApi } = revised;
  const { source, started, log } = deps;
  const openStores = async (parts: ServeParts, stores: ApiStores, owned: StartedPart[]) => {
    const readStatus = createServeStatus({ ...revised.status, config: parts.config, control });
    return openTenantStores(parts.config, readStatus, { ...stores, control, started: owned, log });
  };
  const revisions = new Revisions(revised, deps, hasApi ? openStores : undefined);
  const control =
    source &&
    createConfigControl({
      source: { file: source.file, load: async (text?: string) => loadParts(await source.load(text)) },
      initial,
      schema: configJsonSchema(),
      prepare: (parts) => revisions.prepare(parts),
      countOthers: async () => {
        const all = await countLiveScorers(revised.stores.store.duties);
        return Math.max(0, all - (scorer === undefined ? 0 : 1));
      },
      log,
    });
  const stores = { ...revised.stores, ...scorer?.forApi };
  return { control, findStore: hasApi ? await openStores(initial, stores, started) : undefined };
}

type OpenStores = (
  parts: ServeParts,
  stores: ApiStores,
  owned: StartedPart[],
) => Promise<(caller: Caller) => TenantStore>;

/** The revision in force, and those that are made ready. */
class Revisions {
  readonly #revised: RevisedParts;
  readonly #deps: ControlDeps;
  readonly #openStores: OpenStores | undefined;
  #current: {
    readonly parts: ServeParts;
    readonly stores: ApiStores;
    readonly owned: readonly StartedPart[];
  };

  constructor(revised: RevisedParts, deps: ControlDeps, openStores: OpenStores | undefined) {
    this.#revised = revised;
    this.#deps = deps;
    this.#openStores = openStores;
    this.#current = { parts: revised.initial, stores: revised.stores, owned: [] };
  }

  /** Makes everything ready that can fail. */
  async prepare(parts: ServeParts): Promise<PreparedRevision> {
    const reading = await this.#openReading(parts);
    const owned: StartedPart[] = reading === undefined ? [] : [reading.part];
    let role: Awaited<ReturnType<ScorerRole['prepare']>> | undefined;
    const drop = async () => {
      await role?.drop();
      await stopParts(owned, this.#deps.log);
    };
    try {
      role = await this.#revised.scorer?.prepare(parts, reading?.stores.store);
      const stores = { ...this.#current.stores, ...reading?.stores, ...role?.forApi };
      const findStore = await this.#openStores?.(parts, stores, owned);
      return {
        drop,
        commit: async () => {
          await role?.commit();
          this.#putInForce(parts, stores, owned);
          this.#deps.api.replace(parts.config.auth.tokens, findStore);
        },
      };
    } catch (error) {
      await drop();
      throw error;
    }
  }

  #putInForce(parts: ServeParts, stores: ApiStores, owned: StartedPart[]): void {
    const { started } = this.#deps;
    const former = this.#current.owned.filter(({ stage }) => stage !== 'store');
    this.#revised.senders.tokens = parts.config.auth.tokens;
    this.#current = { parts, stores, owned };
    started.push(...owned);
    setTimeout(() => void this.#stop(former), LAST_REQUEST_MS).unref();
  }

  /** Stops the parts of a former revision that requests had, and forgets them. Its store may still be read by traces. */
  async #stop(parts: readonly StartedPart[]): Promise<void> {
    const { started, log } = this.#deps;
    parts.forEach((part) => started.splice(started.indexOf(part), 1));
    await stopParts(parts, log).catch(() => undefined);
  }

  /** Opens the store that reads by other conventions; undefined for equal ones. */
  async #openReading({ config }: ServeParts) {
    const { connection } = this.#revised;
    if (isDeepStrictEqual(config.conventions, this.#current.parts.config.conventions)) {
      return undefined;
    }
    const options = { ...connection.options, reading: readingTerms(config) };
    const opened = await openOwnStore({ ...connection, options }, this.#deps.log, this.#deps.signal);
    const part: StartedPart = { name: 'store', stage: 'store', stop: () => opened.close() };
    return { part, stores: { opened, store: withoutPurged(opened, this.#current.stores.purged) } };
  }
}
