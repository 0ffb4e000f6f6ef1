import { type Call, createCall, plainName, settle } from './call-index.ts';
import { answersItself, orderedOutput, questionOf } from './envelopes.ts';
import type { RunPlan } from './run-plan.ts';
import { type Block, finalText, readAnswer, type Transcript } from './transcript.ts';
import { questionIn } from '../messages/payloads.ts';
import { textIn } from '../messages/read-messages.ts';
import type { AgentRun } from '../../domain/trace/agent-run.ts';

/** A run, with the data that its parent needs. */
export interface BuiltRun {
  plan: RunPlan;
  run: AgentRun;
  transcript: Transcript;
  conventions: Map<string, number>;
}

/** Limits of the search: sub-runs without a tool span that are matched to a call, and calls that each is compared with. */
const MAX_SEARCHES = 200;
const MAX_SEARCHED = 1_000;

/** Puts sub-runs into the parent's transcript: as the result of a call, or as part of the run (members of an envelope, agents that took over). */
export function bindSubRuns(plan: RunPlan, transcript: Transcript, subs: readonly BuiltRun[]): void {
  const bySpan = new Map(transcript.calls.all.map((call) => [call.span, call]));
  const answers = answersItself(plan);
  const hasResult = plan.root.role === 'workflow' && finalText(orderedOutput(plan.root.facts)) !== '';
  let searches = 0;
  for (const sub of subs) {
    const answer = readAnswer(sub.transcript);
    const call = sub.plan.via === null ? undefined : bySpan.get(sub.plan.via);
    if (call !== undefined) {
      settleWith(call, answer);
      unwrapQuestion(sub, call);
    } else if (plan.kind === 'envelope') {
      join(transcript, sub, hasResult && sub !== subs.at(-1));
    } else if (sub.plan.via === null) {
      searches++;
      const asked = searches > MAX_SEARCHES ? undefined : callFor(transcript, sub, answer);
      const goesOn = answers || (plan.llms.at(-1)?.order ?? 0) > sub.plan.root.order;
      bindLoose(transcript, sub, asked, goesOn);
    }
  }
  transcript.blocks.sort((a, b) => a.order - b.order);
}

function settleWith(call: Call, answer: string): void {
  if (answer !== '') {
    settle(call, { result: answer });
  }
}

/**
 * Binds an agent span that is below its caller without a tool span between them.
 * @param goesOn true when the caller answers itself: then the agent's work is a result
 */
function bindLoose(transcript: Transcript, sub: BuiltRun, asked: Call | undefined, goesOn: boolean): void {
  const answer = readAnswer(sub.transcript);
  if (asked !== undefined) {
    asked.span ??= sub.plan.root;
    settleWith(asked, answer);
    unwrapQuestion(sub, asked);
    return;
  }
  if (!goesOn) {
    join(transcript, sub);
    return;
  }
  const { root } = sub.plan;
  const name = root.facts.agent ?? root.span.name;
  const unasked = createCall({ type: 'tool-call', id: null, name, args: null });
  unasked.span = root;
  settleWith(unasked, answer);
  if (sub.run.error !== null) {
    const { message, type } = sub.run.error;
    settle(unasked, { result: undefined, errorText: message ?? type ?? 'the agent failed' });
  }
  transcript.calls.add(unasked);
  transcript.blocks.push({
    order: root.order,
    isModelCall: false,
    entries: [{ kind: 'call', call: unasked }],
  });
}

/** Replaces the question of a sub-agent by the call's, when the framework put it into a prompt of its own. */
function unwrapQuestion(sub: BuiltRun, call: Call): void {
  const { input } = sub.run;
  const [message] = input.inputMessages;
  const [part, ...more] = message?.content.parts ?? [];
  const asked = (questionIn(call.args) ?? []).map((one) => textIn(one.parts)).join('');
  if (message === undefined || input.inputMessages.length > 1 || part?.type !== 'text' || more.length > 0) {
    return;
  }
  const text = part['text'];
  if (asked !== '' && text.trim() !== asked && text.includes(asked)) {
    const content = { ...message.content, parts: [{ ...part, text: asked }], content: asked };
    input.inputMessages = [{ ...message, content }];
  }
}

/** Finds the call that this sub-run answers: without a tool span, or with the span of a tool that ran around the sub-run. */
function callFor(transcript: Transcript, sub: BuiltRun, answer: string): Call | undefined {
  return callWithoutSpan(transcript, sub, answer) ?? callAround(transcript, sub, answer);
}

/** Finds the call whose tool ran beside the sub-run, but around it in time: it names the agent, or has its answer. */
function callAround(transcript: Transcript, sub: BuiltRun, answer: string): Call | undefined {
  const { startUnixNano, durationNano } = sub.plan.root.span;
  const name = plainName(sub.plan.root.facts.agent ?? '');
  return transcript.calls.all.slice(0, MAX_SEARCHED).find((call) => {
    const span = call.span?.role === 'tool' ? call.span.span : undefined;
    if (span === undefined || call.span?.parent !== sub.plan.root.parent) {
      return false;
    }
    const isAround =
      span.startUnixNano <= startUnixNano &&
      span.startUnixNano + span.durationNano >= startUnixNano + durationNano;
    const isNamed = name !== '' && plainName(JSON.stringify(call.args ?? '')).includes(name);
    return isAround && (isNamed || (answer !== '' && call.result === answer));
  });
}

/** Finds the call without a tool span that this sub-run answers: by the agent's name, by its question, or by its answer. */
function callWithoutSpan(transcript: Transcript, sub: BuiltRun, answer: string): Call | undefined {
  const open = transcript.calls.all
    .filter((call) => call.span === undefined && !call.handoff)
    .slice(0, MAX_SEARCHED);
  const name = plainName(sub.plan.root.facts.agent ?? '');
  const question = questionOf(sub.plan);
  return (
    open.find((call) => name !== '' && plainName(call.name).includes(name)) ??
    open.find((call) => question !== '' && JSON.stringify(call.args ?? '').includes(question)) ??
    open.find(
      (call) => answer !== '' && call.state === 'result' && JSON.stringify(call.result).includes(answer),
    )
  );
}

/**
 * Adds the output of the sub-run to the output of this run.
 * @param isStep true when a workflow with a result of its own goes on: then what the sub-run says is no answer
 */
function join(transcript: Transcript, sub: BuiltRun, isStep = false): void {
  for (const block of sub.transcript.blocks) {
    transcript.blocks.push(isStep ? { ...block, entries: block.entries.map(asThought) } : block);
    for (const entry of block.entries) {
      if (entry.kind === 'call') {
        transcript.calls.add(entry.call);
      }
    }
  }
}

function asThought(entry: Block['entries'][number]): Block['entries'][number] {
  return entry.kind === 'part' && entry.part.type === 'text'
    ? { kind: 'part', part: { type: 'reasoning', text: entry.part.text } }
    : entry;
}
