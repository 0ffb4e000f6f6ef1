import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { z } from 'zod';
import { isoTime } from '../../api/json/rows.ts';
import { CASES, type Issue, type IssueDetail } from '../../api/resources/issues.ts';
import { NotFoundError } from '../../domain/errors.ts';
import { FAILURE_KINDS } from '../../domain/failure.ts';
import { formatCount } from '../../domain/plural.ts';
import { ISSUE_STATES } from '../../issues/read-issues.ts';
import { collectNames, limitUpTo, parseMoment } from '../arguments.ts';
import { withExamples, type Bind, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { openApi, type Page } from '../open-api.ts';
import { cleanLine } from '../show/clean-text.ts';
import { tableOf } from '../show/output.ts';

/** Most verdicts of a judge on one case. */
const MOST_TIMES = 20;

/** Most issues that are printed. */
const MAX_ISSUES = 500;

interface ListOptions {
  readonly since?: number;
  readonly until?: number;
  readonly agent?: string;
  readonly version?: string;
  readonly environment?: string;
  readonly state?: string;
  readonly kind?: string;
  readonly limit: number;
}

type IssueJson = z.output<typeof Issue>;
type DetailJson = z.output<typeof IssueDetail>;

export const registerIssues: RegisterCommand = (program, bind) => {
  const issues = withExamples(program.command('issues'), [
    ['what goes wrong this week', 'spanscore issues'],
    ['one issue with examples', 'spanscore issues show 9f2c81d04b7a6e35'],
    ['its failures as tests', 'spanscore issues tests 9f2c81d04b7a6e35 --out tests/refund'],
    ['say that it is mended', 'spanscore issues resolve 9f2c81d04b7a6e35 --version 3.3'],
  ]);
  issues
    .command('list', { isDefault: true })
    .description('Print the issues, the greatest share first.')
    .option('--since <when>', 'runs that began since 1h, 7d, or a date and time (default: 7d)', parseMoment)
    .option('--until <when>', 'runs that began before 1h, 7d, or a date and time', parseMoment)
    .option('--agent <name>', 'only issues of this agent')
    .option('--version <name>', 'only runs of this version')
    .option('--environment <name>', 'only runs in this environment')
    .addOption(new Option('--state <state>', 'only issues in this state').choices(ISSUE_STATES))
    .addOption(new Option('--kind <kind>', 'only issues of this kind').choices(FAILURE_KINDS))
    .option('--limit <n>', 'print at most n', limitUpTo(MAX_ISSUES), MAX_ISSUES)
    .action(bind(list));
  issues
    .command('show')
    .description('Print one issue with its newest examples.')
    .argument('<id>', 'id of an issue, or an alias')
    .action(bind(show));
  issues
    .command('tests')
    .description(
      'Write failures of an issue as tests: spans, a Vitest file, items of a Mastra dataset, lines of JSON.',
    )
    .argument('<id>', 'id of an issue')
    .requiredOption('--out <folder>', 'empty folder, or one with an earlier export')
    .option('--limit <n>', `most cases, ${CASES.most} at most`, limitUpTo(CASES.most), CASES.default)
    .option(
      '--rejudge <n>',
      'ask the judge n times again, and mark cases whose verdict flips',
      limitUpTo(MOST_TIMES),
    )
    .action(bind(writeTests, { stopsItself: true }));
  registerChanges(issues, bind);
};

function registerChanges(issues: Command, bind: Bind): void {
  const add = (what: string, description: string) => issues.command(what).description(description);
  const id = ['<id>', 'id of an issue'] as const;
  add('resolve', 'Say that an issue is mended.')
    .argument(...id)
    .option('--version <name>', 'first version without it')
    .action(
      bind((context, issue: string, { version }: { readonly version?: string }) =>
        change(context, issue, 'resolve', version === undefined ? {} : { version }),
      ),
    );
  add('reopen', 'Open an issue again.')
    .argument(...id)
    .action(bind((context, issue: string) => change(context, issue, 'reopen')));
  add('ignore', 'Leave an issue alone.')
    .argument(...id)
    .action(bind((context, issue: string) => change(context, issue, 'ignore')));
  add('merge', 'Join an issue to another one of the agent: the second goes into the first.')
    .argument('<into>', 'id of the issue that stays')
    .argument('<id>', 'id of the issue that goes into it')
    .action(bind((context, into: string, issue: string) => change(context, issue, 'merge', { into })));
  add('split', 'Take the failures of some traces out of an issue, as an issue of their own.')
    .argument(...id)
    .requiredOption('--trace <ids...>', 'ids of the traces (repeatable, or with commas)', collectNames)
    .action(
      bind((context, issue: string, { trace }: { readonly trace: readonly string[] }) =>
        change(context, issue, 'split', { traceIds: trace }),
      ),
    );
}

async function list(context: CommandContext, { since, until, ...filters }: ListOptions) {
  const api = await openApi(context, 'issues');
  const query = { since: isoTime(since ?? null), until: isoTime(until ?? null), ...filters };
  const { items } = await api.read<Page<IssueJson>>('/issues', query);
  const text = () =>
    tableOf(items, {
      ID: ({ id }) => id,
      STATE: ({ state }) => state,
      SHARE: formatShare,
      RUNS: ({ runs }) => runs,
      AGENT: ({ agent }) => cleanLine(agent, 40),
      'LAST SEEN': ({ lastSeen }) => lastSeen ?? '',
      ISSUE: ({ title }) => cleanLine(title, 100),
    });
  await context.out.list(items, text, 'no issues in this time');
  return EXIT.done;
}

async function show(context: CommandContext, id: string) {
  const api = await openApi(context, 'issues show');
  const issue = await api.read<DetailJson>(`/issues/${encodeURIComponent(id)}`);
  await context.out.document(issue, () =>
    [
      `${issue.id}  ${issue.state}  ${formatShare(issue)}  ${formatCount(issue.runs, 'run')}  ${cleanLine(issue.title)}`,
      ...formatVerification(issue),
      ...issue.history.map(
        ({ at, by, what }) => `  ${at}  ${cleanLine(by ?? 'spanscore', 40)}: ${cleanLine(what)}`,
      ),
      ...issue.examples.map(({ traceId, question, claim, error, comment, answer, evidence }) => {
        const asked = question === null ? '' : `\n    asked: ${cleanLine(question)}`;
        const quote = evidence === null ? '' : `\n    ${evidence.source}: ${cleanLine(evidence.quote)}`;
        return `  ${traceId}  ${cleanLine(claim ?? error ?? comment ?? answer ?? '')}${asked}${quote}`;
      }),
      ...issue.segments.map(
        ({ dimension, value, runs, share }) =>
          `  ${dimension} ${cleanLine(value)}: ${formatCount(runs, 'run')}  ${formatShare({ share })}`,
      ),
    ].join('\n'),
  );
  return EXIT.done;
}

interface TestOptions {
  readonly out: string;
  readonly limit: number;
  readonly rejudge?: number;
}

/** Reads the store itself: the API has the cases without their spans. */
async function writeTests(context: CommandContext, id: string, { out, limit, rejudge }: TestOptions) {
  const folder = resolve(context.cwd, out);
  const { checkCaseFolder, writeCases } = await import('../issues/write-cases.ts');
  await checkCaseFolder(folder);
  const { config, store } = await context.openApp();
  const { createIssueReads } = await import('../../api/reads/issues.ts');
  const { issue, cases } = await createIssueReads({ config, store }, undefined).cases(id, limit);
  if (cases.length === 0) {
    throw new NotFoundError(`no spans of the issue ${id} are stored any more: there is nothing to write`);
  }
  const judged =
    rejudge === undefined
      ? cases
      : await (await import('../issues/score-cases.ts')).rejudgeCases(context, cases, rejudge);
  const { redactTitle } = await import('../../issues/build-case.ts');
  await writeCases(folder, redactTitle(issue.title, config.redaction), judged);
  await context.out.document(
    { issue: issue.issueId, folder, cases: judged.map(({ shown }) => shown.id) },
    () => `${formatCount(judged.length, 'case')} in ${folder}`,
  );
  return EXIT.done;
}

async function change(context: CommandContext, id: string, what: string, body: object = {}) {
  const api = await openApi(context, `issues ${what}`);
  const issue = await api.write<IssueJson>('POST', `/issues/${encodeURIComponent(id)}/${what}`, { body });
  await context.out.document(issue, () => `${issue.id}  ${issue.state}  ${cleanLine(issue.title)}`);
  return EXIT.done;
}

/** Formats the test of a version: `in 3.3 verified: 2.1 % [1.4, 3.1] → 0.0 % [0.0, 0.2]`. */
function formatVerification({ verification }: DetailJson): string[] {
  if (verification === null) {
    return [];
  }
  const { version, state, before, since } = verification;
  const shares = [before, since].map((share) => formatShare({ share }) || 'no runs').join(' → ');
  return [`  in ${cleanLine(version, 40)} ${state}: ${shares}`];
}

/** Formats a share with its interval: `2.1 % [1.4, 3.1]`. */
function formatShare({ share }: Pick<IssueJson, 'share'>): string {
  const percent = (value: number) => (100 * value).toFixed(1);
  return share === null ? '' : `${percent(share.value)} % [${percent(share.low)}, ${percent(share.high)}]`;
}
