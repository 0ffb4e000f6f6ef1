import { decodeTraces, readTraces } from '../../src/conventions/index.ts';
import { CONTENT_SWITCHES, findContentSwitch } from '../../src/conventions/advice/content-switches.ts';
import { normaliseTrace } from '../../src/conventions/normalise-trace.ts';
import {
  DESCRIBED_EMITTERS,
  type DescribedEmitter,
  EMITTERS,
  type Emitter,
  SHAPES,
} from '../../test/support/recordings/emitters.ts';
import type { AgentRun } from '../../src/domain/trace/agent-run.ts';
import {
  answerText,
  type ExpectedFacts,
  listFacts,
  invocationParts,
} from '../../test/support/recordings/facts.ts';
import {
  listExpectations,
  listVersions,
  recordedSpans,
} from '../../test/support/recordings/recorded-spans.ts';
import {
  compareDisguised,
  listRecordedTraces,
  type ShapeFigures,
  underOtherNames,
  withoutOwnConventions,
} from '../../test/support/recordings/renamed.ts';
import { STRANGERS, WRAPPERS } from '../../test/support/recordings/wrappers.ts';
import { listShapes, readShapeFiles } from '../../test/support/recordings/shapes.ts';

const FACTS = new Map([
  ['system', 'system text'],
  ['question', 'question'],
  ['history', 'history'],
  ['toolName', 'tool calls'],
  ['toolArgs', 'arguments'],
  ['toolResult', 'results'],
  ['toolError', 'tool failures'],
  ['answer', 'answer'],
  ['documents', 'documents'],
  ['model', 'model'],
  ['usage', 'usage'],
  ['session', 'session'],
  ['user', 'user'],
]);

const HEAD = `# Data that spanscore reads from each emitter

A test writes this page from recordings of real instrumentations (\`test/fixtures/spans\`, \`test/fixtures/spans-multi\`). The column
**Read** lists the facts that spanscore reads from them. **Not sent** lists the facts that the recorded scenario had, but that no
recording of the emitter contains. A fact in neither column was not a part of the scenario.

Emitters that are not listed are read if they use one of the conventions OpenTelemetry GenAI, OpenInference or OpenLLMetry. Three
commands show the gaps. \`spanscore inspect\` says why a run cannot be scored, which spans were not understood, and which agent
attributes spanscore does not read, by service and scope. \`explain\` says the same for a trace that stops a run from being scored, and
\`conventions\` for the whole store.

Some emitters replace content by a placeholder (\`__REDACTED__\`, \`<REDACTED>\`, \`[Scrubbed due to …]\`, \`HIDDEN:non-empty\`). A
placeholder is neither question, answer nor evidence. It is left out, and a warning names the setting to change. A run with a
placeholder as its answer is not scored.

A run without an answer waits when its last tool call has no result, or when its framework paused it (LangGraph’s \`GraphInterrupt\`,
Pydantic AI’s \`ApprovalRequired\`, …). It is not scored: \`run_waiting\`. It is scored when the rest comes in its trace. A cancelled run
is no failure, and is not scored: \`run_cancelled\`. If a model reached its output limit, the run has the warning \`answer_cut\`.

Some instrumentations do not nest spans: each model call is a trace of its own. spanscore joins such traces of one service if one of
these shows that they are one run:

- ids of tool calls,
- the conversation,
- a session in which only one call waits for that tool,
- a step around the traces.

Traces that could belong to two runs, and traces of two sessions, are not joined. The earliest trace (or the step around all) owns the
run and is scored. The decision on each other trace says \`part_of_run\` and names the owner. If a piece comes late, the run is scored
again.

In the store, the other pieces are searched within two minutes before and after each known piece; in a service with more than 2,000
traces in that time, within a shorter time. If a run has a tool call and no answer yet, spanscore waits for six times \`decisionWait\`. A
rule with sampling decides by the owner's trace id. It does not read a piece that it did not sample, or that does not meet its \`where\`:
such a piece counts only if it is there before the run is scored. If you put a span around the run, it is one trace: no search and no waiting.
`;

