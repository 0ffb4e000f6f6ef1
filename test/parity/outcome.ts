import { differingFacts } from './allowed-difference.ts';
import type { Comparison } from './comparison.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Recorded and present outcome of a case in a few words; where they are equal, the other differences. */
export function formatChange(comparison: Comparison): string {
  const before = readOutcome(comparison.recorded as Fields);
  const now = readOutcome(comparison.ours as Fields);
  return before === now ? `${now}, other ${differingFacts(comparison).join(', ')}` : `${before} → ${now}`;
}

function readOutcome(facts: Fields): string {
  const asked = facts['callCount'] ?? facts['judgeCalls'];
  if (asked === undefined) {
    return readResult(facts);
  }
  return `${readResult(facts)} (${Number(asked)} ${asked === 1 ? 'question' : 'questions'})`;
}

function readResult(facts: Fields): string {
  if ('notScorable' in facts) {
    return 'not scorable';
  }
  if ('error' in facts) {
    const { failedStep } = Object(facts['error']) as { failedStep?: string };
    return failedStep === undefined ? 'error' : `error in ${failedStep}`;
  }
  if ('value' in facts) {
    const { scores, errors } = Object(facts['value']) as { scores?: unknown; errors?: unknown[] };
    const failed = errors === undefined ? '' : `, ${errors.length} failures reported`;
    return `scores ${plain(scores)}${failed}`;
  }
  return plain(facts['score']);
}

function plain(value: unknown): string {
  const { $number, $undefined } = Object(value) as Fields;
  if ($undefined !== undefined) {
    return 'undefined';
  }
  return typeof $number === 'string' ? $number : JSON.stringify(value).replace('{"$number":"NaN"}', 'NaN');
}
