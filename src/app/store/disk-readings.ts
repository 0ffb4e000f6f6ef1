import { statfs } from 'node:fs/promises';
import type { Reading } from '../../telemetry/metrics.ts';

/** Returns the metrics of the disk with a data directory. Free is what this user may write: some systems reserve a part for root. */
export async function diskReadings(dataDir: string): Promise<Reading[]> {
  const { bavail, blocks, bsize } = await statfs(dataDir);
  return [
    { name: 'spanscore.disk.free', value: bavail * bsize },
    { name: 'spanscore.disk.limit', value: blocks * bsize },
  ];
}
