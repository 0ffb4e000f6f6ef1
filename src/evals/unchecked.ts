/** Values that nobody has described: their reader takes them as it likes, like parsed JSON. */
export type Unchecked = ReturnType<typeof JSON.parse>;
