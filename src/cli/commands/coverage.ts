import { Option } from 'commander';
import { COVERAGE_GROUPS, type CoverageGroup, type CoverageLine } from '../../api/reads/coverage.ts';
import { isoTime } from '../../api/json/rows.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { parseMoment } from '../arguments.ts';
import { cleanLine } from '../show/clean-text.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { loadKit, openApi, type Page } from '../open-api.ts';
import { table } from '../show/output.ts';

interface CoverageOptions {
  readonly since?: number;
  readonly by?: CoverageGroup;
}

/** Range without `--since`. */
const DEFAULT_RANGE_MS = DAY_MS;

export const registerCoverage: RegisterCommand = (program, bind) => {
  withExamples(program.command('coverage'), [
    ['the last 24 hours', 'spanscore coverage'],
    ['a week, scorer by scorer', 'spanscore coverage --since 7d --by scorer'],
    ['what failed and why, for a script', 'spanscore coverage --by reason --json'],
  ])
    .option(
      '--since <when>',
      'targets whose last span arrived since 1h, 7d, or a date and time (default: 24h)',
      parseMoment,
    )
    .addOption(new Option('--by <group>', 'one line for each value').choices([...COVERAGE_GROUPS]))
    .action(bind(coverage));
};

async function coverage(context: CommandContext, options: CoverageOptions): Promise<ExitCode> {
  const { rules } = await loadKit(context);
  const api = await openApi(context, 'coverage', { runRules: rules });
  const sinceMs = options.since ?? Date.now() - DEFAULT_RANGE_MS;
  const { items: lines } = await api.read<Page<CoverageLine>>('/coverage', {
    by: options.by,
    since: isoTime(options.since ?? null),
  });
  context.out.talk(`targets whose last span arrived since ${lines[0]?.since ?? isoTime(sinceMs)}`);
  if (lines.every((line) => COLUMNS.every(([, count]) => line[count] === 0))) {
    context.out.talk(
      'nothing was decided in this time; for a longer one: --since 30d; whether traces come: spanscore status',
    );
  }
  await context.out.list(lines, () => showCoverage(lines, options.by));
  return EXIT.done;
}

const COLUMNS = [
  ['ELIGIBLE', 'eligible'],
  ['SAMPLED', 'sampled'],
  ['SCORED', 'scored'],
  ['NOT APPLICABLE', 'notApplicable'],
  ['DEFERRED', 'deferred'],
  ['FAILED', 'failed'],
  ['SAMPLED OUT', 'sampledOut'],
  ['FILTERED', 'filtered'],
] as const satisfies readonly (readonly [string, keyof CoverageLine])[];

/** Formats a coverage as a table; the total with a list of its reasons. */
export function showCoverage(lines: readonly CoverageLine[], by: CoverageGroup | undefined): string {
  const counts = table(
    [
      ...(by === undefined ? [] : by === 'reason' ? ['STATUS', 'REASON'] : [by.toUpperCase()]),
      ...COLUMNS.map(([header]) => header),
      ...(hasWaiting(by) ? ['WAITING'] : []),
    ],
    lines.map((line) => [
      ...showGroup(line, by),
      ...COLUMNS.map(([, count]) => String(line[count])),
      ...(hasWaiting(by) ? [String(line.waiting ?? 0)] : []),
    ]),
  );
  const reasons = by === undefined ? lines.flatMap(listReasons) : [];
  return reasons.length === 0 ? counts : `${counts}\n\n${table(['STATUS', 'REASON', 'NUMBER'], reasons)}`;
}

function hasWaiting(by: CoverageGroup | undefined): boolean {
  return by !== 'reason' && by !== 'service';
}

function showGroup(line: CoverageLine, by: CoverageGroup | undefined): string[] {
  if (by === undefined) {
    return [];
  }
  const name = cleanLine(line[by] ?? (by === 'reason' ? '-' : 'unknown'), 60);
  return by === 'reason' ? [line.status ?? '', name] : [name];
}

function listReasons({ reasons }: CoverageLine): string[][] {
  return Object.entries(reasons).flatMap(([status, codes]) =>
    Object.entries(codes)
      .toSorted(([, a], [, b]) => b - a)
      .map(([code, number]) => [status, cleanLine(code, 60), String(number)]),
  );
}