/** Describes the reading of emitters that no convention knows, with the share of recorded runs that it reads. */
function shapeSection(): string {
  const recordings = listRecordedTraces();
  const off = compareDisguised(recordings, withoutOwnConventions);
  const renamed = compareDisguised(recordings, underOtherNames);
  const share = (count: number): string => `${Math.round((count / off.runs) * 100)} %`;
  const row = (name: string, { answered, withTools, models, usage }: ShapeFigures): string =>
    `| ${[name, ...[answered, withTools, models, usage].map(share)].join(' | ')} |`;
  return `## Emitters that no convention knows

Spans without content that any convention reads are read by the form of their values and the words of their names, if the trace shows
an agent or a model. Such a run has \`by-shape\` among its conventions. Its warning \`read_by_shape\` names the attribute, the event
(\`event:NAME/KEY\`) or the log record (\`log:NAME/KEY\`) of each fact. If two values are equally likely, neither is taken, and the warning
names both. \`scoring: { readByShape: false }\` turns this off. Decisions on such runs say \`readByShape: true\`,
and \`where: { readByShape: false }\` leaves these traces out of a rule.

A trace that shows an agent, but has no run that can be scored, names the longest texts that nobody reads: in \`notUnderstood\` of
\`inspect\`, and in the reason of its decisions. The reading by shape makes the reading of spans of servers and databases
about 5 % slower, and 15 % where a model call is among them.

The test reads ${off.runs} recorded runs twice more: with every convention off that reads their recording, and with all scopes, keys and
events under the names of an invented vendor (\`gen_ai.input.messages\` is \`zed.inputMessages\`). This share of the runs has the same facts
as under its conventions:

| Recordings | Question and answer | Tool calls and results, too | Models | Usage |
|---|---|---|---|---|
${row('Own conventions off', off)}
${row('Invented names', renamed)}

The first reading of an emitter that nobody saw is worse. ${Object.keys(WRAPPERS).length + Object.keys(STRANGERS).length} invented emitters were described in a line and written, and only then
read: 13 of ${Object.keys(WRAPPERS).length}, and of the later and harder ${Object.keys(STRANGERS).length} 8, were whole at first. All are whole with the rules that came of it.
`;
}

/** Section about what emitters leave out, which no recording can show. */
const UNSEEN_FACTS = [
  '## Facts that no span contains',
  '',
  '- AutoGen’s own spans (scope `autogen-core`) contain no messages. Question, history and answer need the OpenInference',
  '  instrumentation beside them.',
  '- LangChain4j through the OpenTelemetry agent has no spans of tools, and sends the message of a failed tool as the text of its',
  '  result. spanscore reads a failure only from a text that begins with `Error`, `Exception` or `Traceback`.',
  '- The input of LlamaIndex’s root span is the state of its workflow, without the question. The model calls have the question.',
  '- CrewAI’s later tasks get the results of earlier ones inside a prompt. That prompt is the question of their agents.',
  '- AWS’s distribution of OpenTelemetry (with `AGENT_OBSERVABILITY_ENABLED=true`) moves content from spans to log records: export',
  '  logs, too. Of the events of one name on a span (Strands has one a message) it keeps the last, so earlier words of the user are',
  '  lost. The content of OpenInference comes without its keys: texts that do not fit the roles on the span are left out.',
  '- Spring AI with `stream()` needs the Spring Boot property `spring.reactor.context-propagation=auto`. Without it, each tool is a',
  '  trace of its own that nothing joins, and the client’s span stands beside the model calls.',
  '- The Claude Agent SDK under OpenInference sends no system text. Its output tokens are those that the beginning of each reply names,',
  '  which are too few (with Claude Code 2.1.277 and later).',
  '- Gemini CLI sends no user. Without a terminal, each of its model calls is a trace of its own: the ids of tool calls join them.',
  '  What it tells the model about the machine (`<session_context>`) is system text. Values above 10,000 characters are cut.',
  '',
  'spanscore also reads files of Mastra’s native records, in the form of its storage and its exporters, instead of OTLP requests.',
  '',
];

