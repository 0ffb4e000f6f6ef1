import { z } from 'zod';
import { stringify } from 'yaml';
import type { AgentDetail, AgentItem, VersionsReply } from '../api/resources/agents.ts';
import type { FunnelReply } from '../api/resources/aggregates/coverage.ts';
import type { Alert, AlertDetail } from '../api/resources/alerts.ts';
import type { Preview } from '../api/resources/previews.ts';
import type { TraceDetail, TraceItem } from '../api/resources/traces.ts';
import { MENDS } from '../api/reads/coverage.ts';
import { checkValue, ruleSchema } from '../config/index.ts';
import { formatDiff } from '../config/files/change-file.ts';
import { WHOLE_RULE } from '../domain/decision.ts';
import { type Asked, ToolFault } from './ask.ts';
import { buildResult, type ResultTerms, type ToolResult } from './result.ts';
import { buildRunPage, readAnswer, readQuestion } from './show-run.ts';

/** Tool of the server: a question, and the requests to the API that answer it. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodObject<z.ZodRawShape>;
  readonly run: (api: Asked, args: unknown) => Promise<ToolResult>;
}

function defineTool<Shape extends z.ZodRawShape>(
  name: string,
  description: string,
  shape: Shape,
  run: (api: Asked, args: z.output<z.ZodObject<Shape, z.core.$strict>>) => Promise<ToolResult>,
): Tool {
  const input = z.strictObject(shape);
  return { name, description, input, run: (api, args) => run(api, input.parse(args)) };
}

type Item<Schema extends z.ZodType> = z.output<Schema>;

interface Page<Body> {
  readonly items: readonly Body[];
  readonly next: string | null;
}

const text = (description: string) => z.string().min(1).max(1_000).optional().describe(description);
const number = (description: string) => z.number().optional().describe(description);
const traceId = z
  .string()
  .regex(/^[0-9a-fA-F]{32}$/u, { error: 'write 32 hex digits' })
  .describe('Id of the trace: 32 hex digits.');
const since = text('Oldest start: `24h`, `7d`, or a date and time.');
const agent = text('Name of the agent.');
const cursor = z.string().min(1).max(4_000).optional().describe('`next` of the result before.');
const limit = z.int().min(1).max(50).default(10).describe('Most items.');

/** Most traces that are named as examples. */
const EXAMPLES = 5;

/** Builds a result without a next page: long lists are cut. */
function buildWhole(facts: Readonly<Record<string, unknown>>, terms: ResultTerms = {}): ToolResult {
  const result = buildResult(facts, terms, 'lists');
  if (result === undefined) {
    throw new ToolFault('the result is too large: ask for one agent, one scorer or a shorter time');
  }
  return result;
}

/** Builds a page of a list. A page that does not fit is asked for again with fewer items, so that `next` is exact. */
async function buildPaged(
  read: (limit: number) => Promise<Page<object>>,
  limitOfPage: number,
): Promise<ToolResult> {
  const { items, next } = await read(limitOfPage);
  const note = next === null ? undefined : 'There is more: ask again with `next` as the cursor.';
  const isLast = limitOfPage === 1;
  const result = buildResult({ items, next }, { note }, isLast ? 'lists' : 'texts');
  return result ?? (isLast ? buildWhole({ items, next }) : buildPaged(read, Math.ceil(limitOfPage / 2)));
}

interface Wrong {
  readonly kind: 'incident' | 'failing' | 'tool_errors' | 'budget' | 'not_scored';
  readonly agent: string | null;
  readonly scorer: string | null;
  readonly tool: string | null;
  readonly n: number;
  readonly summary: string;
  readonly incidentId: string | null;
  readonly traceIds: readonly string[];
}

const NOTHING = { agent: null, scorer: null, tool: null, incidentId: null, traceIds: [] };

/** Kinds by how bad they are. */
const KINDS: readonly Wrong['kind'][] = ['incident', 'budget', 'failing', 'tool_errors', 'not_scored'];

/** Most items of each kind for which example traces are read. */
const MOST_OF_KIND = 5;

