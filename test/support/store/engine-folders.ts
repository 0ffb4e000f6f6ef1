// Hook of Vitest around a whole run: makes the folder for the engines of the workers, and removes it. A worker is killed at its
// end, so it cannot do so itself.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'spanscore-engines-'));
  process.env['TEST_ENGINES'] = folder;
  // An engine whose worker has ended writes for a moment.
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
}