/** Returns the text of `docs/conventions.md`. */
export function conventionsDocument(): string {
  return [
    HEAD,
    '| Emitter | Read | Not sent | Several agents |',
    '|---|---|---|---|',
    ...EMITTERS.map(formatRow),
    '',
    shapeSection(),
    '## How to make an emitter send its content',
    '',
    ...EMITTERS.map(formatDetails),
    '',
    '## The content setting of every emitter',
    '',
    '`inspect`, `explain` and `conventions` name this setting when content is missing. An emitter is recognised by its scope. Without a',
    'known scope, it is recognised by attributes that only this emitter sends.',
    '',
    '| Emitter | Sends content by default | Setting | Checked against |',
    '|---|---|---|---|',
    ...CONTENT_SWITCHES.map(
      ({ emitter, sendsByDefault, setting, source }) =>
        `| ${emitter} | ${sendsByDefault ? 'yes' : 'no'} | ${setting} | ${source} |`,
    ),
    '',
    '## Read from descriptions',
    '',
    'For these emitters there are only spans that other people recorded, or a description of the attributes (`test/fixtures/spans-spec`).',
    'A fact that is not under **Read** was not in them.',
    '',
    '| Emitter | Spans | Read | Content | Session and user |',
    '|---|---|---|---|---|',
    ...DESCRIBED_EMITTERS.map(describedRow),
    '',
    'Older versions of Agent Framework, AutoGen, CrewAI, Google ADK, Koog, OpenAI Agents, Pydantic AI and smolagents are tested with',
    'spans that other people recorded. Only a description exists, and no test, for Flue, VoltAgent, Braintrust, Sentry, OpenRouter and',
    'Semantic Kernel for .NET.',
    '',
    ...UNSEEN_FACTS,
    '## Recorded for the shapes of other projects',
    '',
    'These recordings tell the story of one question and one tool, or one text completion (`test/fixtures/spans-thirdparty`).',
    '`npm run record:thirdparty` records them again, with `-- --newest` from the newest versions of the packages.',
    '',
    '| Recording | Packages | Read |',
    '|---|---|---|',
    ...listVersions().map(thirdPartyRow),
    '',
    'Pydantic AI in format 1 is not among them: it is recorded as `pydantic-ai-1.26-py-v1`.',
    '',
    '## Shapes of real emitters',
    '',
    'These spans are synthetic. They have the shapes in which the emitters of other projects sent their content',
    '(`test/fixtures/shapes`). A test checks question, history, tool calls, answer, usage and session of each.',
    '',
    '| Emitter | Spans | Read |',
    '|---|---|---|',
    ...listShapes().map(shapeRow),
    '',
  ].join('\n');
}

function isRecordedBy(emitter: Emitter, name: string): boolean {
  return emitter.cases.some((start) => name.startsWith(start));
}

function formatRow(emitter: Emitter): string {
  const cases = listExpectations<ExpectedFacts>('spans').filter(([name]) => isRecordedBy(emitter, name));
  const several = listExpectations<unknown>('spans-multi').filter(([name]) => isRecordedBy(emitter, name));
  const read = new Set(cases.flatMap(([name]) => [...listFacts(readTraces(recordedSpans('spans', name)))]));
  if (read.has('answerDown')) {
    read.add('answer');
  }
  // The expected usage is that of two model calls. Emitters that make more calls send other counts.
  if (listScorableFacts(cases.map(([name]) => recordedSpans('spans', name))).has('usage')) {
    read.add('usage');
  }
  const absent = new Set(cases.flatMap(([, expected]) => expected.absent ?? []));
  const missing = [...absent].filter((fact) => !read.has(fact) && fact !== 'toolError');
  if (cases.length === 0) {
    listScorableFacts(several.map(([name]) => recordedSpans('spans-multi', name))).forEach((fact) =>
      read.add(fact),
    );
  }
  const readNames = formatNames((fact) => read.has(fact));
  const count = several.length === 0 ? '–' : `${several.length} recordings`;
  return `| ${emitter.name} | ${readNames} | ${formatNames((fact) => missing.includes(fact)) || '–'} | ${count} |`;
}

