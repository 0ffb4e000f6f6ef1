import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import type { Span } from '../../../src/domain/trace/span.ts';
import { buildSpan, chatMessage, chatSpan, toolCall, toolResponse } from '../../support/builders/spans.ts';
import { answerText, invocationParts, textOfMessage, onlyRun } from '../../support/recordings/facts.ts';

const toolNames = (run: AgentRun): string[] =>
  invocationParts(run.output).map(({ toolInvocation }) => toolInvocation.toolName);
const questions = (run: AgentRun): string[] => run.input.inputMessages.map(textOfMessage);

const QUESTION = chatMessage('user', 'Plan a day.');
const oi = (id: string, kind: string, attributes: object, options: object): Span =>
  buildSpan(id, { 'openinference.span.kind': kind, ...attributes }, options);

describe('a sub-agent', () => {
  const delegate = toolCall('1', 'delegate_task_to_member', {
    member_id: 'weather-agent',
    task: 'Weather in Paris?',
  });
  const spans = (beside: object): Span[] => [
    oi(
      'team',
      'AGENT',
      { 'agent.name': 'team', 'input.value': 'Plan a day.', 'output.value': 'Louvre.' },
      { lasts: 99 },
    ),
    chatSpan('c1', { input: QUESTION, output: delegate }, { parent: 'team', at: 1 }),
    oi(
      'delegate',
      'TOOL',
      {
        'tool.name': 'delegate_task_to_member',
        'tool.parameters': { member_id: 'weather-agent', task: 'Weather in Paris?' },
        'output.value': 'Rain.',
      },
      { parent: 'team', at: 20, lasts: 40 },
    ),
    oi(
      'weather',
      'AGENT',
      {
        'agent.name': 'weather_agent',
        'input.value': 'Task: Weather in Paris?\nAnswer briefly.',
        'output.value': 'Rain.',
      },
      { parent: 'team', ...beside },
    ),
    chatSpan('c2', { input: QUESTION, output: 'Louvre.' }, { parent: 'team', at: 80 }),
  ];

  it('beside the tool that ran around it belongs to the call of that tool', () => {
    const run = onlyRun(spans({ at: 25, lasts: 30 }));
    expect(toolNames(run)).toEqual(['delegate_task_to_member']);
    expect(run.subRuns).toMatchObject([{ agent: 'weather_agent' }]);
  });

  it('outside of the time of that tool is a call of its own', () => {
    expect(toolNames(onlyRun(spans({ at: 65, lasts: 10 })))).toEqual([
      'delegate_task_to_member',
      'weather_agent',
    ]);
  });

  it('has the question of its call, without the prompt that the framework wrote around it', () => {
    expect(onlyRun(spans({ at: 25, lasts: 30 })).subRuns.map(questions)).toEqual([['Weather in Paris?']]);
  });
});

it('an agent whose input joins all messages has the last one as its question, and the rest as history', () => {
  const messages = [
    chatMessage('user', 'Hi, I am Ann.'),
    chatMessage('assistant', 'Hello Ann!'),
    chatMessage('user', 'Weather?'),
  ];
  const run = onlyRun([
    oi('agent', 'AGENT', { 'input.value': 'Hi, I am Ann.\nHello Ann!\nWeather?' }, { lasts: 99 }),
    chatSpan('c1', { input: messages, output: 'Rain.' }, { parent: 'agent', at: 1 }),
  ]);
  expect(questions(run)).toEqual(['Weather?']);
  expect(run.input.rememberedMessages.map(textOfMessage)).toEqual(['Hi, I am Ann.', 'Hello Ann!']);
});

it('model calls under other instructions are one run, when the later one continues after a call of the earlier', () => {
  const ask = (system: string, ...more: unknown[]): unknown[] => [
    chatMessage('system', system),
    QUESTION,
    ...more,
  ];
  const handoff = chatMessage('assistant', toolCall('1', 'handoff', { to_agent: 'weather' }));
  const run = onlyRun([
    buildSpan('workflow', { 'openinference.span.kind': 'CHAIN' }, { lasts: 99 }),
    chatSpan('c1', { input: ask('Triage.'), output: [handoff] }, { parent: 'workflow', at: 1 }),
    chatSpan(
      'c2',
      { input: ask('Weather.', handoff, chatMessage('tool', toolResponse('1', 'done'))), output: 'Rain.' },
      { parent: 'workflow', at: 30 },
    ),
  ]);
  expect(toolNames(run)).toEqual(['handoff']);
  expect(answerText(run)).toBe('Rain.');
});

it('AutoGen’s own spans do not contain the conversation', () => {
  const file = new URL('../../fixtures/spans/autogen-py-native.traces.jsonl', import.meta.url);
  expect(readFileSync(file, 'utf8')).not.toMatch(/Ann|weather in Paris/);
});