const whatsWrong = defineTool(
  'whats_wrong',
  'What is wrong with the agents: open incidents, budgets that ran out, failing scores, failing tools, and runs without a score. The worst come first. Begin here.',
  { since: since.default('24h'), agent },
  async (api, { since: from, agent: name }) => {
    const range = { since: from, agent: name };
    const [alerts, agents, funnel] = await Promise.all([
      api.read<Page<Item<typeof Alert>>>('/alerts', { open: 'true', limit: 500 }),
      api.read<Page<Item<typeof AgentItem>>>('/agents', range),
      api.read<Item<typeof FunnelReply>>('/coverage/funnel', range),
    ]);
    const found = [
      ...alerts.items.filter(({ series }) => name === undefined || series.agent === name).map(nameIncident),
      ...(await listFailing(api, agents.items, from)),
      ...(await listToolErrors(api, agents.items, from)),
      ...(await listNotScored(api, funnel, range)),
    ];
    const items = found.toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || b.n - a.n);
    return buildWhole({ allClear: items.length === 0, items });
  },
);

function nameIncident({
  series,
  count,
  summary,
  incidentId,
  worstTraces,
  budget,
}: Item<typeof Alert>): Wrong {
  return {
    ...NOTHING,
    kind: budget === undefined ? 'incident' : 'budget',
    agent: series.agent || null,
    scorer: series.scorer || null,
    n: count,
    summary,
    incidentId,
    traceIds: worstTraces.slice(0, EXAMPLES).map((trace) => trace.traceId),
  };
}

async function listFailing(api: Asked, agents: readonly Item<typeof AgentItem>[], from: string) {
  const failing = agents.flatMap(({ agent: name, qualities }) =>
    qualities.flatMap(({ scorer, pass }) => {
      const n = pass === null ? 0 : Math.round((1 - pass.value) * pass.n);
      const summary = `${n} of ${pass?.n ?? 0} scores do not pass`;
      return n === 0 ? [] : [{ ...NOTHING, kind: 'failing' as const, agent: name, scorer, n, summary }];
    }),
  );
  return addExamples(api, failing, ({ agent: name, scorer }) => ({
    since: from,
    agent: name,
    scorer: scorer ?? undefined,
    order: 'worst',
  }));
}

async function listToolErrors(api: Asked, agents: readonly Item<typeof AgentItem>[], from: string) {
  const names = agents.filter(({ toolErrors }) => (toolErrors?.value ?? 0) > 0).slice(0, MOST_OF_KIND);
  const details = await Promise.all(
    names.map(({ agent: name }) =>
      api.read<Item<typeof AgentDetail>>(`/agents/${encodeURIComponent(name)}`, { since: from }),
    ),
  );
  const failing = details.flatMap(({ agent: name, tools }) =>
    tools
      .filter(({ errors }) => errors > 0)
      .map(({ name: tool, calls, errors: n }) => {
        const summary = `${n} of ${calls} calls failed`;
        return { ...NOTHING, kind: 'tool_errors' as const, agent: name, tool, n, summary };
      }),
  );
  return addExamples(api, failing, ({ agent: name, tool }) => ({
    since: from,
    agent: name,
    tool: tool ?? undefined,
    toolError: 'true',
  }));
}

type Loss = Item<typeof FunnelReply>['losses'][number];

async function listNotScored(api: Asked, { losses }: Item<typeof FunnelReply>, range: object) {
  const isMeant = ({ status }: Loss) => status === 'filtered' || status === 'sampled_out' || status === null;
  const lost = losses.filter((loss) => !isMeant(loss) && (loss.status === 'failed' || loss.mend !== null));
  const items = lost.map(({ status, reason, count, mend }) => ({
    ...NOTHING,
    kind: 'not_scored' as const,
    n: count,
    summary: `${reason} ${status ?? ''}${mend === null ? '' : ` - mend with ${mend}`}`,
    status: status ?? '',
    reason,
  }));
  const withExamples = await addExamples(api, items, ({ status, reason }) => ({ ...range, status, reason }));
  return withExamples.map(({ status: _status, reason: _reason, ...item }) => item);
}

