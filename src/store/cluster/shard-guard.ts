import { ConfigError, StoreUnavailableError } from '../../domain/errors.ts';
import type { Database } from '../database.ts';
import { readDefinedServers } from './cluster-servers.ts';
import { checkShards } from './cluster-shards.ts';

/** Time for which a look at the definition of the cluster counts, milliseconds. */
const LOOK_EVERY_MS = 15_000;

/** Guard of the statements of a cluster. */
export interface ShardGuard {
  /** Begins to look. The shards have been compared before. */
  start(): void;
  /** Throws a `StoreUnavailableError` while the cluster has other shards than the stored rows: a server reloads its definition at any time. */
  check(): Promise<void>;
}

/** Creates the guard of a database. Only a definition that changed is compared with the recorded shards. */
export function createShardGuard(
  database: Pick<Database, 'name' | 'cluster' | 'outside'>,
  nowMs: () => number = () => performance.now(),
): ShardGuard {
  let isStarted = false;
  let compared: string | undefined;
  let lookedMs = Number.NEGATIVE_INFINITY;
  let look: Promise<void> = Promise.resolve();
  const compare = async () => {
    const servers = await readDefinedServers(database);
    const definition = JSON.stringify(servers.filter(({ cluster }) => cluster === database.cluster?.name));
    if (definition !== compared) {
      await checkShards(database);
      compared = definition;
    }
  };
  const lookAgain = async () => {
    try {
      await compare();
    } catch (error) {
      if (error instanceof ConfigError) {
        throw new StoreUnavailableError(error.message, { cause: error });
      }
      // The store was away: the next statement looks again.
      lookedMs = Number.NEGATIVE_INFINITY;
      throw error;
    }
  };
  return {
    start: () => {
      isStarted = true;
    },
    check: () => {
      if (isStarted && nowMs() - lookedMs >= LOOK_EVERY_MS) {
        lookedMs = nowMs();
        look = lookAgain();
      }
      return look;
    },
  };
}
