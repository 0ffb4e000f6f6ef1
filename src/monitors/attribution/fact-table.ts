/** Time of a score: before the change, or since. */
export type Period = 'before' | 'after';

/** Values of the facets of one run: a text, a list of texts of which the run has each, or absent. */
export type RunFacets = Readonly<Record<string, string | readonly string[]>>;

/** Numbers of the sums of one cell in one period, in this order: n, Σw, Σwy, Σw², Σw²y, Σw²y². */
export const SUMS = 6;

/** Numbers of a cell: the sums before and the sums after. */
export const CELL_SUMS = 2 * SUMS;

/** Most values of a list facet that are dimensions: those of the most runs. */
const MAX_LIST_VALUES = 30;

/** Dimension of the traffic: a facet of texts, or one value of a facet of lists, which a run has or has not. */
export interface Dimension {
  readonly name: string;
  /** Texts of the values by code; of a list facet '' (the run lacks the value) and the value. */
  readonly values: readonly string[];
  readonly isList: boolean;
  readonly codes: Int32Array | Uint8Array;
}

/** Scores of a series by the values of all their facets. */
export interface Facts {
  readonly dimensions: readonly Dimension[];
  readonly cells: number;
  /** `CELL_SUMS` numbers for each cell. */
  readonly sums: Float64Array;
}

interface Facet {
  /** Place of its code in a row of codes. */
  readonly at: number;
  readonly name: string;
  readonly codeByKey: Map<string, number>;
  readonly values: (string | readonly string[])[];
  isList: boolean;
  codes: Int32Array;
}

/** Runs of equal weight, by the sum of their scores and of the squares. */
interface AddedRuns {
  readonly count: number;
  readonly weight: number;
  readonly sum: number;
  readonly squares: number;
}

/** Table that joins the scores of equal facets into cells, in typed columns: a million rows take little memory. */
export class FactTable {
  readonly #facets = new Map<string, Facet>();
  readonly #cells = new Map<string, number>();
  #codes = new Int32Array(16);
  #sums = new Float64Array(64 * CELL_SUMS);

  add(values: RunFacets, period: Period, { count, weight, sum, squares }: AddedRuns): void {
    const at = this.#findCell(values) * CELL_SUMS + (period === 'before' ? 0 : SUMS);
    const sums = this.#sums;
    sums[at] = (sums[at] as number) + count;
    for (let power = 1; power <= 2; power += 1) {
      const place = at + (power === 1 ? 1 : 3);
      sums[place] = (sums[place] as number) + weight ** power * count;
      sums[place + 1] = (sums[place + 1] as number) + weight ** power * sum;
    }
    sums[at + SUMS - 1] = (sums[at + SUMS - 1] as number) + weight ** 2 * squares;
  }

  /** Returns the cells so far, with their dimensions. */
  read(): Facts {
    const cells = this.#cells.size;
    const sums = this.#sums.subarray(0, cells * CELL_SUMS);
    const dimensions = [...this.#facets.values()].flatMap((facet) =>
      facet.isList ? splitLists(facet, sums, cells) : [readTexts(facet, cells)],
    );
    return { dimensions, cells, sums };
  }

  #findCell(values: RunFacets): number {
    const names = Object.keys(values);
    // New facets widen the row of codes, so they are made before it is filled.
    const found = names.map((name) => this.#findFacet(name));
    this.#codes.fill(0);
    let used = 0;
    for (const [index, facet] of found.entries()) {
      const code = encodeValue(facet, values[names[index] ?? ''] ?? '');
      this.#codes[facet.at] = code;
      used = code === 0 ? used : Math.max(used, facet.at + 1);
    }
    const key = this.#codes.subarray(0, used).join();
    return this.#cells.get(key) ?? this.#addCell(key);
  }

  #addCell(key: string): number {
    const cell = this.#cells.size;
    this.#cells.set(key, cell);
    const isFull = (cell + 1) * CELL_SUMS > this.#sums.length;
    this.#sums = isFull ? copyInto(new Float64Array(2 * this.#sums.length), this.#sums) : this.#sums;
    for (const facet of this.#facets.values()) {
      facet.codes = isFull ? copyInto(new Int32Array(2 * facet.codes.length), facet.codes) : facet.codes;
      facet.codes[cell] = this.#codes[facet.at] ?? 0;
    }
    return cell;
  }

  #findFacet(name: string): Facet {
    const known = this.#facets.get(name);
    if (known !== undefined) {
      return known;
    }
    const at = this.#facets.size;
    const codes = new Int32Array(this.#sums.length / CELL_SUMS);
    const facet = { at, name, codeByKey: new Map<string, number>(), values: [''], isList: false, codes };
    this.#facets.set(name, facet);
    this.#codes = at < this.#codes.length ? this.#codes : new Int32Array(2 * this.#codes.length);
    return facet;
  }
}

function copyInto<Numbers extends Float64Array | Int32Array>(target: Numbers, source: Numbers): Numbers {
  target.set(source);
  return target;
}

function encodeValue(facet: Facet, value: string | readonly string[]): number {
  facet.isList ||= typeof value !== 'string';
  if (value.length === 0) {
    return 0;
  }
  const key = typeof value === 'string' ? `text ${value}` : `list ${JSON.stringify(value)}`;
  const known = facet.codeByKey.get(key);
  if (known !== undefined) {
    return known;
  }
  const code = facet.values.push(value) - 1;
  facet.codeByKey.set(key, code);
  return code;
}

function readTexts({ name, values, codes }: Facet, cells: number): Dimension {
  return {
    name,
    values: values.map((value) => (typeof value === 'string' ? value : value.join(', '))),
    isList: false,
    codes: codes.subarray(0, cells),
  };
}

/** Makes a dimension of each value of a list facet. A text counts as a list of one. */
function splitLists({ name, values, codes }: Facet, sums: Float64Array, cells: number): Dimension[] {
  const runs = new Float64Array(values.length);
  for (let cell = 0; cell < cells; cell += 1) {
    const at = cell * CELL_SUMS;
    const code = codes[cell] ?? 0;
    runs[code] = (runs[code] ?? 0) + (sums[at] ?? 0) + (sums[at + SUMS] ?? 0);
  }
  const lists = values.map((value) => new Set(typeof value === 'string' ? [value] : value));
  const runsByValue = new Map<string, number>();
  for (const [code, list] of lists.entries()) {
    for (const value of list) {
      runsByValue.set(value, (runsByValue.get(value) ?? 0) + (runs[code] ?? 0));
    }
  }
  runsByValue.delete('');
  return [...runsByValue]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, MAX_LIST_VALUES)
    .map(([value]) => {
      const hasValue = Uint8Array.from(lists, (list) => (list.has(value) ? 1 : 0));
      const ofCells = new Uint8Array(cells);
      for (let cell = 0; cell < cells; cell += 1) {
        ofCells[cell] = hasValue[codes[cell] ?? 0] ?? 0;
      }
      return { name, values: ['', value], isList: true, codes: ofCells };
    });
}
