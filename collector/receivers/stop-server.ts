import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { formatPeer } from '../../src/domain/connection-places.ts';

/**
 * Watches the connections of a server. Returns a function that stops it: no new connections; connections without a request
 * under way are closed at once (also those that never sent anything, or are in a TLS handshake); the others are closed
 * after their reply or after the grace time.
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
