/** Result of a Standard Schema's validation. */
type StandardResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

/** A schema of any library that follows standardschema.dev; with a JSON form where it can tell one. */
export interface StandardSchema<T> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): StandardResult<T> | Promise<StandardResult<T>>;
    readonly jsonSchema?: { input(options: { readonly target: 'draft-2020-12' }): Record<string, unknown> };
  };
}

/** A schema of the AI SDK. Replies are checked against its JSON Schema: its own check need not answer at once. */
export interface SdkSchema<T> {
  /** There for its type only. */
  readonly _type: T;
  readonly jsonSchema: object | PromiseLike<object>;
}
