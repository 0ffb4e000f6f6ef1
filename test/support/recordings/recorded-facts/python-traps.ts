import { readTraces } from '../../../../src/conventions/index.ts';
import { recordedSpans } from '../recorded-spans.ts';
import { several, single, PARIS, RAINY, ANSWERED, type Fact, described } from './look.ts';

/** Exceptions from the general rules, by letter and number. */
export const pythonTraps: readonly Fact[] = [
  [
    'A1 the trace’s span is no agent',
    () => single('openinference-openai-agents-py-agent'),
    [{ agent: 'weather_agent', ...ANSWERED }],
  ],
  [
    'A2 what is named an agent may be a model call',
    () => several('google-adk-py-s1-oi'),
    [{ agent: 'travel_planner' }],
  ],
  ['A3 arguments and results are wrapped', () => single('traceloop-py-langchain'), [ANSWERED]],
  ['A4 ids of calls and results never match', () => single('openinference-openai-responses'), [ANSWERED]],
  ['A5 two events of one name', () => single('strands-py-latest'), [{ ...ANSWERED, remembered: 2 }]],
  [
    'A6 attributes and records say the same',
    () => single('agent-framework-py-agent'),
    [{ ...ANSWERED, remembered: 2 }],
  ],
  [
    'A7 a tool named on a model call’s span is what the model asked for',
    () => described('openlit'),
    [{ tools: ['get'], answer: 'Rain.', parts: 'tool-invocation step-start text' }],
  ],
  [
    'A8 equal kinds are nested',
    () => [...single('openinference-dspy-py-react'), ...single('openinference-llamaindex-py-agent')],
    [{ tools: ['get_weather', 'finish'], answer: RAINY }, ANSWERED],
  ],
  [
    'A9 partial messages on chains are no input',
    () => [...single('openinference-langchain-py-agent'), ...single('openinference-langchain-py-react')],
    [{ input: PARIS, remembered: 2 }, { input: PARIS }],
  ],
  [
    'A10 a crew’s inputs are not the question',
    () => single('openinference-crewai-py-agent'),
    [{ tools: ['get_weather'], answer: RAINY }],
  ],
  [
    'A11 an exception is no error where all went well',
    () => [
      readTraces(recordedSpans('spans', 'autogen-py-oi')).flatMap(({ runs }) =>
        runs.map((run) => run.status),
      ),
    ],
    [['ok']],
  ],
  ['A12 an error’s text is the tool’s', () => single('pydantic-ai-py-retry'), [{ tools: ['get_weather!'] }]],
];
