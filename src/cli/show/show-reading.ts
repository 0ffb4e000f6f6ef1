import { formatCount } from '../../domain/plural.ts';
import { showKeys } from './show-target.ts';
import type { AgentRun, NotUnderstood, TraceReading } from '../../domain/trace/agent-run.ts';
import type {
  AgentMessage,
  MessagePart,
  SystemMessage,
  ToolInvocation,
} from '../../domain/trace/messages.ts';
import { cleanLine, cleanText } from './clean-text.ts';
import { textOrJson } from '../../domain/unknown-values.ts';

/** Longest text shown of one message, in characters; `--json` shows the whole text. */
const MAX_TEXT = 600;
const MAX_DEPTH = 8;
export function showReading(reading: TraceReading): string {
  const head = `trace ${reading.traceId} · ${formatCount(reading.spanCount, 'span')}, ${formatCount(reading.logCount, 'log record')}`;
  const { modelCalls = [], modelCallsLeftOut = 0 } = reading;
  const lines = [head, ...[...reading.runs, ...modelCalls].flatMap((run) => indent(showRun(run, 0)))];
  if (modelCallsLeftOut > 0) {
    lines.push(`  and ${formatCount(modelCallsLeftOut, 'model call')} more`);
  }
  if (reading.notScorable !== null) {
    lines.push(
      `  cannot be scored: ${reading.notScorable.code}: ${cleanLine(reading.notScorable.detail, MAX_TEXT)}`,
    );
  }
  lines.push(...showNotUnderstood(reading).map((line) => `  ${line}`));
  return lines.join('\n');
}

/** Returns lines on spans that no convention reads, per service and scope, grouped by span name. */
export function showNotUnderstood(reading: Pick<TraceReading, 'notUnderstood'>): string[] {
  const groups = new Map<string, NotUnderstood[]>();
  for (const span of reading.notUnderstood) {
    const key = JSON.stringify([span.service, span.scope, span.name, span.reason]);
    groups.set(key, [...(groups.get(key) ?? []), span]);
  }
  return [...groups.values()].flatMap((spans) => {
    const [first] = spans;
    if (first === undefined) {
      return [];
    }
    const where = `${cleanLine(first.service) || 'no service'}, scope ${cleanLine(first.scope) || 'none'}`;
    const which = `${formatCount(spans.length, 'span')} "${cleanLine(first.name)}" (${where}; ${first.spanId})`;
    const keys = [...new Set(spans.flatMap((span) => span.attributes))];
    return [`not understood: ${which}: ${cleanLine(first.reason)}; attributes ${showKeys(keys)}`];
  });
}

const RUN_NAMES: Record<AgentRun['target']['kind'], string> = {
  trace: 'run',
  agent: 'agent',
  'model-call': 'model call',
  session: 'session',
};

function showRun(run: AgentRun, depth: number): string[] {
  const facts = [
    run.service === null ? undefined : `service ${run.service}`,
    run.environment === null ? undefined : `environment ${run.environment}`,
    run.conventions.join('+'),
    run.models.join(', ') || undefined,
    showUsage(run),
    `${Date.parse(run.endedAt) - Date.parse(run.startedAt)} ms`,
    run.sessionId === null ? undefined : `session ${run.sessionId}`,
    run.userId === null ? undefined : `user ${run.userId}`,
  ].filter((fact) => fact !== undefined);
  const lines = [
    `${RUN_NAMES[run.target.kind]} ${cleanLine(run.agent ?? '(no name)')} · ${facts.map((fact) => cleanLine(fact)).join(' · ')}`,
    ...indent(showConversation(run)),
    ...indent(run.documents.map((document) => entry('document', document.content))),
    ...(run.error === null
      ? []
      : [`  run failed: ${cleanLine(run.error.message ?? run.error.type ?? 'no reason given')}`]),
    ...run.warnings.map(
      (warning) =>
        `  warning: ${cleanLine(`${warning.code}: ${warning.detail}`, MAX_TEXT)} (span ${warning.spanId})`,
    ),
    run.notScorable === null
      ? `  can be scored, with ${formatCount(run.context.length, 'piece')} of evidence`
      : `  cannot be scored: ${run.notScorable.code}: ${cleanLine(run.notScorable.detail, MAX_TEXT)}`,
  ];
  const below = depth < MAX_DEPTH ? run.subRuns.flatMap((child) => indent(showRun(child, depth + 1))) : [];
  return [...lines, ...below];
}

function showConversation(run: AgentRun): string[] {
  return [
    ...run.input.systemMessages.map((message) => entry('system', systemText(message))),
    ...run.input.rememberedMessages.flatMap((message) => showMessage(message, 'earlier ')),
    ...run.input.inputMessages.flatMap((message) => showMessage(message, '')),
    ...run.output.flatMap((message) => showMessage(message, '')),
  ];
}

function showMessage(message: AgentMessage, prefix: string): string[] {
  return message.content.parts.flatMap((part) => showPart(part, `${prefix}${message.role}`));
}

function showPart(part: MessagePart, role: string): string[] {
  if (part.type === 'text' && 'text' in part) {
    return [entry(role, part.text)];
  }
  if (part.type === 'reasoning' && 'reasoning' in part) {
    return [entry('reasoning', part.reasoning)];
  }
  if (part.type === 'tool-invocation' && 'toolInvocation' in part) {
    return showTool(part.toolInvocation);
  }
  if (part.type === 'file' && 'mimeType' in part) {
    return [entry(role, `(file, ${part.mimeType})`)];
  }
  return part.type === 'step-start' ? [] : [entry(role, `(${part.type})`)];
}

function showTool(call: ToolInvocation): string[] {
  const outcome =
    call.state === 'result'
      ? entry('  result', textOrJson(call.result))
      : call.state === 'output-error'
        ? entry('  failed', call.errorText ?? 'no reason given')
        : entry('  state', `${call.state}: no result found`);
  return [entry('tool', `${call.toolName} ${textOrJson(call.args)}`), outcome];
}

function systemText(message: SystemMessage): string {
  return typeof message.content === 'string'
    ? message.content
    : message.content.map((part) => part.text).join('\n');
}

function showUsage(run: AgentRun): string | undefined {
  const { inputTokens, outputTokens } = run.usage;
  return inputTokens === null && outputTokens === null
    ? undefined
    : `${inputTokens ?? '?'} tokens in, ${outputTokens ?? '?'} out`;
}

function entry(label: string, text: string): string {
  const shown = cleanText(text).trim();
  const cut = shown.length > MAX_TEXT ? `${shown.slice(0, MAX_TEXT)}… (${shown.length} characters)` : shown;
  return `${label.padEnd(10)} ${cut.replaceAll('\n', `\n${' '.repeat(11)}`)}`;
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line.replaceAll('\n', '\n  ')}`);
}
