import { createJudgeRegistry, type JudgeRegistry } from '../../judge/judge-registry.ts';
import { durationMs, type Config } from '../config/index.ts';

/** Creates the registry of the judges of a configuration. */
export function createConfiguredJudges({ judges }: Config): JudgeRegistry {
  const options = Object.entries(judges.options).map(([judge, { timeout, ...others }]) => [
    judge,
    { ...others, timeoutMs: timeout === undefined ? undefined : durationMs(timeout) },
  ]);
  return createJudgeRegistry({ ...judges, options: Object.fromEntries(options) });
}
