import type { FailureKind, FailureSubject, IssueRow } from '../domain/failure.ts';
import type { Signature } from '../store/contracts/issues.ts';
import { listShingles } from './mask-text.ts';

/** Least similarity (Jaccard, of pairs of words) of two masked texts of one issue. */
export const LEAST_SIMILARITY = 0.6;

/** Most texts of one agent, kind and tool that are compared; further ones are issues of their own. */
const MAX_COMPARED = 2_000;

/** Signatures of one issue, the earliest first. */
export type SignatureSet = readonly [Signature, ...Signature[]];

/**
 * Groups signatures to issues: connected sets of equal and similar ones, so that the order of arrival changes nothing. Signatures that
 * stand in one stored issue stay together.
 */
export function groupSignatures(
  signatures: readonly Signature[],
  stored: readonly Pick<IssueRow, 'tenant' | 'issueId' | 'aliases' | 'apart'>[],
): SignatureSet[] {
  const sets = createSets(signatures.map(joinKey), listApart(stored));
  const known = new Set(signatures.map(joinKey));
  for (const { tenant, issueId, aliases } of stored) {
    const [first, ...others] = [issueId, ...aliases]
      .map((id) => `${tenant} ${id}`)
      .filter((key) => known.has(key));
    others.forEach((other) => sets.join(first ?? other, other));
  }
  // What people split comes first: a similar failure joins one side.
  for (const similar of Map.groupBy(signatures, joinComparedKey).values()) {
    connectSimilar(similar.toSorted(compareFirst).slice(0, MAX_COMPARED), sets);
  }
  return [...Map.groupBy(signatures, (signature) => sets.find(joinKey(signature))).values()].map(
    (members) => members.toSorted(compareFirst) as unknown as SignatureSet,
  );
}

function joinKey({ tenant, signatureId }: Pick<Signature, 'tenant' | 'signatureId'>): string {
  return `${tenant} ${signatureId}`;
}

/** Only texts with the same other parts are compared. */
function joinComparedKey({ tenant, agent, kind, subject }: Signature): string {
  return JSON.stringify([tenant, agent, kind, { ...subject, text: '' }]);
}

function compareFirst(a: Signature, b: Signature): number {
  return (
    a.firstSeen - b.firstSeen ||
    (a.firstTrace < b.firstTrace
      ? -1
      : a.firstTrace > b.firstTrace
        ? 1
        : a.signatureId < b.signatureId
          ? -1
          : 1)
  );
}

function connectSimilar(signatures: readonly Signature[], sets: ReturnType<typeof createSets>): void {
  const shingles = signatures.map(({ subject }) => listShingles(subject.text ?? ''));
  const holders = new Map<string, number[]>();
  for (const [index, own] of shingles.entries()) {
    const shared = new Map<number, number>();
    for (const shingle of own) {
      const others = holders.get(shingle) ?? [];
      others.forEach((other) => shared.set(other, (shared.get(other) ?? 0) + 1));
      holders.set(shingle, [...others, index]);
    }
    for (const [other, count] of shared) {
      const all = own.size + (shingles[other]?.size ?? 0) - count;
      if (count / all >= LEAST_SIMILARITY) {
        sets.join(joinKey(signatures[other]!), joinKey(signatures[index]!));
      }
    }
  }
}

/** Lists the pairs of signatures that are in issues which people split: of each issue, one stands for all. */
function listApart(
  stored: readonly Pick<IssueRow, 'tenant' | 'issueId' | 'aliases' | 'apart'>[],
): readonly (readonly [string[], string[]])[] {
  const idsOf = new Map(
    stored.flatMap(({ tenant, issueId, aliases }) => {
      const ids = [issueId, ...aliases].map((id) => `${tenant} ${id}`);
      return ids.map((id) => [id, ids] as const);
    }),
  );
  return stored.flatMap(({ tenant, issueId, apart }) =>
    apart.flatMap((id) => {
      const others = idsOf.get(`${tenant} ${id}`);
      return others === undefined ? [] : [[idsOf.get(`${tenant} ${issueId}`) ?? [], others] as const];
    }),
  );
}

/**
 * Creates disjoint sets of keys (union and find).
 * @param apart lists of keys that a join never brings together
 */
function createSets(keys: readonly string[], apart: readonly (readonly [string[], string[]])[]) {
  const parents = new Map(keys.map((key) => [key, key]));
  const find = (key: string): string => {
    let root = key;
    while (parents.get(root) !== root) {
      root = parents.get(root) ?? root;
    }
    parents.set(key, root);
    return root;
  };
  const has = (side: readonly string[], root: string) =>
    side.some((key) => parents.has(key) && find(key) === root);
  const isApart = (a: string, b: string) =>
    apart.some(([left, right]) => (has(left, a) && has(right, b)) || (has(left, b) && has(right, a)));
  return {
    find,
    join: (a: string, b: string) => {
      const [left, right] = [find(a), find(b)];
      if (left !== right && !isApart(left, right)) {
        parents.set(right, left);
      }
    },
  };
}

/** Words of the faults of an answer. */
const ANSWERS: Readonly<Record<string, string>> = { refusal: 'a refusal', apology: 'an apology' };

/** Titles by kind. */
const TITLES: Readonly<Record<FailureKind, (subject: FailureSubject) => string>> = {
  'tool-error': ({ tool = '', errorType, text }) =>
    `tool \`${tool}\` fails: ${errorType || text || 'an error'}`,
  error: ({ errorType, text }) => `run fails: ${errorType || text || 'an error'}`,
  loop: ({ tool = '' }) =>
    tool.includes(' → ') ? `calls ${tool} in circles` : `calls \`${tool}\` again and again`,
  answer: ({ answer = '' }) => `answer is ${ANSWERS[answer] ?? answer}`,
  claim: ({ tool, path = '', verdict = '', text = '' }) =>
    tool === undefined
      ? `answer has a claim that is ${verdict}: ${text}`
      : `answer contradicts \`${tool}\`${path === '' ? '' : `: ${path}`}`,
};

/** Formats the title of an issue, by rule. */
export function formatTitle(kind: FailureKind, subject: FailureSubject): string {
  return TITLES[kind](subject);
}
