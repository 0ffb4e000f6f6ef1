import type { FailureKind, FailureSubject, IssueRow } from '../domain/failure.ts';
import type { Signature } from '../store/contracts/issues.ts';
import { findCause, listStems } from './compare-texts.ts';

/**
 * Least similarity of two masked texts of one issue: twice the number of words that both have, over the words of each (Dice). Errors of
 * one tool and type have few causes, so less is enough.
 */
const LEAST_SIMILARITY = 0.6;
const LEAST_OF_ERRORS = 0.5;

/** Most texts of one agent, kind and tool that are compared; further ones are issues of their own. */
const MAX_COMPARED = 10_000;

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
  return JSON.stringify([tenant, agent, kind, { ...subject, text: '', quote: '' }]);
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

/** Connects signatures that differ in their texts only: those with one cause or one contradicting quote, and those with similar words. */
function connectSimilar(signatures: readonly Signature[], sets: ReturnType<typeof createSets>): void {
  const firsts = new Map<string, Signature>();
  const different: { readonly stems: string[]; readonly signature: Signature }[] = [];
  for (const signature of signatures) {
    const stems = listStems(signature.subject.text ?? '').toSorted();
    const same = `words ${stems.join(' ')}`;
    if (!firsts.has(same)) {
      different.push({ stems, signature });
    }
    for (const link of [same, ...listLinks(signature)]) {
      const first = firsts.get(link) ?? signature;
      firsts.set(link, first);
      sets.join(joinKey(first), joinKey(signature));
    }
  }
  connectSimilarWords(different, sets, signatures.some(isError) ? LEAST_OF_ERRORS : LEAST_SIMILARITY);
}

/** Lists what makes two failures the same whatever their words are. */
function listLinks(signature: Signature): string[] {
  const cause = isError(signature) ? findCause(signature.subject) : undefined;
  return [
    ...(cause === undefined ? [] : [`cause ${cause}`]),
    ...signature.quotes.map((quote) => `quote ${quote}`),
  ];
}

function isError({ kind }: Signature): boolean {
  return kind === 'error' || kind === 'tool-error';
}

/**
 * Connects texts of which enough words are equal. Two such texts share one of their rarest words, so only these are looked up (R. Bayardo,
 * Y. Ma and R. Srikant, Scaling up all pairs similarity search, 2007).
 */
function connectSimilarWords(
  texts: readonly { readonly stems: readonly string[]; readonly signature: Signature }[],
  sets: ReturnType<typeof createSets>,
  leastSimilarity: number,
): void {
  const counts = new Map<string, number>();
  texts.forEach(({ stems }) => stems.forEach((stem) => counts.set(stem, (counts.get(stem) ?? 0) + 1)));
  const holders = new Map<string, number[]>();
  for (const [index, { stems, signature }] of texts.entries()) {
    // A text that is similar has as many of the words at least, so one of these.
    const least = Math.ceil((leastSimilarity / (2 - leastSimilarity)) * stems.length);
    const rarest = stems
      .toSorted((a, b) => (counts.get(a) ?? 0) - (counts.get(b) ?? 0) || (a < b ? -1 : 1))
      .slice(0, stems.length - least + 1);
    const own = new Set(stems);
    for (const other of new Set(rarest.flatMap((stem) => holders.get(stem) ?? []))) {
      const text = texts[other]!;
      const shared = text.stems.filter((stem) => own.has(stem)).length;
      if (2 * shared >= leastSimilarity * (stems.length + text.stems.length)) {
        sets.join(joinKey(text.signature), joinKey(signature));
      }
    }
    for (const stem of rarest) {
      const held = holders.get(stem) ?? [];
      held.push(index);
      holders.set(stem, held);
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

/** Words of the faults of a choice of tools. */
const CHOICES: Readonly<Record<string, (tool: string) => string>> = {
  missing: (tool) => `\`${tool}\` is not called`,
  unneeded: (tool) => `calls \`${tool}\` without need`,
  'wrong arguments': (tool) => `calls \`${tool}\` with wrong arguments`,
};

const TITLES: Readonly<Record<FailureKind, (subject: FailureSubject) => string>> = {
  'tool-error': ({ tool = '', errorType, text }) =>
    `tool \`${tool}\` fails: ${errorType || text || 'an error'}`,
  error: ({ errorType, text }) => `run fails: ${errorType || text || 'an error'}`,
  'tool-choice': ({ tool = '', verdict = '' }) => CHOICES[verdict]?.(tool) ?? `calls \`${tool}\` ${verdict}`,
  feedback: ({ text = '' }) => `users dislike: ${text}`,
  rule: ({ scorer = '', text = '' }) => `\`${scorer}\` fails${text === '' ? '' : `: ${text}`}`,
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
