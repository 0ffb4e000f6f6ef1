/** Values of the parameters of a statement, by name. */
export type QueryParams = Record<string, unknown>;
