import { Option } from 'commander';
import { isoTime } from '../../api/json/rows.ts';
import { ISSUE_STATES } from '../../issues/read-issues.ts';
import { parseMoment } from '../arguments.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { openApi } from '../open-api.ts';
import { cleanLine } from '../show/clean-text.ts';
import { table } from '../show/output.ts';

interface ListOptions {
  readonly since?: number;
  readonly until?: number;
  readonly agent?: string;
  readonly version?: string;
  readonly state?: string;
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
    readonly claim: string | null;
    readonly error: string | null;
    readonly answer: string | null;
    readonly evidence: { readonly source: string; readonly quote: string } | null;
  }[];
}

export const registerIssues: RegisterCommand = (program, bind) => {
  const issues = program
    .command('issues')
    .description('What goes wrong, how often, and since when: failures of runs, grouped without a model.')
    .addHelpText(
      'before',
      examples(
        ['what goes wrong this week', 'spanscore issues'],
        ['one issue with examples', 'spanscore issues show 9f2c81d04b7a6e35'],
        ['say that it is mended', 'spanscore issues resolve 9f2c81d04b7a6e35 --version 3.3'],
      ),
    );
  issues
    .command('list', { isDefault: true })
    .description('Print the issues. Issues of most runs come first.')
    .option('--since <when>', 'runs that began since 1h, 7d, or a date and time (default: 7d)', parseMoment)
    .option('--until <when>', 'runs that began before 1h, 7d, or a date and time', parseMoment)
    .option('--agent <name>', 'only issues of this agent')
    .option('--version <name>', 'only runs of this version')
    .addOption(new Option('--state <state>', 'only issues in this state').choices(ISSUE_STATES))
    .action(bind(list));
  issues
    .command('show')
    .description('Print one issue with its newest examples.')
    .argument('<id>', 'id of an issue, or an alias')
    .action(bind(show));
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
};

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
      `${issue.id}  ${issue.state}  ${formatShare(issue)}  ${issue.runs} runs  ${cleanLine(issue.title)}`,
      ...formatVerification(issue),
      ...issue.history.map(
        ({ at, by, what }) => `  ${at}  ${cleanLine(by ?? 'spanscore', 40)}: ${cleanLine(what)}`,
      ),
      ...issue.examples.map(({ traceId, claim, error, answer, evidence }) => {
        const quote = evidence === null ? '' : `\n    ${evidence.source}: ${cleanLine(evidence.quote)}`;
        return `  ${traceId}  ${cleanLine(claim ?? error ?? answer ?? '')}${quote}`;
      }),
    ].join('\n'),
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
