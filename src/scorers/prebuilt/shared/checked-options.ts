import { nearest } from '../../../domain/nearest.ts';
import { ScorerError } from '../../../evals/scorer-error.ts';

/** Check of one option: a test and its words. */
export interface OptionRule {
  readonly fits: (value: unknown) => boolean;
  /** Words for "it must be …". */
  readonly is: string;
  /** Rules of the members, for an option that is an object. */
  readonly members?: OptionRules;
  /** Members that are taken and change nothing. */
  readonly ignoredMembers?: readonly string[];
}

/** Rules of options by name. */
export interface OptionRules {
  readonly [name: string]: OptionRule;
}

/** Options of a scorer without options. */
export type NoOptions = Readonly<Record<string, never>>;

export const isBoolean = { fits: (value: unknown) => typeof value === 'boolean', is: 'true or false' };
export const isText = { fits: (value: unknown) => typeof value === 'string', is: 'a text' };
export const isFilledText = {
  fits: (value: unknown) => typeof value === 'string' && value.trim() !== '',
  is: 'a text that is not empty',
};
export const isCount = {
  fits: (value: unknown) => typeof value === 'number' && Number.isInteger(value) && value >= 1,
  is: 'a whole number of 1 or more',
};
export const isOptionObject = {
  fits: (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value),
  is: 'an object',
};
const REASON_MODES: ReadonlySet<unknown> = new Set(['judge', 'template', false]);

export const isReasonMode = {
  fits: (value: unknown) => REASON_MODES.has(value),
  is: '"judge", "template" or false',
};
export const isFunction = { fits: (value: unknown) => typeof value === 'function', is: 'a function' };
export const isTextList = {
  fits: (value: unknown) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  is: 'a list of texts',
};
export const isPositiveNumber = {
  fits: (value: unknown) => typeof value === 'number' && Number.isFinite(value) && value > 0,
  is: 'a number above 0',
};
export const isShare = {
  fits: (value: unknown) => typeof value === 'number' && value >= 0 && value <= 1,
  is: 'a number from 0 to 1',
};
export const isAmount = {
  fits: (value: unknown) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
  is: 'a number of 0 or more',
};

/** Fault of one option: `options.<option>` and these words make a sentence. */
export interface OptionFault {
  readonly option: string;
  readonly fault: string;
}

/**
 * Finds the first option that the rules do not know or whose value is of another kind, members of options last. Names that
 * are `ignored` pass. An option that is undefined is one that was not given.
 */
export function findOptionFault(
  options: object,
  rules: OptionRules,
  ignored: readonly string[] = [],
): OptionFault | undefined {
  const given = Object.entries(options).filter(([name]) => !ignored.includes(name));
  for (const [option, value] of given) {
    const rule = Object.hasOwn(rules, option) ? rules[option] : undefined;
    if (rule === undefined) {
      return { option, fault: unknownName(option, Object.keys(rules)) };
    }
    if (value !== undefined && !rule.fits(value)) {
      return { option, fault: `is ${shown(value)}; it must be ${rule.is}` };
    }
  }
  for (const [option, value] of given) {
    const { members, ignoredMembers } = rules[option] ?? {};
    const fault =
      members === undefined ? undefined : findOptionFault((value ?? {}) as object, members, ignoredMembers);
    if (fault !== undefined) {
      return fault;
    }
  }
  return undefined;
}

/** Refuses options that break their rules, at creation: options come from configuration files too. */
export function checkOptions(scorerId: string, options: object, rules: OptionRules): void {
  const found = findOptionFault(options, rules);
  if (found !== undefined) {
    throw refused(scorerId, found.option, found.fault);
  }
}

/** Refuses, when a scorer is created, that one of these options is missing. */
export function checkGiven(scorerId: string, options: object, names: readonly string[]): void {
  const missing = names.find((name) => (options as Record<string, unknown>)[name] === undefined);
  if (missing !== undefined) {
    throw refused(scorerId, missing, 'is missing');
  }
}

function unknownName(name: string, known: readonly string[]): string {
  if (known.length === 0) {
    return 'is unknown; this scorer takes no options';
  }
  const meant = nearest(name, known);
  const hint = meant === undefined ? '' : `did you mean ${meant}? `;
  return `is unknown; ${hint}Options of this scorer: ${known.join(', ')}`;
}

function refused(scorerId: string, option: string, fault: string): ScorerError {
  return new ScorerError(`Scorer "${scorerId}": options.${option} ${fault}`, {
    id: 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_OPTIONS',
    details: { scorerId, option },
  });
}

function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? typeof value);
}
