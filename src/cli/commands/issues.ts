import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { isoTime } from '../../api/json/rows.ts';
import { CASES } from '../../api/resources/issues.ts';
import { NotFoundError } from '../../domain/errors.ts';
import { FAILURE_KINDS } from '../../domain/failure.ts';
import { formatCount } from '../../domain/plural.ts';
import { ISSUE_STATES } from '../../issues/read-issues.ts';
import { collectNames, limitUpTo, parseMoment } from '../arguments.ts';
import { examples, type Bind, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { openApi } from '../open-api.ts';
import { cleanLine } from '../show/clean-text.ts';
import { table } from '../show/output.ts';

/** Most verdicts of a judge on one case. */
const MOST_TIMES = 20;

/** Most issues that are printed. */
const MAX_ISSUES = 500;

interface ListOptions {
  readonly since?: number;
  readonly until?: number;
  readonly agent?: string;
  readonly version?: string;
  readonly state?: string;
  readonly kind?: string;
  readonly limit: number;
}

/** An issue as the API shows it. */
interface IssueJson {
  readonly id: string;
  readonly title: string;
  readonly agent: string;
  readonly state: string;
  readonly share: { readonly value: number; readonly low: number; readonly high: number } | null;
  readonly runs: number;
  readonly lastSeen: string | null;
}

interface DetailJson extends IssueJson {
  readonly verification: {
    readonly version: string;
    readonly state: string;
    readonly before: IssueJson['share'];
    readonly since: IssueJson['share'];
  } | null;
  readonly history: readonly { readonly at: string; readonly by: string | null; readonly what: string }[];
  readonly examples: readonly {
    readonly traceId: string;
    readonly question: string | null;
    readonly claim: string | null;
    readonly error: string | null;
    readonly comment: string | null;
    readonly answer: string | null;
    readonly evidence: { readonly source: string; readonly quote: string } | null;
  }[];
  readonly segments: readonly {
    readonly dimension: string;
    readonly value: string;
    readonly runs: number;
    readonly share: IssueJson['share'];
  }[];
}

export const registerIssues: RegisterCommand = (program, bind) => {
  const issues = program
    .command('issues')
    .addHelpText(
      'before',
      examples(
        ['what goes wrong this week', 'spanscore issues'],
        ['one issue with examples', 'spanscore issues show 9f2c81d04b7a6e35'],
        ['its failures as tests', 'spanscore issues tests 9f2c81d04b7a6e35 --out tests/refund'],
        ['say that it is mended', 'spanscore issues resolve 9f2c81d04b7a6e35 --version 3.3'],
      ),
    );
  issues
    .command('list', { isDefault: true })
    .description('Print the issues, the greatest share first.')
    .option('--since <when>', 'runs that began since 1h, 7d, or a date and time (default: 7d)', parseMoment)
    .option('--until <when>', 'runs that began before 1h, 7d, or a date and time', parseMoment)
    .option('--agent <name>', 'only issues of this agent')
    .option('--version <name>', 'only runs of this version')
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

interface SplitOptions {
  readonly trace: readonly string[];
}

/** Commands that change an issue. */
function registerChanges(issues: Command, bind: Bind): void {
  issues
    .command('resolve')
    .description('Say that an issue is mended.')
    .argument('<id>', 'id of an issue')
    .option('--version <name>', 'first version without it')
    .action(
      bind((context, id: string, { version }: { readonly version?: string }) =>
        change(context, { id, what: 'resolve', body: version === undefined ? {} : { version } }),
      ),
    );
  issues
    .command('reopen')
    .description('Open an issue again.')
    .argument('<id>', 'id of an issue')
    .action(bind((context, id: string) => change(context, { id, what: 'reopen', body: {} })));
  issues
    .command('ignore')
    .description('Leave an issue alone.')
    .argument('<id>', 'id of an issue')
    .action(bind((context, id: string) => change(context, { id, what: 'ignore', body: {} })));
  issues
    .command('merge')
    .description('Join an issue to another one of the agent: the second goes into the first.')
    .argument('<into>', 'id of the issue that stays')
    .argument('<id>', 'id of the issue that goes into it')
    .action(
      bind((context, into: string, id: string) => change(context, { id, what: 'merge', body: { into } })),
    );
  issues
    .command('split')
    .description('Take the failures of some traces out of an issue, as an issue of their own.')
    .argument('<id>', 'id of an issue')
    .requiredOption('--trace <ids...>', 'ids of the traces (repeatable, or with commas)', collectNames)
    .action(
      bind((context, id: string, { trace }: SplitOptions) =>
        change(context, { id, what: 'split', body: { traceIds: trace } }),
      ),
    );
}

async function list(context: CommandContext, { since, until, ...filters }: ListOptions) {
  const api = await openApi(context, 'issues');
  const query = { since: isoTime(since ?? null), until: isoTime(until ?? null), ...filters };
  const { items } = await api.read<{ readonly items: readonly IssueJson[] }>('/issues', query);
  if (items.length === 0) {
    context.out.talk('no issues in this time');
  }
  await context.out.list(items, () =>
    table(
      ['ID', 'STATE', 'SHARE', 'RUNS', 'AGENT', 'LAST SEEN', 'ISSUE'],
      items.map((issue) => [
        issue.id,
        issue.state,
        formatShare(issue),
        String(issue.runs),
        cleanLine(issue.agent, 40),
        issue.lastSeen ?? '',
        cleanLine(issue.title, 100),
      ]),
    ),
  );
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

interface Change {
  readonly id: string;
  readonly what: string;
  readonly body: object;
}

async function change(context: CommandContext, { id, what, body }: Change) {
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