function formatNames(holds: (fact: string) => boolean): string {
  return [...FACTS]
    .filter(([fact]) => holds(fact))
    .map(([, name]) => name)
    .join(', ');
}

function formatDetails(emitter: Emitter): string {
  const folder = listExpectations<unknown>('spans').some(([name]) => isRecordedBy(emitter, name))
    ? 'spans'
    : 'spans-multi';
  const [name = ''] = listExpectations<unknown>(folder).find(([one]) => isRecordedBy(emitter, one)) ?? [];
  const setting = formatSetting(recordedSpans(folder, name));
  return `- **${emitter.name}**: content: ${setting}. Session and user: ${emitter.identity}.`;
}

/** Lists the facts in the run of a described case. Such a case has a story of its own. */
function listRunFacts(run: AgentRun): string[] {
  const { input, output } = run;
  const calls = invocationParts(output).map((part) => part.toolInvocation);
  const held: Record<string, boolean> = {
    system: input.systemMessages.length > 0,
    question: input.inputMessages.length > 0,
    history: input.rememberedMessages.length > 0,
    toolName: calls.length > 0,
    toolArgs: calls.some((call) => Object.keys(call.args ?? {}).length > 0),
    toolResult: calls.some((call) => call.state === 'result'),
    toolError: calls.some((call) => call.state === 'output-error'),
    answer: answerText(run) !== '',
    documents: run.documents.length > 0,
    model: run.models.length > 0,
    usage: run.usage.inputTokens !== null,
    session: run.sessionId !== null,
    user: run.userId !== null,
  };
  return Object.keys(held).filter((fact) => held[fact]);
}

/** Lists the facts of all scorable runs in these recordings. */
function listScorableFacts(recordings: readonly string[]): Set<string> {
  const runs = recordings.flatMap((recording) => readTraces(recording).flatMap((reading) => reading.runs));
  return new Set(runs.filter((run) => run.scorable).flatMap(listRunFacts));
}

function describedRow(emitter: DescribedEmitter): string {
  const names = listExpectations<unknown>('spans-spec').flatMap(([name]) =>
    isRecordedBy(emitter, name) ? [name] : [],
  );
  const recordings = names.map((name) => recordedSpans('spans-spec', name));
  const held = listScorableFacts(recordings);
  const setting = formatSetting(recordings[0] ?? '');
  return `| ${emitter.name} | ${emitter.from} | ${formatNames((fact) => held.has(fact))} | ${setting} | ${emitter.identity} |`;
}

function thirdPartyRow([name, versions]: [name: string, versions: Record<string, string>]): string {
  const facts = listScorableFacts([recordedSpans('spans-thirdparty', name)]);
  const packages = Object.entries(versions).filter(([one]) => !one.startsWith('opentelemetry-exporter'));
  const listed = packages.map(([one, version]) => `${one} ${version}`).join(', ');
  return `| ${name} | ${listed} | ${formatNames((fact) => facts.has(fact))} |`;
}

function shapeRow(name: string): string {
  const emitter = SHAPES.find(([start]) => name.startsWith(start))?.[1] ?? '';
  const runs = readShapeFiles(name).flatMap((reading) => reading.runs);
  const facts = new Set(runs.flatMap(listRunFacts));
  return `| ${emitter} | ${name} | ${formatNames((fact) => facts.has(fact))} |`;
}

/** Returns the setting that makes the emitter of a recording send content. */
function formatSetting(recording: string): string {
  const spans = decodeTraces(recording).traces.flatMap((trace) => normaliseTrace(trace).spans);
  return findContentSwitch(spans.filter((span) => span.conventions.size > 0))?.setting ?? 'not known';
}
