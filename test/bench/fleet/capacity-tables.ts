import { simulateFleet } from './fleet-model.ts';
import { DEFAULT_FLEET, EXAMPLE_PRICE } from './fleet-settings.ts';
import type { Lags } from './lags.ts';
import { FIGURES, MACHINE, type Figure } from './measured-figures.ts';
import { computeNeeds, computeScoreUsd, SECONDS_PER_DAY, type Load, type Needs } from './needs.ts';

const SPANS_PER_TRACE = 8;
const JUDGED_RATE = 0.01;
const JUDGE_MS = 2_000;
const MILLION = 1e6;
const KILO = 1_000;

/** Loads of the tables, spans a second. */
const LOADS = [1_000, 10_000, 100_000];

/** Sample rates of the table of judges. */
const RATES = [0.001, 0.01, 0.1, 1];

/** Tables of docs/capacity.md by their names. */
const CAPACITY_TABLES: Readonly<Record<string, () => string>> = {
  figures: renderFigures,
  'a million spans': renderMillion,
  loads: renderLoads,
  judges: renderJudges,
  simulation: renderSimulation,
};

/** Returns a page with its tables as they are now. Each stands between a comment with its name and `<!-- end -->`. */
export function fillTables(page: string): string {
  return page.replaceAll(/(<!-- table: ([\w ]+) -->\n)[^]*?(<!-- end -->)/g, (found, begin, name, end) => {
    const render = CAPACITY_TABLES[name];
    return render === undefined ? found : `${begin}\n${render()}\n\n${end}`;
  });
}

function buildLoad(spansPerSecond: number, judgedRate = JUDGED_RATE): Load {
  return {
    spansPerSecond,
    spansPerTrace: SPANS_PER_TRACE,
    judgedRate,
    judgeMs: JUDGE_MS,
    price: EXAMPLE_PRICE,
  };
}

function renderFigures(): string {
  const rows = Object.values<Figure>(FIGURES).map(({ value, unit, meaning, command }) => [
    meaning,
    `${count(value)} ${unit}`,
    `\`${command}\``,
  ]);
  return `${MACHINE}\n\n${renderTable([['figure', 'measured', 'measure again with'], ...rows])}`;
}

/** A million spans at once is the same as one second of a million spans a second. */
function renderMillion(): string {
  const needs = computeNeeds(buildLoad(MILLION));
  return renderTable([
    ['work', 'a million spans (125,000 traces of 8 spans)'],
    ['receive', `${shown(needs.receiverCores)} s of processor`],
    ['insert', `${shown(needs.insertCores)} s of processor`],
    ['three code scorers on every trace', `${shown(needs.codeCores)} s of processor`],
    ['a judged scorer on 1 % of the traces', `${shown(needs.judgedCores)} s of processor`],
    ['network to the receivers', bytes(needs.networkBytesPerSecond)],
    ['network to and from the judge', bytes(needs.judgeBytesPerSecond)],
    ['disk', bytes(needs.bytesPerDay / SECONDS_PER_DAY)],
    ['judge calls', count(needs.callsPerSecond)],
    ['cost of the judge', `${shown(needs.callsPerSecond * computeScoreUsd(EXAMPLE_PRICE))} USD`],
  ]);
}

function renderLoads(): string {
  const all = LOADS.map((load) => computeNeeds(buildLoad(load)));
  const line = (name: string, show: (needs: Needs) => string) => [name, ...all.map(show)];
  return renderTable([
    ['', ...LOADS.map((load) => `${count(load)} spans/s`)],
    line('traces a second', ({ tracesPerSecond }) => count(tracesPerSecond)),
    line('busy cores: receivers', ({ receiverCores }) => shown(receiverCores)),
    line('… store, inserts of spans', ({ insertCores }) => shown(insertCores)),
    line('… code scorers, with their part of the store', ({ codeCores }) => shown(codeCores)),
    line('… judged scorer on 1 %, with its part of the store', ({ judgedCores }) => shown(judgedCores)),
    line('… sum', ({ cores }) => shown(cores)),
    line('processes with the role `collector`', ({ receivers }) => count(receivers)),
    line('processes with the role `scorer`', ({ scorers }) => count(scorers)),
    line('network to the receivers, a second', ({ networkBytesPerSecond }) => bytes(networkBytesPerSecond)),
    line('disk, a day', ({ bytesPerDay }) => bytes(bytesPerDay)),
    line('disk, 30 days of spans', ({ spanBytes }) => bytes(spanBytes)),
    line('disk, 400 days of scores', ({ scoreBytes }) => bytes(scoreBytes)),
    line('judge calls a second', ({ callsPerSecond }) => shown(callsPerSecond)),
    line('cost of the judge, a day', ({ usdPerDay }) => `${shown(usdPerDay)} USD`),
  ]);
}

function renderJudges(): string {
  const rows = RATES.map((rate) => [
    `${count(100 * rate)} %`,
    ...LOADS.map((load) => {
      const { callsPerSecond, places, usdPerDay } = computeNeeds(buildLoad(load, rate));
      return `${shown(callsPerSecond)}; ${count(Math.ceil(places))}; ${shown(usdPerDay)} USD`;
    }),
  ]);
  return renderTable([
    [
      'calls a second; places; cost a day, with `sample.rate`',
      ...LOADS.map((load) => `${count(load)} spans/s`),
    ],
    ...rows,
  ]);
}

/** The simulated hour of `npm run simulate:fleet` without options. */
function renderSimulation(): string {
  const { totals, codeLags, judgedLags, sampleRate } = simulateFleet(DEFAULT_FLEET);
  const lag = (lags: Lags) => {
    const parts = [0.5, 0.99, 0.999].map((part) => seconds(lags.quantile(part)));
    return `${parts.join(', ')}; ${seconds(lags.most())}`;
  };
  const ofBudget = (usd: number) =>
    `${shown(usd)} USD, ${shown((100 * usd) / DEFAULT_FLEET.budgetPerDayUsd)} %`;
  return renderTable([
    ['simulated hour', 'result'],
    ['traces', count(totals.ready)],
    ['… with decisions of all code scorers at the end', count(totals.decided)],
    ['processes killed', count(totals.kills)],
    ['lag of code scorers: median, p99, p99.9; most', lag(codeLags)],
    ['sample of the judged scorer: what 5,000 USD a day pay', `${shown(100 * sampleRate)} %`],
    ['sampled traces; scored at the end', `${count(totals.sampled)}; ${count(totals.scored)}`],
    ['lag of judged scores: median, p99, p99.9; most', lag(judgedLags)],
    ['cost, share of the budget of the day', ofBudget(totals.spentUsd)],
    ['calls made again after a kill', count(totals.repeatedCalls)],
    ['money that killed processes had leased', ofBudget(totals.strandedUsd)],
  ]);
}

function seconds(value: number): string {
  return value === 0 ? 'less than 1 s' : `${value} s`;
}

function renderTable([header = [], ...rows]: readonly (readonly string[])[]): string {
  const lines = [header, header.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Whole numbers from 100 on, else two digits: a plan has no more. */
function shown(value: number): string {
  return value >= 100 ? count(value) : String(Number(value.toPrecision(2)));
}

function count(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: value >= 100 ? 0 : 2 });
}

function bytes(value: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(value) / Math.log10(KILO)));
  return `${shown(value / KILO ** power)} ${units[power]}`;
}
