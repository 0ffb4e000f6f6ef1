import { chmod, mkdir, realpath } from 'node:fs/promises';
import { ConfigError, readErrorMessage } from '../../../domain/errors.ts';
import { engineFolder } from '../engine-folder.ts';

/** Creates the directory, for this user only. Returns its real path. */
export async function prepareDirectory(path: string): Promise<string> {
  try {
    await mkdir(engineFolder(path), { recursive: true, mode: 0o700 });
    await chmod(path, 0o700);
    return await realpath(path);
  } catch (error) {
    throw new ConfigError(
      `The data directory ${path} cannot be used: ${readErrorMessage(error)}. Set \`store.dataDir\` to a writable directory.`,
      { dataDir: path },
      error,
    );
  }
}
