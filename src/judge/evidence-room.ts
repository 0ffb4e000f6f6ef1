import { configuredJudges } from './judge-registry.ts';
import { currentJudgeScope } from './judge-scope.ts';

/**
 * Computes the characters that data like this text may have in one question to a configured judge, by default the default judge;
 * undefined without a limit.
 */
export function findEvidenceRoom(model: string | undefined, text: string): number | undefined {
  const judges = currentJudgeScope().judges ?? configuredJudges();
  const name = model ?? judges.defaultModel;
  return name === undefined ? undefined : judges.windowOf(name).roomFor(text);
}
