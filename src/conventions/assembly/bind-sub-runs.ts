import type { BuiltRun } from './built-run.ts';
import { type Call, createCall, plainName, settle } from './call-index.ts';
import type { RunPlan } from './run-plan.ts';
import { firstInput } from './run-plan.ts';
import { splitInput } from './split-input.ts';
import { textIn } from '../messages/read-messages.ts';
import { readAnswer, type Transcript } from './transcript.ts';

/** Limits of the search: sub-runs without a tool span that are matched to a call, and calls that each is compared with. */
const MAX_SEARCHES = 200;
const MAX_SEARCHED = 1_000;

/**
 * Puts sub-runs into the transcript of their parent. A sub-agent is the result of one tool call. A member of an envelope, or an
 * agent that took over the conversation, is part of the run itself.
 */
export function bindSubRuns(plan: RunPlan, transcript: Transcript, subs: readonly BuiltRun[]): void {
  const bySpan = new Map(transcript.calls.all.map((call) => [call.span, call]));
  let searches = 0;
  for (const sub of subs) {
    const answer = readAnswer(sub.transcript);
    const call = sub.plan.via === null ? undefined : bySpan.get(sub.plan.via);
    if (call !== undefined) {
      settleWith(call, answer);
    } else if (plan.kind === 'envelope') {
      join(transcript, sub);
    } else if (sub.plan.via === null) {
      searches++;
      bindLoose(
        plan,
        transcript,
        sub,
        searches > MAX_SEARCHES ? undefined : callFor(transcript, sub, answer),
      );
    }
  }
  transcript.blocks.sort((a, b) => a.order - b.order);
}

function settleWith(call: Call, answer: string): void {
  if (answer !== '') {
    settle(call, { result: answer });
  }
}

/** Binds an agent span that is below its caller without a tool span between them. */
function bindLoose(plan: RunPlan, transcript: Transcript, sub: BuiltRun, call: Call | undefined): void {
  const answer = readAnswer(sub.transcript);
  if (call !== undefined) {
    call.span = sub.plan.root;
    settleWith(call, answer);
    return;
  }
  const order = sub.plan.root.order;
  const goesOn = (plan.llms.at(-1)?.order ?? 0) > order;
  if (!goesOn) {
    join(transcript, sub);
    return;
  }
  const { agent } = sub.plan.root.facts;
  const unasked = createCall({
    type: 'tool-call',
    id: null,
    name: agent ?? sub.plan.root.span.name,
    args: null,
  });
  unasked.span = sub.plan.root;
  settleWith(unasked, answer);
  transcript.calls.add(unasked);
  transcript.blocks.push({ order, isModelCall: false, entries: [{ kind: 'call', call: unasked }] });
}

/** Finds the call without a tool span that this sub-run answers: by the agent's name, by its question, or by its answer. */
function callFor(transcript: Transcript, sub: BuiltRun, answer: string): Call | undefined {
  const open = transcript.calls.all
    .filter((call) => call.span === undefined && !call.handoff)
    .slice(0, MAX_SEARCHED);
  const name = plainName(sub.plan.root.facts.agent ?? '');
  const question = splitInput(firstInput(sub.plan))
    .turn.map((message) => textIn(message.parts))
    .join('\n')
    .trim();
  return (
    open.find((call) => name !== '' && plainName(call.name).includes(name)) ??
    open.find((call) => question !== '' && JSON.stringify(call.args ?? '').includes(question)) ??
    open.find(
      (call) => answer !== '' && call.state === 'result' && JSON.stringify(call.result).includes(answer),
    )
  );
}

/** Adds the output of the sub-run to the output of this run. */
function join(transcript: Transcript, sub: BuiltRun): void {
  for (const block of sub.transcript.blocks) {
    transcript.blocks.push(block);
    for (const entry of block.entries) {
      if (entry.kind === 'call') {
        transcript.calls.add(entry.call);
      }
    }
  }
}
