import { head, row } from '../bench-table.ts';
import type { FleetMoment, FleetResult } from './fleet-model.ts';
import { computeTracesPerSecond, FITTED, type FleetSettings } from './fleet-settings.ts';
import type { Lags } from './lags.ts';
import { MACHINE } from './measured-figures.ts';
import { computeJudgedPerSecond, computeScoreUsd, JUDGE_OVERHEAD_MS, SECONDS_PER_DAY } from './needs.ts';

/** Number of lines of the table over the time. */
const STRETCHES = 12;

/** Prints the assumptions of the model, with their numbers. */
export function printAssumptions(settings: FleetSettings, sampleRate: number): void {
  const { scorers, places, judgeMs, slowFactor, slowForS, slowEveryS, price, budgetPerDayUsd } = settings;
  const perSecond = computeTracesPerSecond(settings);
  const judged = computeJudgedPerSecond(places, judgeMs);
  const lines = [
    'Lag: from the time when a trace is ready until a process takes it. Before it lies the decision wait (5 s), after it the call of the judge, and up to 2 s until the rows are written.',
    `Traffic: ${whole(perSecond)} traces a second become ready, as a Poisson stream. Receivers and store keep up: docs/capacity.md says with how many cores.`,
    `Division: ${scorers} scorer processes share 1,024 shards as spanscore divides them, so some have more than others.`,
    `Code scorers: a process decides ${whole(FITTED.codeTracesPerSecond)} traces a second, as one did in a backfill. Live scoring of so many was not measured.`,
    `Judged scores: ${places} places a process, and ${JUDGE_OVERHEAD_MS.toFixed(0)} ms between two questions of a place: ${judged.toFixed(1)} a second at ${whole(judgeMs)} ms. Half of the places take the newest traces, unless \`newest-share\` says otherwise.`,
    `Slow judges: ${slowFactor} times slower for ${slowForS} s; a slow time begins about every ${whole(slowEveryS)} s. Calls are never refused, and never time out.`,
    `Sample: ${percent(sampleRate)}, for which ${whole(budgetPerDayUsd)} USD a day pay at ${computeScoreUsd(price).toFixed(5)} USD a score.`,
    `Kills: ${settings.killEveryS === 0 ? 'none' : `one process every ${settings.killEveryS} s, back after ${settings.restartS} s`}. The others notice it when its last beat is ${FITTED.leaseS} s old and they look, every ${FITTED.beatS} s. Their sweep takes ${FITTED.sweepS} s, as one over 5,000 traces did; a sweep of a store of this size was not measured.`,
    `A new process takes traces that become ready ${FITTED.joinS} s after its start. The backlogs of the others stay with them.`,
    `Money: a process leases blocks of 1 % of the budget, or of a sixteenth of its rest. What a killed one had leased stays spent on that day. A process without a call for 10 s gives its block back: the model leaves this out.`,
    `Rates were measured on this machine, and have to be measured again on yours. ${MACHINE}`,
  ];
  console.log('Assumptions\n');
  lines.forEach((line) => console.log(`- ${line}`));
}

/** Prints lags, coverage and cost. */
export function printResult(settings: FleetSettings, result: FleetResult): void {
  const { totals, codeLags, judgedLags, moments } = result;
  head('Lag, from ready to decided, s', 'scorers', 'median', 'p95', 'p99', 'p99.9', 'most');
  row('code', ...quantiles(codeLags));
  row('judged', ...quantiles(judgedLags));
  head('Coverage', 'traces', 'all', 'decided', 'waiting at the end');
  row('code scorers', whole(totals.ready), whole(totals.decided), whole(totals.codeWaiting));
  row('judged, sampled', whole(totals.sampled), whole(totals.scored), whole(totals.judgedWaiting));
  row('judged, left out by the draw', whole(totals.leftOut), whole(totals.leftOut), '0');
  printCost(settings, result);
  head(
    'Over the time',
    'minute',
    'judge, s',
    'processes',
    'wait for code',
    'wait for a judge',
    'USD spent',
    'stranded',
  );
  const every = Math.max(1, Math.floor(moments.length / STRETCHES));
  for (const moment of moments.filter(({ atS }) => (atS + 1) % every === 0)) {
    row(...describeMoment(moment));
  }
}

function printCost(
  { budgetPerDayUsd, seconds, price }: FleetSettings,
  { totals, moments }: FleetResult,
): void {
  const { spentUsd, strandedUsd, kills, repeatedCalls } = totals;
  const repeatedUsd = repeatedCalls * computeScoreUsd(price);
  head('Cost', 'part', 'USD', 'of the budget of the day');
  row('scores', usd(spentUsd - repeatedUsd), share(spentUsd - repeatedUsd, budgetPerDayUsd));
  row(
    `${whole(repeatedCalls)} calls made again after ${kills} kills`,
    usd(repeatedUsd),
    share(repeatedUsd, budgetPerDayUsd),
  );
  row('leased by killed processes', usd(strandedUsd), share(strandedUsd, budgetPerDayUsd));
  const dry = moments.find(({ unpaid }) => unpaid > 0);
  const planned = (budgetPerDayUsd * seconds) / SECONDS_PER_DAY;
  console.log(
    `\n${usd(planned)} USD were planned for this time. ${dry === undefined ? 'The budget paid for every call.' : `The budget was empty for the first time after ${Math.floor(dry.atS / 60)} minutes.`}`,
  );
}

function describeMoment(moment: FleetMoment): string[] {
  const { atS, judgeMs, alive, codeWaiting, judgedWaiting, spentUsd, strandedUsd } = moment;
  const counts = [alive, codeWaiting, judgedWaiting].map(whole);
  return [whole((atS + 1) / 60), (judgeMs / 1_000).toFixed(1), ...counts, usd(spentUsd), usd(strandedUsd)];
}

function quantiles(lags: Lags): string[] {
  return [...[0.5, 0.95, 0.99, 0.999].map((part) => lags.quantile(part)), lags.most()].map((seconds) =>
    Number.isNaN(seconds) ? 'none' : seconds === 0 ? '< 1' : whole(seconds),
  );
}

function whole(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 0 });
}

function usd(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 2 });
}

function share(part: number, all: number): string {
  return percent(part / all);
}

function percent(value: number): string {
  return `${Number((100 * value).toPrecision(3))} %`;
}
