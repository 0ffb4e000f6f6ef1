import { createServer, type Server } from 'node:net';

/** Below every range from which systems take ports for connections and for servers that ask for any: nobody gets one by chance. */
const LOWEST = 15_000;
const HIGHEST = 32_000;

/** Ports of 127.0.0.1 on which nobody listens now, all different. */
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

/** Undefined where the port is taken. */
function listening(port: number): Promise<Server | undefined> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    );
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