/** Adds traces to the first items, by the filters of each. */
async function addExamples<W extends Wrong>(
  api: Asked,
  items: readonly W[],
  filtersOf: (item: W) => Readonly<Record<string, string | undefined>>,
): Promise<W[]> {
  const sorted = items.toSorted((a, b) => b.n - a.n);
  return Promise.all(
    sorted.map(async (item, index) => {
      if (index >= MOST_OF_KIND) {
        return item;
      }
      const page = await api.read<Page<Item<typeof TraceItem>>>('/traces', {
        ...filtersOf(item),
        limit: EXAMPLES,
      });
      return { ...item, traceIds: page.items.map((trace) => trace.traceId) };
    }),
  );
}

const explainIncident = defineTool(
  'explain_incident',
  'One incident: what changed, since when, why, in which version, and the worst runs.',
  { incidentId: z.string().min(1).max(1_000).describe('`incidentId` of whats_wrong.') },
  async (api, { incidentId }) => {
    const alert = await api.read<Item<typeof AlertDetail>>(`/alerts/${encodeURIComponent(incidentId)}`);
    const worst = alert.worstTraces.slice(0, EXAMPLES);
    const ids = worst.map((trace) => trace.traceId).filter((id) => id !== '');
    const traces =
      ids.length === 0
        ? []
        : (await api.read<Page<Item<typeof TraceItem>>>('/traces', { traceId: ids })).items;
    const examples = worst.map(({ traceId: id, score }) => {
      const { question = null, answer = null } = traces.find((each) => each.traceId === id) ?? {};
      return { traceId: id, question, answer, score };
    });
    return buildWhole({ ...alert, examples });
  },
);

const showRun = defineTool(
  'show_run',
  'One run: its question and answer, the calls of its tools, and its scores with their reasons.',
  { traceId, cursor },
  async (api, { traceId: id, cursor: at }) =>
    buildRunPage(await api.read<Item<typeof TraceDetail>>(`/traces/${id}`, { texts: 'whole' }), at),
);

const whyNotScored = defineTool(
  'why_not_scored',
  'Why a run, or the runs of a time, have no score: the reason, and the setting that mends it.',
  { traceId: traceId.optional(), since: since.default('24h'), agent },
  async (api, { traceId: id, since: from, agent: name }) => {
    const items =
      id === undefined
        ? (
            await api.read<Item<typeof FunnelReply>>('/coverage/funnel', { since: from, agent: name })
          ).losses.map(explainLoss)
        : (await api.read<Item<typeof TraceDetail>>(`/traces/${id}`)).decisions
            .filter(({ status }) => status !== 'scored')
            .map(explainDecision);
    return buildWhole({ items }, { ownFields: ['reason', 'mend'] });
  },
);

function explainLoss({ status, reason, count, runs, traces, mend }: Loss) {
  const rules = new URLSearchParams(traces.slice(traces.indexOf('?') + 1)).getAll('rule');
  return {
    rule: rules.join(' ') || null,
    scorer: null,
    status: status ?? 'waiting',
    reason: readCode(reason),
    sentence: `${count} times in ${runs} runs`,
    mend,
    count,
  };
}

function explainDecision({
  rule,
  scorer,
  status,
  reason,
}: Pick<Item<typeof TraceDetail>['decisions'][number], 'rule' | 'scorer' | 'status' | 'reason'>) {
  const code = readCode(reason || status);
  const mend = MENDS[code]?.replace('rules[]', `rules.${rule}`) ?? null;
  const one = scorer === WHOLE_RULE ? null : scorer;
  return { rule, scorer: one, status, reason: code, sentence: reason, mend, count: 1 };
}

/** Reads the code of a reason: what follows it may be a text of the trace. */
function readCode(reason: string): string {
  return /^[a-z_]{1,60}/u.exec(reason)?.[0] ?? 'other';
}

