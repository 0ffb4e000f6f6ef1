/**
 * Simulates products with a judge that makes mistakes, and estimates their pass rate from labels: how often the interval has the truth, its
 * width beside that of other estimates, and how often a certificate is wrong; then the same for cascades of two judges.
 * `node test/bench/pass-rates.ts [--products 1000] [--below 1080] [--cascades 1080] [--widths 10] [--seed 1]`
 */
import { parseArgs } from 'node:util';
import { computeWilsonInterval } from '../../src/domain/agreement/agreement.ts';
import {
  allocateLabels,
  certify,
  estimatePassRate,
  type JudgedScores,
  measureRates,
} from '../../src/domain/agreement/pass-rate.ts';
import { seededRandom } from '../support/builders/score-streams.ts';
import { atLeast, atMost, head, row, sumUp, verdictOn } from './bench-table.ts';
import {
  correctByRates,
  drawCascade,
  drawLabelsAlone,
  drawProduct,
  estimateByLabels,
  gatherStrata,
  pickLabels,
  type Product,
  type Row,
} from './trust/products.ts';

const { values: options } = parseArgs({
  options: {
    products: { type: 'string', default: '1000' },
    below: { type: 'string', default: '1080' },
    cascades: { type: 'string', default: '1080' },
    widths: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
  },
});
const products = Number(options.products);
const random = seededRandom(Number(options.seed));

const JUDGES = [
  [0.95, 0.9],
  [0.85, 0.75],
  [0.7, 0.6],
] as const;
const BASE_RATES = [0.95, 0.85, 0.7, 0.5];
const LABELS = [60, 100, 200];
const SAMPLING = [0.05, 0.25, 1];
const REQUIRED = 0.8;

/** Products with one number of labels. */
class Tally {
  products = 0;
  covered = 0;
  rawCovered = 0;
  width = 0;
  correctedWidth = 0;
  labelsWidth = 0;
  randomWidth = 0;
  certified = 0;
  wrong = 0;
}

const tallies = new Map(LABELS.map((labels) => [labels, new Tally()]));

for (let product = 0; product < products; product += 1) {
  const [sensitivity, specificity] = JUDGES[product % 3] ?? JUDGES[0];
  const rate = BASE_RATES[Math.floor(product / 3) % 4] ?? 0.5;
  const labels = LABELS[Math.floor(product / 12) % 3] ?? 100;
  const sampling = SAMPLING[Math.floor(product / 36) % 3] ?? 1;
  const terms: Product = { sensitivity, specificity, rate, sampling };
  const rows = drawProduct(terms, random);
  const labelled = pickLabels(rows, { labels, part: 1 / 2 }, random);
  measure(tallies.get(labels) ?? new Tally(), { terms, rows, labelled });
}

function measure(
  tally: Tally,
  { terms, rows, labelled }: { terms: Product; rows: readonly Row[]; labelled: readonly Row[] },
): void {
  const judged = gatherStrata(rows, labelled);
  const { low, high, raw, effectiveN } = estimatePassRate(judged);
  if (low === null || high === null || raw === null) {
    return;
  }
  const naive = computeWilsonInterval({ share: raw, n: effectiveN }) ?? { low: 0, high: 1 };
  const { rate } = terms;
  const isIn = (interval: { low: number; high: number }) => interval.low <= rate && rate <= interval.high;
  const isCertified = getsCertificate(judged);
  tally.products += 1;
  tally.covered += isIn({ low, high }) ? 1 : 0;
  tally.rawCovered += isIn(naive) ? 1 : 0;
  tally.width += high - low;
  tally.correctedWidth += correctByRates(judged);
  tally.labelsWidth += estimateByLabels(judged);
  tally.randomWidth += drawLabelsAlone(rate, labelled.length, random);
  tally.certified += isCertified ? 1 : 0;
  tally.wrong += isCertified && !deservesCertificate(terms) ? 1 : 0;
}

function getsCertificate(judged: JudgedScores): boolean {
  const required = { sensitivity: REQUIRED, specificity: REQUIRED };
  return certify(measureRates(judged), required).state === 'certified';
}

