import type { EventEmitter } from 'node:events';

export interface ConnectionLimits {
  readonly total: number;
  /** Limit of the connections of one client address. Clients behind a proxy have one address. */
  readonly perAddress: number;
  /** Places above both limits, for probes only. */
  readonly kept: number;
}

export interface PlacedConnection {
  readonly address: string;
  /** True while a request that has arrived whole is answered. */
  readonly isBusy: () => boolean;
  readonly close: () => void;
}

/**
 * Places of the connections of one listener. At a limit, a new connection takes the place of the one that has been idle longest, of the
 * same address or of the address with the most connections. So silent connections keep nobody out, and no request under way is cut.
 */
export class ConnectionPlaces {
  readonly #limits: ConnectionLimits;
  /** Connections by address, the longest idle first. */
  readonly #open = new Map<string, Set<PlacedConnection>>();
  readonly #kept = new Set<PlacedConnection>();
  #count = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Gives a connection a place, `kept` for one that may only probe, or `none`. Closes an idle connection if need be. */
  take(connection: PlacedConnection): 'free' | 'kept' | 'none' {
    const { total, perAddress, kept } = this.#limits;
    const own = this.#open.get(connection.address) ?? new Set();
    const isAddressFull = own.size >= perAddress;
    if (isAddressFull || this.#count >= total) {
      const idle = findIdle(isAddressFull ? [own] : this.#bySize()) ?? findIdle([this.#kept]);
      if (idle !== undefined) {
        this.leave(idle);
        idle.close();
      }
    }
    if (own.size < perAddress && this.#count < total) {
      this.#open.set(connection.address, own.add(connection));
      this.#count += 1;
      return 'free';
    }
    if (this.#kept.size < kept) {
      this.#kept.add(connection);
      return 'kept';
    }
    return 'none';
  }

  /** Notes a request of the connection, or its end: now it is the last one to lose its place. */
  touch(connection: PlacedConnection): void {
    const own = this.#open.get(connection.address);
    if (own?.delete(connection) === true) {
      own.add(connection);
    }
  }

  leave(connection: PlacedConnection): void {
    this.#kept.delete(connection);
    const own = this.#open.get(connection.address);
    if (own?.delete(connection) === true) {
      this.#count -= 1;
      if (own.size === 0) {
        this.#open.delete(connection.address);
      }
    }
  }

  #bySize(): Set<PlacedConnection>[] {
    return [...this.#open.values()].sort((a, b) => b.size - a.size);
  }
}

function findIdle(sets: readonly Set<PlacedConnection>[]): PlacedConnection | undefined {
  for (const set of sets) {
    for (const connection of set) {
      if (!connection.isBusy()) {
        return connection;
      }
    }
  }
  return undefined;
}

interface PlacedSocket {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  destroy(): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/** Returns the identity of a connection, the same for a connection and its TLS socket. */
export function formatPeer({
  remoteAddress,
  remotePort,
}: Pick<PlacedSocket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Work on a connection, which keeps its place from `isWhole` until `end`. */
export interface ConnectionWork {
  /** True when the connection may only probe. */
  readonly isKept: boolean;
  readonly end: () => void;
}

/**
 * Holds the connections of a server to limits.
 * @param onDrop called for each connection that is closed for the sake of the limits
 * @returns the function that notes a request; `isWhole` says whether it has arrived whole
 */
export function limitConnections(
  server: EventEmitter,
  limits: ConnectionLimits,
  onDrop: () => void = () => undefined,
): (socket: PlacedSocket, isWhole: () => boolean) => ConnectionWork {
  const places = new ConnectionPlaces(limits);
  const open = new Map<string, { placed: PlacedConnection; work: Set<() => boolean>; isKept: boolean }>();
  // Before the server's own listener, which may begin to read.
  server.prependListener('connection', (socket: PlacedSocket) => {
    const peer = formatPeer(socket);
    const work = new Set<() => boolean>();
    const close = (): void => {
      onDrop();
      socket.destroy();
    };
    const isBusy = () => [...work].some((isWhole) => isWhole());
    const placed = { address: socket.remoteAddress ?? '', isBusy, close };
    const place = places.take(placed);
    if (place === 'none') {
      // The server's own listener still gets the socket.
      setImmediate(close);
      return;
    }
    const entry = { placed, work, isKept: place === 'kept' };
    open.set(peer, entry);
    socket.once('close', () => {
      places.leave(placed);
      if (open.get(peer) === entry) {
        open.delete(peer);
      }
    });
  });
  return (socket, isWhole) => {
    const entry = open.get(formatPeer(socket));
    if (entry === undefined) {
      return { isKept: false, end: () => undefined };
    }
    const { placed, work, isKept } = entry;
    work.add(isWhole);
    places.touch(placed);
    const end = (): void => {
      work.delete(isWhole);
      places.touch(placed);
    };
    return { isKept, end };
  };
}