const findRuns = defineTool(
  'find_runs',
  'Runs by their text, agent, version, score, tool, user or session: the newest, or the worst.',
  {
    query: text('Part of the question or the answer.'),
    agent,
    version: text('Version of the agent.'),
    scorer: text('Name of a scorer.'),
    min: number('Least score.'),
    max: number('Greatest score.'),
    tool: text('Name of a tool that the run called.'),
    toolError: z.boolean().optional().describe('true: only runs with a failed tool call.'),
    userId: text('User.'),
    sessionId: text('Session.'),
    since,
    until: text('First start that is too late.'),
    order: z.enum(['newest', 'worst']).default('newest').describe('`worst` has one page.'),
    limit,
    cursor,
  },
  async (api, { query, version, toolError, order, limit: most, ...filters }) => {
    const read = async (size: number) => {
      const page = await api.read<Page<Item<typeof TraceItem>>>('/traces', {
        ...filters,
        q: query,
        agentVersion: version,
        toolError: toolError === true ? 'true' : undefined,
        order: order === 'worst' ? order : undefined,
        limit: size,
      });
      const items = page.items.map((trace) => ({
        traceId: trace.traceId,
        agent: trace.agent,
        version: trace.agentVersion ?? trace.serviceVersion,
        startedAt: trace.startedAt,
        question: trace.question,
        answer: trace.answer,
        scores: trace.scores.map(({ scorer, score, label, passes }) => ({ scorer, score, label, passes })),
      }));
      return { items, next: page.next };
    };
    return buildPaged(read, most);
  },
);

const versionName = z.string().max(1_000);

const compareVersions = defineTool(
  'compare_versions',
  'Two versions of an agent side by side: pass rates with intervals, tokens and time.',
  {
    agent: z.string().min(1).max(1_000).describe('Name of the agent.'),
    left: versionName.describe('Earlier version.'),
    right: versionName.describe('Later version.'),
  },
  async (api, { agent: name, left, right }) => {
    const path = `/agents/${encodeURIComponent(name)}/versions`;
    return buildWhole(await api.read<Item<typeof VersionsReply>>(path, { left, right }));
  },
);

const rule = z
  .union([z.string().min(1).max(1_000), z.record(z.string(), z.unknown())])
  .describe('A rule as in the configuration: { name, scorers, where, sample, budget }.');

const previewRule = defineTool(
  'preview_rule',
  'What a rule would match, score and cost on stored runs. Stores nothing. Verdicts of a sample cost money, and need the scope admin.',
  {
    rule: rule.describe('A rule as in the configuration, or the name of one.'),
    last: text('Time of the runs: `24h`, `7d`.').default('24h'),
    sample: z.int().min(0).max(50).default(0).describe('Runs that are really judged.'),
  },
  async (api, args) => {
    const ask = (sample: number) => api.write<Item<typeof Preview>>('/preview', { ...args, sample });
    const [preview, note] = await ask(args.sample)
      .then((found) => [found, undefined] as const)
      .catch(async (error: unknown) => {
        if (!(error instanceof ToolFault) || error.status !== 403 || args.sample === 0) {
          throw error;
        }
        return [await ask(0), `No run was judged: ${error.message}.`] as const;
      });
    const traces = preview.traces.map((trace) => ({ ...trace, reading: null }));
    return buildWhole({ ...preview, traces }, { note });
  },
);

interface RuleRow {
  readonly rule: string;
  readonly target: string;
  readonly scorers: readonly string[];
  readonly where: object;
  readonly sample: object;
  readonly budget: object | null;
}

const proposeRule = defineTool(
  'propose_rule',
  'Writes a rule as YAML, and the difference to the rule that it replaces. Changes nothing: a person puts it into the configuration.',
  {
    rule: rule.refine((given) => typeof given === 'object', { error: 'write the rule as an object' }),
    replaces: text('Name of the rule that it replaces.'),
  },
  async (api, { rule: given, replaces }) => {
    const checked = checkRule(given);
    const { items } = await api.read<Page<RuleRow>>('/rules');
    const former = items.find((each) => each.rule === (replaces ?? checked.name));
    if (replaces !== undefined && former === undefined) {
      const known = items.map((each) => each.rule).join(', ');
      throw new ToolFault(`replaces: there is no rule ${replaces}; the rules are: ${known}`);
    }
    const yaml = stringify({ rules: [given] });
    const before = former === undefined ? '' : stringify({ rules: [writeRule(former)] });
    const facts = { yaml, diff: formatDiff('spanscore.config.yaml', before, yaml) };
    return buildWhole(facts, { ownFields: ['yaml', 'diff'] });
  },
);