function deservesCertificate({ sensitivity, specificity }: Product): boolean {
  return sensitivity >= REQUIRED && specificity >= REQUIRED;
}

console.log(`seed ${options.seed}, ${products} products`);
head(
  'Pass rates',
  'labels',
  'products',
  'interval has the truth',
  'that of the raw rate',
  'width',
  'of Rogan and Gladen',
  'of labels alone',
  'of random labels alone',
  'certified',
  'of them wrong',
  'goals',
);
for (const [labels, tally] of tallies) {
  const mean = (sum: number) => sum / tally.products;
  row(
    labels,
    tally.products,
    mean(tally.covered),
    mean(tally.rawCovered),
    mean(tally.width),
    mean(tally.correctedWidth),
    mean(tally.labelsWidth),
    mean(tally.randomWidth),
    tally.certified,
    tally.wrong,
    verdictOn(`${labels} labels`, [
      atLeast(mean(tally.covered), 0.93, 'coverage'),
      atMost(mean(tally.covered), 0.97, 'coverage'),
      atMost(tally.width / tally.correctedWidth, 0.85, 'of the width of Rogan and Gladen'),
      atMost(tally.width / tally.labelsWidth, 1.02, 'of the width of labels alone'),
      atMost(tally.width / tally.randomWidth, 1.02, 'of the width of random labels alone'),
    ]),
  );
}
const sumOf = (read: (tally: Tally) => number) =>
  [...tallies.values()].reduce((sum, each) => sum + read(each), 0);
const [certified, wrong] = [sumOf((each) => each.certified), sumOf((each) => each.wrong)];
console.log(
  `\n${certified} certificates, ${wrong} wrong: ${verdictOn('certificates', [atMost(wrong / certified, 0.05, 'of certificates wrong')])}`,
);

/** Judges that miss what a certificate requires by 0.01, in one or in both shares. */
const BELOW = [
  [0.95, REQUIRED - 0.01],
  [REQUIRED - 0.01, 0.95],
  [REQUIRED - 0.01, REQUIRED - 0.01],
] as const;

/** Counts how often a judge that just misses a certificate gets one. */
function measureBelow(count: number): void {
  const seed = Number(options.seed) + 2;
  const belowRandom = seededRandom(seed);
  head(
    `Certificates of judges just below, seed ${seed}`,
    'sensitivity / specificity',
    'draws',
    'certified',
    'goals',
  );
  const drawn = BELOW.map(([sensitivity, specificity]) => ({ sensitivity, specificity, n: 0, granted: 0 }));
  for (let index = 0; index < count; index += 1) {
    const judge = drawn[index % drawn.length];
    if (judge !== undefined) {
      const rate = BASE_RATES[Math.floor(index / 3) % 4] ?? 0.5;
      const labels = LABELS[Math.floor(index / 12) % 3] ?? 100;
      const rows = drawProduct(
        { ...judge, rate, sampling: SAMPLING[Math.floor(index / 36) % 3] ?? 1 },
        belowRandom,
      );
      judge.n += 1;
      judge.granted += getsCertificate(
        gatherStrata(rows, pickLabels(rows, { labels, part: 1 / 2 }, belowRandom)),
      )
        ? 1
        : 0;
    }
  }
  for (const { sensitivity, specificity, n, granted } of drawn) {
    const name = `${sensitivity} / ${specificity}`;
    row(name, n, granted / n, verdictOn(name, [atMost(granted / n, 0.05, 'certified')]));
  }
}

/** First judges by the area under their curve, with the distance of good and bad runs that gives it. */
const FIRST_JUDGES = [
  { area: 0.76, distance: 0.999 },
  { area: 0.88, distance: 1.662 },
  { area: 0.96, distance: 2.476 },
];
const SHARES = [0.05, 0.2, 0.5];
const CASCADE_SCORES = 1_500;

