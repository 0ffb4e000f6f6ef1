import { renameSync, writeFileSync } from 'node:fs';

/**
 * Writes a file of this user in one step: readers, also after a kill, see the former file or the new one. Only one process at a time may
 * call it for a path.
 */
export function writeWhole(path: string, text: string): void {
  const draft = `${path}.draft`;
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, path);
}
