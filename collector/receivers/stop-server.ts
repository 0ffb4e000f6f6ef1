import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Watches a server's connections and returns how to stop it: no new connection, those without a request under way are
 * closed at once (also ones that never sent anything, or are still agreeing on TLS), the others once answered or when the
 * grace time is over.
 */
export function createStopper(server: Server): (graceMs: number) => Promise<void> {
  const open = new Map<string, Socket>();
  const idle = new Set<string>();
  server.on('connection', (socket: Socket) => {
    const peer = formatPeer(socket);
    open.set(peer, socket);
    idle.add(peer);
    socket.on('close', () => {
      open.delete(peer);
      idle.delete(peer);
    });
  });
  server.on('request', ({ socket }, response) => {
    const peer = formatPeer(socket);
    idle.delete(peer);
    response.on('close', () => {
      if (open.has(peer)) {
        idle.add(peer);
      }
    });
  });
  return async (graceMs) => {
    let timer: NodeJS.Timeout | undefined;
    const destroyAll = (peers: Iterable<string>): void => {
      for (const peer of peers) {
        open.get(peer)?.destroy();
      }
    };
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      destroyAll([...idle]);
      timer = setTimeout(() => destroyAll([...open.keys()]), graceMs);
    });
    clearTimeout(timer);
  };
}

/** Tells connections apart; the same for a connection and for the TLS that is spoken over it. */
export function formatPeer({
  remoteAddress,
  remotePort,
}: Pick<Socket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress} ${remotePort}`;
}
