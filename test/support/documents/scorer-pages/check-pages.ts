import { COSTS, NEVER, pageOf } from './scorer-page.ts';
import type { ScorerPage } from './scorer-page.ts';

type CheckFacts = Omit<ScorerPage, 'kind' | 'seven' | 'cost' | 'factory' | 'title' | 'input'> & {
  readonly name: string;
  readonly input?: string;
  readonly seven?: string;
};

const TARGET = { target: 'the text' };
const CASE = { ignoreCase: 'whether upper and lower case are equal (true)' };
const TOOLS = 'tool calls of the output';

/** Checks: scorers in code with the result yes or no. */
export const CHECK_PAGES: readonly ScorerPage[] = [
  check({
    name: 'includes',
    measures: 'whether the answer contains a text',
    when: 'facts and phrases that must not be missing',
    formula: '1 when it does, else 0',
    given: TARGET,
    options: CASE,
    args: "'18 degrees'",
    because: 'the answer contains it',
  }),
  check({
    name: 'excludes',
    measures: 'whether the answer does not contain a text',
    when: 'words that must not be said',
    formula: '1 when it is, else 0',
    given: TARGET,
    options: CASE,
    args: "'as an AI'",
    because: 'the answer does not contain it',
  }),
  check({
    name: 'equals',
    measures: 'whether the answer is a given text, white space included',
    when: 'answers that are one word or one number',
    formula: '1 when it is, else 0',
    given: TARGET,
    options: CASE,
    args: "'It is 18 degrees.'",
    because: 'the answer says more',
  }),
  check({
    name: 'matches',
    measures: 'whether a pattern matches the answer',
    when: 'formats: dates, numbers, links',
    formula:
      '1 when it matches a part of the answer (with `exact`: the whole answer), else 0. The flags `g` and `y` have no effect',
    given: {
      pattern:
        'a regular expression. There is no time limit: an expression that backtracks without end, like `(a+)+$`, blocks the process',
    },
    options: { exact: 'whether the whole answer must match (false)' },
    args: String.raw`/\d+ degrees/`,
    because: 'a number of degrees is there',
  }),
  check({
    name: 'similarity',
    measures: 'how much the answer looks like a text',
    when: 'answers whose wording is known',
    formula: 'Dice coefficient of letter pairs; with `threshold`: 1 when it is reached, else 0',
    given: TARGET,
    options: { ...CASE, threshold: 'lowest similarity, 0 to 1 (without it, the similarity is the score)' },
    seven: 'most of the wording is shared',
    args: "'It is 18 degrees in Paris.'",
    because: 'the answer says this and a little more',
  }),
  check({
    name: 'calledTool',
    measures: 'whether a tool was called',
    when: 'answers that must not come from memory',
    input: TOOLS,
    formula: '1 when it was called at least `times` times, else 0',
    given: { toolName: 'the tool' },
    options: { times: 'lowest number of calls (1)' },
    args: "'weather', { times: 2 }",
    because: 'it was called once only',
  }),
  check({
    name: 'didNotCall',
    measures: 'whether a tool was not called',
    when: 'tools with consequences',
    input: TOOLS,
    formula: '1 when it was not called, else 0',
    given: { toolName: 'the tool' },
    options: {},
    args: "'delete-account'",
    because: 'it was not called',
  }),
  check({
    name: 'toolOrder',
    measures: 'whether tools were called in a given order, with other calls allowed between them',
    when: 'agents that must look up before they act',
    input: TOOLS,
    formula: '1 when the order is a subsequence of the calls, else 0',
    given: { expectedOrder: 'the tools, in order' },
    options: {},
    args: "['weather', 'umbrella']",
    because: 'the second tool was not called',
  }),
  check({
    name: 'maxToolCalls',
    measures: 'whether the run made at most a given number of tool calls',
    when: 'budgets',
    input: TOOLS,
    formula: '1 when there were at most `max` calls, else 0',
    given: { max: 'highest number of calls' },
    options: {},
    args: '3',
    because: 'there was one call',
  }),
  check({
    name: 'usedNoTools',
    measures: 'whether the run used no tools',
    when: 'questions that need none',
    input: TOOLS,
    formula: '1 when no tool was called, else 0',
    options: {},
    args: '',
    because: 'a tool was called',
  }),
  pageOf('no-tool-errors', {
    title: 'checks.noToolErrors',
    kind: 'check',
    when: 'every agent with tools',
    input: TOOLS,
    formula: '1 when every call has a result and none failed, else 0',
    seven: NEVER,
    cost: COSTS.none,
    factory: 'checks.noToolErrors',
    args: '',
    because: 'the only call has a result',
  }),
];

function check({ name, ...facts }: CheckFacts): ScorerPage {
  return {
    input: 'texts of the assistant messages',
    seven: NEVER,
    ...facts,
    title: `checks.${name}`,
    kind: 'check',
    cost: COSTS.none,
    factory: `checks.${name}`,
  };
}
