import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BoundScorer } from '../../../src/scoring/select/rule.ts';
import { OwnScorers } from '../../../src/scorers/own/pool.ts';
import type { OwnScorerSpec } from '../../../src/scorers/own/worker.ts';
import { createLog } from '../../../src/telemetry/log.ts';

const MIB = 1024 * 1024;

/** Scorers from modules in a temporary folder, each in real child processes. */
export class OwnScorerWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'spanscore-own-'));
  /** Log lines. */
  readonly logged: string[] = [];
  readonly own = new OwnScorers(
    createLog('info', { destination: { write: (line) => void this.logged.push(line) } }),
  );

  /** Writes a module whose default export is a scorer with this `run`. */
  writeRun(name: string, run: string): string {
    return this.writeModule(name, `export default { id: '${name}', judgeModel: '', run: ${run} };`);
  }

  writeModule(name: string, source: string): string {
    const path = join(this.folder, `${name}.ts`);
    writeFileSync(path, source);
    return path;
  }

  /** Starts a scorer with this text as its `run`. */
  async bind(name: string, run: string, limits: Partial<OwnScorerSpec> = {}): Promise<BoundScorer> {
    return this.bindModule(name, this.writeRun(name, run), limits);
  }

  async bindModule(name: string, path: string, limits: Partial<OwnScorerSpec> = {}): Promise<BoundScorer> {
    const own = await this.own.start({
      name,
      path,
      judge: undefined,
      defaultJudge: undefined,
      environment: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' },
      timeoutMs: 20_000,
      loadWithinMs: 60_000,
      memoryBytes: 256 * MIB,
      ...limits,
    });
    return { name, scorer: own.scorer, own };
  }

  /** Reads the value of one scorer's metric. */
  reading(metric: string, scorer: string): number | undefined {
    const found = this.own
      .readings()
      .find(({ name, labels }) => name === `spanscore.guest.${metric}` && labels?.['scorer'] === scorer);
    return found?.value;
  }

  async close(): Promise<void> {
    await this.own.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
