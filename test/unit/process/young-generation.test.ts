import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

const MIB = 1024 * 1024;

/** Makes garbage, of which much lives for a while, in a process of its own. Returns the growth of its young generation, bytes. */
function measureGrowth(prelude: string): number {
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8';
    ${prelude}
    const readSize = () => getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size;
    const startSize = readSize();
    let living = [];
    for (let count = 0; count < 3_000_000; count += 1) {
      living.push({ count, text: 'row ' + count });
      if (living.length > 200_000) living = [];
    }
    console.log(readSize() - startSize);`;
  return Number(
    execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }),
  );
}

describe('the young generation of a process', () => {
  it('stays small in a process for the API alone, and grows with garbage in one with another role', () => {
    const module = new URL('../../../src/process/parts.ts', import.meta.url).href;
    const limit = (roles: string) =>
      `const { limitYoungGeneration } = await import('${module}'); limitYoungGeneration(${roles});`;

    expect(measureGrowth(limit("['api', 'scorer']"))).toBeGreaterThan(64 * MIB);
    // A collection under way has more pages for a moment: more than 20 MiB beside other work.
    expect(measureGrowth(limit("['api']"))).toBeLessThan(48 * MIB);
  });
});
