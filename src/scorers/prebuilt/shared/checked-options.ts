import { nearest } from '../../../domain/nearest.ts';
import { ScorerError } from '../../../evals/scorer-error.ts';

/** Checks of options by name: a test, and its words for the error. */
export type OptionRules = Readonly<
  Record<string, { readonly fits: (value: unknown) => boolean; readonly is: string }>
>;

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
export const isObject = {
  fits: (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value),
  is: 'an object',
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

/**
 * Checks options when a scorer is created; they may come from configuration files. Refuses unknown names and values of the
 * wrong type, except names in `ignored`. An undefined option counts as absent.
 */
export function checkOptions(
  scorerId: string,
  options: object,
  rules: OptionRules,
  ignored: readonly string[] = [],
): void {
  for (const [name, value] of Object.entries(options).filter(([given]) => !ignored.includes(given))) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) {
      throw refused(scorerId, name, unknownName(name, Object.keys(rules)));
    }
    if (value !== undefined && !rule.fits(value)) {
      throw refused(scorerId, name, `is ${shown(value)}; it must be ${rule.is}`);
    }
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
