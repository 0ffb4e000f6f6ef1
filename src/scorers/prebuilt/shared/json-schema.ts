/** JSON Schemas of an integer, a number, a boolean and a string. */
export const INTEGER = { type: 'integer' } as const;
export const NUMBER = { type: 'number' } as const;
export const FLAG = { type: 'boolean' } as const;
export const TEXT = { type: 'string' } as const;

/** Schema of one of these words. */
export function enumSchema(words: readonly string[]): object {
  return { type: 'string', enum: words };
}

/** Schema of a list of such values. */
export function arraySchema(items: object): object {
  return { type: 'array', items };
}

/** Schema of an object with exactly these members, all of them required: constrained decoding needs this. */
export function objectSchema(properties: Readonly<Record<string, object>>): object {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}