/** Counts how often the interval has the truth, where chance decides which runs the second judge sees. */
function measureCascades(count: number): void {
  const seed = Number(options.seed) + 1;
  const cascadeRandom = seededRandom(seed);
  const found = new Map(FIRST_JUDGES.map(({ area }) => [area, { n: 0, covered: 0, width: 0 }]));
  for (let index = 0; index < count; index += 1) {
    const { area, distance } = FIRST_JUDGES[index % 3] ?? { area: 0.88, distance: 1.662 };
    const share = SHARES[Math.floor(index / 3) % 3] ?? 0.2;
    const rate = BASE_RATES[Math.floor(index / 9) % 4] ?? 0.5;
    const product = { sensitivity: 0.95, specificity: 0.9, rate, sampling: 1 };
    const terms = { share, floor: Math.min(0.05, share) };
    const rows = drawCascade({ product, distance, terms, scores: CASCADE_SCORES }, cascadeRandom);
    const labels = LABELS[Math.floor(index / 36) % 3] ?? 100;
    const labelled = pickLabels(rows, { labels, part: 1 / 2 }, cascadeRandom);
    const { low, high } = estimatePassRate(gatherStrata(rows, labelled));
    const tally = found.get(area);
    if (tally !== undefined && low !== null && high !== null) {
      tally.n += 1;
      tally.covered += low <= rate && rate <= high ? 1 : 0;
      tally.width += high - low;
    }
  }
  head(
    `Pass rates of cascades, seed ${seed}`,
    'first judge',
    'products',
    'interval has the truth',
    'width',
    'goals',
  );
  let [n, covered] = [0, 0];
  for (const [area, tally] of found) {
    n += tally.n;
    covered += tally.covered;
    row(area, tally.n, tally.covered / tally.n, tally.width / tally.n, '');
  }
  const goals = [atLeast(covered / n, 0.93, 'coverage'), atMost(covered / n, 0.97, 'coverage')];
  row('all', n, covered / n, '', verdictOn('cascades', goals));
}

if (Number(options.below) > 0) {
  measureBelow(Number(options.below));
}
if (Number(options.cascades) > 0) {
  measureCascades(Number(options.cascades));
}

const WIDTH = 0.08;

/** Labels until the interval is narrow, where each further one is chosen by what it tells. */
function countChosen(terms: Product): number {
  const rows = drawProduct(terms, random);
  const labelled = pickLabels(rows, { labels: 40, part: 1 / 2 }, random);
  while (labelled.length < 3_000) {
    const judged = gatherStrata(rows, labelled);
    const { low, high } = estimatePassRate(judged);
    if (low !== null && high !== null && high - low <= WIDTH) {
      break;
    }
    const known = new Set(labelled);
    const rest = rows.filter((each) => !known.has(each));
    labelled.push(...pickLabels(rest, { labels: 20, part: allocateLabels(judged) }, random));
  }
  return labelled.length;
}

/** Labels until the interval of their share is narrow, chosen at random and without the judge. */
function countRandom({ rate }: Product): number {
  let [n, passing] = [0, 0];
  for (let width = 1; width > WIDTH; n += 20) {
    passing += Array.from({ length: 20 }, random).filter((draw) => draw < rate).length;
    const interval = computeWilsonInterval({ share: passing / (n + 20), n: n + 20 });
    width = interval === null ? 1 : interval.high - interval.low;
  }
  return n;
}

/** Compares the labels that the queue chooses with labels at random, until the interval is narrow. */
function measureWidths(turns: number): void {
  head('Labels until a width of 0.08', 'judge', 'pass rate', 'chosen', 'at random', 'goals');
  let [chosen, drawn] = [0, 0];
  for (const [sensitivity, specificity] of JUDGES.slice(0, 2)) {
    for (const rate of [0.95, 0.85]) {
      const terms = { sensitivity, specificity, rate, sampling: 1 };
      let [best, any] = [0, 0];
      for (let turn = 0; turn < turns; turn += 1) {
        best += countChosen(terms) / turns;
        any += countRandom(terms) / turns;
      }
      chosen += best;
      drawn += any;
      row(`${sensitivity} / ${specificity}`, rate, best, any, '');
    }
  }
  row('all', '', chosen, drawn, verdictOn('labels', [atMost(chosen / drawn, 0.7, 'of the labels')]));
}

if (Number(options.widths) > 0) {
  measureWidths(Number(options.widths));
}
sumUp();
