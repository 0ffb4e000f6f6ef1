/** An unchecked value, like the result of JSON.parse: its reader decides how to use it. */
export type Unchecked = ReturnType<typeof JSON.parse>;
