import { createServer } from 'node:net';

/** Ports of 127.0.0.1 on which nobody listens now, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  return Promise.all(
    servers.map((server) => {
      const address = server.address();
      return new Promise<number>((resolve) =>
        server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0)),
      );
    }),
  );
}