function checkRule(given: unknown): z.output<typeof ruleSchema> {
  try {
    return checkValue(ruleSchema, given);
  } catch (error) {
    throw new ToolFault(`rule: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function writeRule({ rule: name, target, scorers, where, sample, budget }: RuleRow) {
  return {
    name,
    ...(target === 'trace' ? {} : { target }),
    scorers,
    ...(Object.keys(where).length === 0 ? {} : { where }),
    sample,
    ...(budget === null ? {} : { budget }),
  };
}

export const ADD_LABEL = 'add_label';

const addLabel = defineTool(
  ADD_LABEL,
  'Stores a score of a person on a run. The author is the name of the token.',
  {
    traceId,
    scorer: z.string().min(1).max(200).describe('Name of the scorer whose question the person answers.'),
    score: z.number().describe('Within the range of the scorer.'),
    label: text('Word for the score.'),
    reason: z.string().max(100_000).optional().describe('Reason, for others.'),
  },
  async (api, label) => {
    await requireTrace(api, label.traceId);
    const given = { ...label, source: 'human' };
    const { ids } = await api.write<{ readonly ids: readonly string[] }>('/scores', given);
    return buildWhole({ scoreId: ids[0] });
  },
);

/** Refuses a trace that is not stored. A token that may only label cannot look: the API takes labels before their traces. */
async function requireTrace(api: Asked, id: string): Promise<void> {
  try {
    const { items } = await api.read<Page<object>>('/traces', { traceId: id, limit: 1 });
    if (items.length === 0) {
      await api.read(`/traces/${id}`);
    }
  } catch (error) {
    if (!(error instanceof ToolFault) || error.status !== 403) {
      throw error;
    }
  }
}

const exportTests = defineTool(
  'export_tests',
  'Runs as test cases: the input of each, and the answer where its score passes. Begin with the failing ones: set max.',
  {
    agent,
    scorer: text('Name of a scorer.'),
    max: number('Greatest score.'),
    since,
    limit,
    cursor,
  },
  async (api, { limit: most, ...filters }) => {
    const read = async (size: number) => {
      const page = await api.read<Page<Item<typeof TraceItem>>>('/traces', { ...filters, limit: size });
      const cases = await Promise.all(page.items.map((trace) => buildTest(api, trace, filters)));
      return { items: cases.flat(), next: page.next };
    };
    return buildPaged(read, most);
  },
);

/** Builds the test case of a run by its worst score of the filters. */
async function buildTest(
  api: Asked,
  trace: Item<typeof TraceItem>,
  { scorer, max }: { readonly scorer?: string | undefined; readonly max?: number | undefined },
) {
  const [worst] = trace.scores
    .filter((each) => scorer === undefined || each.scorer === scorer || each.scorer.startsWith(`${scorer}-`))
    .filter(({ score }) => max === undefined || score <= max)
    .toSorted((a, b) => Number(a.passes ?? true) - Number(b.passes ?? true) || a.score - b.score);
  if (worst === undefined || trace.question === null) {
    return [];
  }
  const { reading } = await api.read<Item<typeof TraceDetail>>(`/traces/${trace.traceId}`);
  const run = reading?.runs[0];
  return [
    {
      traceId: trace.traceId,
      input: readQuestion(run) || trace.question,
      expected: worst.passes === true ? readAnswer(run) || trace.answer : null,
      scorer: worst.scorer,
      score: worst.score,
    },
  ];
}

/** All tools, in the order of their list. */
export const TOOLS: readonly Tool[] = [
  whatsWrong,
  explainIncident,
  showRun,
  whyNotScored,
  findRuns,
  compareVersions,
  previewRule,
  proposeRule,
  addLabel,
  exportTests,
];
