import type { AddressInfo, Server } from 'node:net';
import { ConfigError, readErrorMessage } from '../../src/domain/errors.ts';

/**
 * Listens on an address and returns it; port 0 means any free port. Throws a `ConfigError` that names the configuration
 * key.
 */
export async function listen(
  server: Server,
  where: { readonly host: string; readonly port: number },
  key: string,
): Promise<{ host: string; port: number }> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(where.port, where.host, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } catch (cause) {
    throw new ConfigError(
      `cannot receive OTLP at ${where.host}:${where.port}: ${readErrorMessage(cause)}; change ${key} (port 0 takes any free port)`,
      { ...where },
      cause,
    );
  }
  const { address, port } = server.address() as AddressInfo;
  return { host: address, port };
}
