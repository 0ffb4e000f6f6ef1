import { ScorerError } from '../../../evals/scorer-error.ts';

/** What an option may be, by its name: a test and the words for it. */
export type OptionRules = Readonly<
  Record<string, { readonly fits: (value: unknown) => boolean; readonly is: string }>
>;

export const isBoolean = { fits: (value: unknown) => typeof value === 'boolean', is: 'true or false' };
export const isText = { fits: (value: unknown) => typeof value === 'string', is: 'a text' };
export const isFunction = { fits: (value: unknown) => typeof value === 'function', is: 'a function' };
export const isTextList = {
  fits: (value: unknown) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  is: 'a list of texts',
};
export const isPositiveNumber = {
  fits: (value: unknown) => typeof value === 'number' && Number.isFinite(value) && value > 0,
  is: 'a number above 0',
};

/**
 * Options come from configuration files too: refuses names that the scorer does not know and values of another kind, at
 * creation. An option that is undefined is one that was not given.
 */
export function checkOptions(scorerId: string, options: object, rules: OptionRules): void {
  for (const [name, value] of Object.entries(options)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) {
      const known = Object.keys(rules).join(', ') || 'none';
      throw refused(scorerId, name, `is unknown; options of this scorer: ${known}`);
    }
    if (value !== undefined && !rule.fits(value)) {
      throw refused(scorerId, name, `is ${shown(value)}; it must be ${rule.is}`);
    }
  }
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
