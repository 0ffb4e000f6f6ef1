/** A whole number, a number, a truth value and a text, as JSON Schemas. */
export const INTEGER = { type: 'integer' } as const;
export const NUMBER = { type: 'number' } as const;
export const FLAG = { type: 'boolean' } as const;
export const TEXT = { type: 'string' } as const;

/** One of these words. */
export function enumSchema(words: readonly string[]): object {
  return { type: 'string', enum: words };
}

/** A list of such values. */
export function arraySchema(items: object): object {
  return { type: 'array', items };
}

/** An object with exactly these members, all of them required: what constrained decoding asks for. */
export function objectSchema(properties: Readonly<Record<string, object>>): object {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}
