/** Piece of an answer; with the numbers of the claims that it makes. */
export interface AnswerPart {
  readonly text: string;
  readonly claims: readonly number[];
}

/** Answer with the places of its claims. */
export interface MarkedAnswer {
  readonly parts: readonly AnswerPart[];
  /** Numbers of claims that stand nowhere in the answer. */
  readonly elsewhere: readonly number[];
}

interface Place {
  readonly from: number;
  readonly to: number;
}

/** Least part of the words of a claim that a clause must have to be its place. */
const LEAST_OVERLAP = 0.5;

/** Marks claims in the answer that makes them: literally, else the clause that shares the most words with the claim. */
export function markAnswer(answer: string, claims: readonly string[]): MarkedAnswer {
  const clauses = listClauses(answer);
  const places = new Map<number, { place: Place; claims: number[] }>();
  const elsewhere: number[] = [];
  for (const [index, claim] of claims.entries()) {
    const place = findLiterally(answer, claim) ?? findClause(answer, clauses, claim);
    const near = [...places.values()].find(
      ({ place: other }) => place !== undefined && place.from < other.to && other.from < place.to,
    );
    if (place === undefined) {
      elsewhere.push(index);
    } else if (near === undefined) {
      places.set(place.from, { place, claims: [index] });
    } else {
      near.claims.push(index);
    }
  }
  return { parts: cut(answer, [...places.values()]), elsewhere };
}

function cut(
  answer: string,
  marks: readonly { readonly place: Place; readonly claims: readonly number[] }[],
): AnswerPart[] {
  const parts: AnswerPart[] = [];
  let at = 0;
  for (const { place, claims } of marks.toSorted((a, b) => a.place.from - b.place.from)) {
    parts.push({ text: answer.slice(at, place.from), claims: [] });
    parts.push({ text: answer.slice(place.from, place.to), claims });
    at = place.to;
  }
  return [...parts, { text: answer.slice(at), claims: [] }].filter(({ text }) => text !== '');
}

function findLiterally(answer: string, claim: string): Place | undefined {
  const wanted = claim.trim().replace(/[.!?]+$/u, '');
  const from = wanted === '' ? -1 : answer.toLowerCase().indexOf(wanted.toLowerCase());
  return from === -1 ? undefined : { from, to: from + wanted.length };
}

/** Splits at the ends of sentences, at line feeds, and before a second statement of a sentence. */
function listClauses(answer: string): Place[] {
  const clauses: Place[] = [];
  for (const { 0: text, index } of answer.matchAll(/[^.!?;\n]+(?:[.!?;]+(?=\S)[^.!?;\n]*)*/gu)) {
    let from = index;
    for (const piece of text.split(/(?<=,)\s|\s(?=(?:and|but|so|because)\s)/u)) {
      const lead = piece.length - piece.trimStart().length;
      clauses.push({ from: from + lead, to: from + piece.trimEnd().length });
      from += piece.length + 1;
    }
  }
  return clauses.filter(({ from, to }) => to > from);
}

function findClause(answer: string, clauses: readonly Place[], claim: string): Place | undefined {
  const wanted = wordsOf(claim);
  const scored = clauses.map((place) => {
    const words = wordsOf(answer.slice(place.from, place.to));
    const shared = [...wanted].filter((word) => words.has(word)).length;
    return { place, overlap: wanted.size === 0 ? 0 : shared / wanted.size, size: words.size };
  });
  const [best] = scored.toSorted((a, b) => b.overlap - a.overlap || a.size - b.size);
  return best !== undefined && best.overlap >= LEAST_OVERLAP ? best.place : undefined;
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}-]*/gu) ?? []);
}
