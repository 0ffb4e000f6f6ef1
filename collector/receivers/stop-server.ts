import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Watches a server's connections and returns how to stop it: no new connection, those without a request under way are
 * closed at once (also ones that never sent anything), the others once answered or when the grace time is over.
 */
export function stopperOf(server: Server): (graceMs: number) => Promise<void> {
  const idle = new Set<Socket>();
  server.on('connection', (socket) => {
    idle.add(socket);
    socket.on('close', () => idle.delete(socket));
  });
  server.on('request', ({ socket }, response) => {
    idle.delete(socket);
    response.on('close', () => {
      if (!socket.destroyed) {
        idle.add(socket);
      }
    });
  });
  return async (graceMs) => {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of idle) {
        socket.destroy();
      }
      timer = setTimeout(() => server.closeAllConnections(), graceMs);
    });
    clearTimeout(timer);
  };
}
