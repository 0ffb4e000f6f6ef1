import { hashNumber, SHARDS } from '../store/contracts/trace-shards.ts';

/** A member and its scorers. */
export interface Worker {
  readonly name: string;
  /** Cells (`joinCell`) of the member; `ANY_CELL` stands for all. */
  readonly cells: readonly string[];
}

/** Cell of a member that can do all work. */
export const ANY_CELL = '*';

/** Names the work of one scorer of one rule. */
export function joinCell(rule: string, scorer: string): string {
  return JSON.stringify([rule, scorer]);
}

/** Cells with the same owners, and the shards (`computeShard`) of them that one member owns. */
export interface Share {
  readonly cells: readonly string[];
  /** Null: all shards. */
  readonly shards: readonly number[] | null;
}

/** Owners of the cells of one member in every shard. */
export interface Division {
  /** Returns true when the member owns the cell in the shard. */
  owns(shard: number, cell: string): boolean;
  /** Returns the shares of the member. Cells that it cannot do, or owns in no shard, are left out. */
  shares(): readonly Share[];
}

export function canDo(worker: Worker, cell: string): boolean {
  return worker.cells.includes(cell) || worker.cells.includes(ANY_CELL);
}

/**
 * Divides cells among the workers that can do them by rendezvous hashing: when a worker comes or goes, only its share moves. A
 * worker that does not know a cell never owns it.
 */
export function divide(me: string, cells: readonly string[], workers: readonly Worker[]): Division {
  const ownersByNames = new Map<string, readonly string[]>();
  const ownersByCell = new Map<string, readonly string[]>();
  for (const cell of cells) {
    const able = workers.filter((worker) => canDo(worker, cell)).map(({ name }) => name);
    const names = JSON.stringify(able);
    const owners = ownersByNames.get(names) ?? assignOwners(able);
    ownersByNames.set(names, owners);
    ownersByCell.set(cell, owners);
  }
  return {
    owns: (shard, cell) => ownersByCell.get(cell)?.[shard] === me,
    shares: () =>
      [...Map.groupBy(cells, (cell) => ownersByCell.get(cell) ?? [])].flatMap(([owners, shared]): Share[] => {
        const shards = owners.flatMap((owner, shard) => (owner === me ? [shard] : []));
        return shards.length === 0
          ? []
          : [{ cells: shared, shards: shards.length === SHARDS ? null : shards }];
      }),
  };
}

/** Division of a process that owns all work. */
export function divideAlone(cells: readonly string[]): Division {
  return {
    owns: () => true,
    shares: () => (cells.length === 0 ? [] : [{ cells, shards: null }]),
  };
}

/** Returns the rank of a worker in each shard: the worker with the highest rank owns the shard. */
function rankShards(name: string): readonly number[] {
  return Array.from({ length: SHARDS }, (_, shard) => hashNumber(`${shard} ${name}`));
}

/**
 * Returns the owner of each shard.
 * @param findRanks ranks of a worker in all shards, for callers that keep them
 */
function assignOwners(names: readonly string[], findRanks = rankShards): readonly string[] {
  if (names.length === 0) {
    return [];
  }
  const workers = names.map((name) => ({ name, ranks: findRanks(name) }));
  return Array.from({ length: SHARDS }, (_, shard) => {
    const rankOf = ({ ranks }: (typeof workers)[number]) => ranks[shard] ?? 0;
    return workers.reduce((best, each) => (rankOf(each) > rankOf(best) ? each : best)).name;
  });
}
