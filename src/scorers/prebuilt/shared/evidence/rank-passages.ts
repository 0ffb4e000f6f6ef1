/** A part of a source. */
export interface Passage {
  /** Number of the source. */
  readonly source: number;
  readonly text: string;
}

/** Bounds of the length of a passage, in characters. */
const PASSAGE_CHARS = { least: 250, most: 4000 };
/** Least number of passages that a question has room for. */
const PASSAGES = 5;
const UNSPACED_RUN =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー]+/gu;
/** Usual constants of the BM25 formula. */
const K1 = 1.2;
const B = 0.75;

/** Cuts a text into passages, at line ends or spaces where possible; the shorter, the fewer characters a question may have. */
export function listPassages(source: number, text: string, maxChars: number): Passage[] {
  const passages: Passage[] = [];
  const size = Math.min(PASSAGE_CHARS.most, Math.max(PASSAGE_CHARS.least, Math.floor(maxChars / PASSAGES)));
  for (let start = 0; start < text.length;) {
    const end = cutAfter(text, start, size);
    passages.push({ source, text: text.slice(start, end) });
    start = end;
  }
  return passages;
}

function cutAfter(text: string, start: number, size: number): number {
  const end = start + size;
  if (end >= text.length) {
    return text.length;
  }
  const half = start + size / 2;
  const cut = [text.lastIndexOf('\n', end), text.lastIndexOf(' ', end)].find((at) => at > half);
  return cut === undefined ? end : cut + 1;
}

/**
 * Chooses passages for these texts within a number of characters: first the best passage of each text by BM25 with its
 * neighbours, then the second best, and so on. Returns true for each passage to read.
 */
export function choosePassages(
  passages: readonly Passage[],
  texts: readonly string[],
  maxChars: number,
): boolean[] {
  const chosen = passages.map(() => false);
  let left = maxChars;
  const rankings = rankedFor(passages, texts);
  const byRank = passages.flatMap((_passage, rank) => {
    const best = rankings.flatMap((ranking) => ranking[rank] ?? []);
    return [...best, ...best.flatMap((index) => listNeighbours(passages, index))];
  });
  for (const index of [...byRank, ...passages.keys()]) {
    const length = passages[index]?.text.length ?? Infinity;
    if (chosen[index] === false && length <= left) {
      chosen[index] = true;
      left -= length;
    }
  }
  return chosen;
}

function listNeighbours(passages: readonly Passage[], index: number): number[] {
  return [index - 1, index + 1].filter((at) => passages[at]?.source === passages[index]?.source);
}

/** Lists, for each text, the passages that share words with it, best first. */
function rankedFor(passages: readonly Passage[], texts: readonly string[]): number[][] {
  const weights = weightsByWord(passages);
  return texts.map((text) => {
    const scores = passages.map(() => 0);
    for (const word of countWords(text).keys()) {
      for (const { index, weight } of weights.get(word) ?? []) {
        scores[index] = (scores[index] ?? 0) + weight;
      }
    }
    return [...passages.keys()]
      .filter((index) => (scores[index] ?? 0) > 0)
      .sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0));
  });
}

interface Weight {
  readonly index: number;
  readonly weight: number;
}

/** Computes the score that each word adds to each passage that contains it. */
function weightsByWord(passages: readonly Passage[]): Map<string, Weight[]> {
  const counts = passages.map(({ text }) => countWords(text));
  const lengths = counts.map((words) => [...words.values()].reduce((sum, count) => sum + count, 0));
  const meanLength = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);
  const holders = new Map<string, number[]>();
  for (const [index, words] of counts.entries()) {
    for (const word of words.keys()) {
      const held = holders.get(word) ?? [];
      holders.set(word, held);
      held.push(index);
    }
  }
  const weighed = ([word, held]: [string, number[]]): [string, Weight[]] => {
    const rarity = Math.log(1 + (passages.length - held.length + 0.5) / (held.length + 0.5));
    const weights = held.map((index) => {
      const count = counts[index]?.get(word) ?? 0;
      const length = (lengths[index] ?? 0) / meanLength;
      return { index, weight: (rarity * count * (K1 + 1)) / (count + K1 * (1 - B + B * length)) };
    });
    return [word, weights];
  };
  return new Map([...holders].map(weighed));
}

/** Counts words; of scripts without spaces between words, pairs of characters. */
function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  const count = (term: string): void => {
    counts.set(term, (counts.get(term) ?? 0) + 1);
  };
  for (const word of text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []) {
    const runs = word.match(UNSPACED_RUN);
    if (runs === null) {
      count(word);
      continue;
    }
    word.split(UNSPACED_RUN).filter(Boolean).forEach(count);
    for (const run of runs) {
      const chars = Array.from(run);
      chars.slice(0, Math.max(1, chars.length - 1)).forEach((char, at) => {
        count(char + (chars[at + 1] ?? ''));
      });
    }
  }
  return counts;
}
