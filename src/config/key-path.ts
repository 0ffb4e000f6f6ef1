/** Path of a value in a configuration: keys and list positions. */
export type KeyPath = readonly (string | number)[];

/** Returns the path of fixed keys, written with points. */
export function toPath(keys: string): KeyPath {
  return keys.split('.');
}

/** Formats a path for people: `rules[0].where.attributes["customer.tier"]`. The root is `(the whole file)`. */
export function showPath(path: KeyPath): string {
  const text = path.map((step, index) => {
    if (typeof step === 'number') {
      return `[${step}]`;
    }
    if (!/^[\w$-]+$/.test(step)) {
      return `[${JSON.stringify(step)}]`;
    }
    return index === 0 ? step : `.${step}`;
  });
  return text.length === 0 ? '(the whole file)' : text.join('');
}

/** True when the outer path contains the inner path, or equals it. */
export function isAround(outer: KeyPath, inner: KeyPath): boolean {
  return outer.length <= inner.length && outer.every((step, index) => step === inner[index]);
}

export function isSame(a: KeyPath, b: KeyPath): boolean {
  return a.length === b.length && isAround(a, b);
}

/** Returns the value at a path, or undefined. */
export function valueAt(root: unknown, path: KeyPath): unknown {
  let value = root;
  for (const step of path) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, step)) {
      return undefined;
    }
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/** Returns a copy of `root` with `value` at a path of keys. Creates missing objects on the way. */
export function withValueAt(root: unknown, path: KeyPath, value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) {
    return value;
  }
  if (Array.isArray(root)) {
    return root.map((item: unknown, index) => (index === step ? withValueAt(item, rest, value) : item));
  }
  const base = root !== null && typeof root === 'object' ? (root as Record<string, unknown>) : {};
  return { ...base, [step]: withValueAt(base[step], rest, value) };
}

/** Lists every scalar in a value with its path; empty lists and objects count as scalars. */
export function listLeaves(root: unknown, path: KeyPath = []): { path: KeyPath; value: unknown }[] {
  if (root === null || typeof root !== 'object') {
    return root === undefined ? [] : [{ path, value: root }];
  }
  const members: [string | number, unknown][] = Array.isArray(root)
    ? root.map((item: unknown, index) => [index, item])
    : Object.entries(root);
  if (members.length === 0) {
    return [{ path, value: root }];
  }
  return members.flatMap(([step, member]) => listLeaves(member, [...path, step]));
}
