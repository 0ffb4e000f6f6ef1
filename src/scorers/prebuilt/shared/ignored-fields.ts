import { comparedFields } from '../../utils/compare-trajectories.ts';
import { FORMER_OPTIONS } from './expectation-options.ts';
import { isObject } from '../../../domain/unknown-values.ts';

/** Fields that every step has. All but the first two describe where or how long, not which step, and are never compared. */
const STEP_FIELDS: ReadonlySet<string> = new Set(['name', 'stepType', 'children', 'durationMs', 'metadata']);

const warned = new Set<string>();

/** Warns about names that have no effect; once for the same names in the life of the process. */
export function warnIgnored(scorerId: string, names: readonly string[]): void {
  const message = `Scorer "${scorerId}" ignores ${[...new Set(names)].join(', ')}: remove what changes no score`;
  if (names.length > 0 && !warned.has(message)) {
    warned.add(message);
    process.emitWarning(message, { type: 'SpanscoreWarning', code: 'SPANSCORE_IGNORED_FIELDS' });
  }
}

/** Lists the options of older comparisons among these options. */
export function formerOptions(options: object): string[] {
  return Object.keys(options).filter((name) => FORMER_OPTIONS.includes(name));
}

/** Lists the fields of expected steps, and of their nested steps, that are not compared. */
export function ignoredStepFields(steps: unknown, path = 'steps'): string[] {
  if (!Array.isArray(steps)) {
    return [];
  }
  return steps.filter(isObject).flatMap((step) => {
    const compared = comparedFields(step['stepType']);
    const ignored = Object.keys(step).filter(
      (name) => step[name] !== undefined && !STEP_FIELDS.has(name) && !compared.includes(name),
    );
    const { children } = step;
    return [
      ...ignored.map(
        (name) => `${path}[].${name}${step['stepType'] === undefined ? ' (without stepType)' : ''}`,
      ),
      ...(isObject(children) ? listIgnored(children, `${path}[].children.`) : []),
    ];
  });
}

/** Lists the members of an expectation that have no effect. */
export function listIgnored(expectation: object, path = ''): string[] {
  const steps: unknown = (expectation as Record<string, unknown>)['steps'];
  return [
    ...formerOptions(expectation).map((name) => `${path}${name}`),
    ...ignoredStepFields(steps, `${path}steps`),
  ];
}
