import { nearest } from '../../domain/nearest.ts';
import { type JsonSchemaNode, knownKeysAt, schemaNodesAt } from '../json-schema.ts';
import { isAround, type KeyPath, showPath } from '../key-path.ts';

/** Key that a group does not have. */
interface Unknown {
  readonly schema: JsonSchemaNode;
  readonly value: unknown;
  /** Group that contains the key. */
  readonly group: unknown;
}

/** Limit of suggested places; a longer list does not help to choose. */
const MOST_PLACES = 3;

/** Number of steps within which a key with the same name is likelier than a misspelt key of the same group. */
const NEIGHBOURHOOD = 2;

/**
 * Explains an unknown key. It belongs to another alternative, is misspelt, belongs elsewhere
 * (`retention` at the top is `store.retention`), or none of these. `meant`: paths that it may have been meant for.
 */
export function unknownKey(
  key: string,
  path: KeyPath,
  { schema, value, group }: Unknown,
): { message: string; meant: readonly KeyPath[] } {
  const known = knownKeysAt(path, schema).filter((name) => name !== '$schema');
  if (known.includes(key)) {
    return { message: otherAlternative(key, path, { schema, group }), meant: [] };
  }
  const attribute = findCondition(key, known);
  const all = placesIn(schema, [], path).map((place) => ({
    ...place,
    distance: computeDistance(place.path, path),
  }));
  const places = all.filter(({ node }) => canHold(node, value));
  const near = [places, all]
    .map((some) => nearestNamed(key, some, NEIGHBOURHOOD))
    .find((found) => found.length > 0);
  const meant = near === undefined && attribute === undefined ? nearest(key, known) : undefined;
  if (meant !== undefined) {
    return { message: `unknown key; did you mean ${meant}?`, meant: [[...path, meant]] };
  }
  const homes =
    near ??
    (attribute === undefined
      ? [nearestNamed(key, places), findMisspelt(key, places)].find((found) => found.length > 0)
      : [[...path, ...attribute]]);
  if (homes !== undefined) {
    const names = homes.map((home) => showHome(home)).join(' or ');
    return { message: `unknown key here; did you mean ${names}?`, meant: homes };
  }
  if (known.length === 0) {
    return { message: 'unknown key; none is taken here: remove it', meant: [] };
  }
  const place = path.length === 0 ? 'at the top' : `in ${showPath(path)}`;
  return { message: `unknown key; known keys ${place}: ${known.join(', ')}`, meant: [] };
}

/**
 * Finds the condition that an attribute of OpenTelemetry stands for, where conditions are asked for: `service` for `service.name`,
 * `environment` for `deployment.environment.name`, otherwise the attribute itself.
 */
function findCondition(key: string, known: readonly string[]): KeyPath | undefined {
  if (!known.includes('attributes') || !key.includes('.')) {
    return undefined;
  }
  const subject =
    key
      .replace(/[._]name$/, '')
      .split('.')
      .at(-1) ?? '';
  return known.includes(subject) ? [subject] : ['attributes', key];
}

/** Explains a key of another alternative (of a detector): names the alternatives that have it. */
function otherAlternative(key: string, path: KeyPath, { schema, group }: Omit<Unknown, 'value'>): string {
  const nodes = schemaNodesAt(path, schema);
  const kinds = nodes
    .flatMap((node) => Object.entries(node.properties ?? {}))
    .find(([, child]) => 'const' in child);
  const name = kinds?.[0];
  const own: unknown =
    name !== undefined && group !== null && typeof group === 'object' ? Reflect.get(group, name) : undefined;
  if (name === undefined || typeof own !== 'string') {
    return 'cannot be used with the other keys here; remove it';
  }
  const owners = nodes
    .filter((node) => node.properties?.[key] !== undefined)
    .map((node) => String(node.properties?.[name]?.['const']));
  return `cannot be used with ${name}: ${own}, only with ${owners.join(', ')}; remove it`;
}

/** Place in the schema, and its steps from the group that contains the key. */
interface NearPlace {
  readonly path: KeyPath;
  readonly distance: number;
}

/** Returns the nearest places with a key of this name; empty when they are too many to choose from. */
function nearestNamed(
  name: string | undefined,
  places: readonly NearPlace[],
  within = Number.POSITIVE_INFINITY,
): KeyPath[] {
  const named = places.filter(({ path, distance }) => path.at(-1) === name && distance <= within);
  const least = Math.min(...named.map(({ distance }) => distance));
  const homes = named.filter(({ distance }) => distance === least).map(({ path }) => path);
  const unique = [...new Map(homes.map((home) => [showPath(home), home])).values()];
  return unique.length <= MOST_PLACES ? unique : [];
}

function findMisspelt(key: string, places: readonly NearPlace[]): KeyPath[] {
  const names = new Set(places.map(({ path }) => String(path.at(-1))));
  return key.length < 5 ? [] : nearestNamed(nearest(key, names), places);
}

interface SchemaPlace {
  readonly path: KeyPath;
  readonly node: JsonSchemaNode;
}

/** Returns every key of the schema. Names and list positions on the way to `near` are those of `near`. */
function placesIn(node: JsonSchemaNode, path: KeyPath, near: KeyPath): SchemaPlace[] {
  const alternatives = [...(node.anyOf ?? []), ...(node.oneOf ?? [])];
  const step = isAround(path, near) ? near[path.length] : undefined;
  const own = Object.entries(node.properties ?? {}).filter(([key]) => key !== '$schema');
  const named = node.additionalProperties;
  return [
    ...alternatives.flatMap((child) => placesIn(child, path, near)),
    ...own.flatMap(([key, child]) => [
      { path: [...path, key], node: child },
      ...placesIn(child, [...path, key], near),
    ]),
    ...(node.items === undefined
      ? []
      : placesIn(node.items, [...path, typeof step === 'number' ? step : '*'], near)),
    ...(typeof named === 'object'
      ? placesIn(named, [...path, typeof step === 'string' ? step : '<name>'], near)
      : []),
  ];
}

/** Counts the steps up from a group and down again to a place. */
function computeDistance(place: KeyPath, group: KeyPath): number {
  let shared = 0;
  while (shared < group.length && group[shared] === place[shared]) {
    shared += 1;
  }
  return group.length - shared + (place.length - shared);
}

function canHold(node: JsonSchemaNode, value: unknown): boolean {
  const alternatives = node.anyOf ?? node.oneOf;
  if (alternatives !== undefined) {
    return alternatives.some((one) => canHold(one, value));
  }
  if (value === null || value === undefined) {
    return true;
  }
  if (Array.isArray(value)) {
    return node.type === 'array';
  }
  if (typeof value === 'object') {
    const keys = Object.keys(value);
    const own = Object.keys(node.properties ?? {});
    const isOpen = typeof node.additionalProperties === 'object' || node.additionalProperties === true;
    return node.type === 'object' && (keys.length === 0 || isOpen || keys.some((key) => own.includes(key)));
  }
  return node.type === typeof value || (node.type === 'integer' && typeof value === 'number');
}

/** Formats a place for people; `*` means any list position. */
function showHome(home: KeyPath): string {
  return showPath(home).replaceAll('["<name>"]', '.<name>').replaceAll('["*"]', '[]');
}
