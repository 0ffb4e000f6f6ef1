import { createServer, type Server } from 'node:net';

/**
 * Lowest port. Systems take the ports of connections, and of servers that ask for any port, from higher ranges, so these
 * ports stay free.
 */
const LOWEST = 15_000;
const HIGHEST = 32_000;

/** Finds different ports of 127.0.0.1 that are free now. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = new Map<number, Server>();
  while (servers.size < count) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    const server = await listening(port);
    if (server !== undefined) {
      servers.set(port, server);
    }
  }
  await Promise.all([...servers.values()].map((server) => new Promise((resolve) => server.close(resolve))));
  return [...servers.keys()];
}

/** Listens on a port; undefined when the port is in use. */
function listening(port: number): Promise<Server | undefined> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    );
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
