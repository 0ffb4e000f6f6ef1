import { describe, expect, it } from 'vitest';
import { emitterRows } from '../../support/recordings/recorded-facts/emitter-rows.ts';
import { jvmEmitters } from '../../support/recordings/recorded-facts/jvm-emitters.ts';
import type { Fact } from '../../support/recordings/recorded-facts/look.ts';
import { pythonSections } from '../../support/recordings/recorded-facts/python-sections.ts';
import { pythonTraps } from '../../support/recordings/recorded-facts/python-traps.ts';
import { severalAgents } from '../../support/recordings/recorded-facts/several-agents.ts';

const groups = {
  'several agents': severalAgents,
  'Python emitters, against the rules': pythonTraps,
  'Python emitters, by section': pythonSections,
  'Python emitters, by family': emitterRows,
  'emitters in Java, Kotlin and Go': jvmEmitters,
};

describe.each(Object.entries(groups))('facts of %s', (_, rows) => {
  it.each(rows)('%s', (_fact, runs, expected) => {
    expect(runs()).toMatchObject(expected);
  });
});

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

/** Numbered and named facts of the recordings' description; each needs a test with its name. */
const NAMED: readonly (readonly [group: string, rows: readonly Fact[], names: readonly string[]])[] = [
  ['several agents', severalAgents, upTo(30).map(String)],
  ['traps', pythonTraps, upTo(12).map((number) => `A${number}`)],
  [
    'Java, Kotlin and Go',
    jvmEmitters,
    upTo(16)
      .filter((number) => number !== 12)
      .map((number) => `JVM ${number}`),
  ],
  [
    'sections',
    pythonSections,
    '0.2 0.3 1.2 1.3 1.4 1.5 1.6 1.8 2.1 2.2 2.3 2.4 3.2 3.4 6 7.1 7.3 7.5 8.1 8.2 8.4 8.5 8.10 8.14 8.16'
      .split(' ')
      .map((number) => `§${number}`),
  ],
  [
    'families',
    emitterRows,
    `pydantic-ai 2.68, pydantic-ai 1.26, otel openai-v2 and genai-openai, OI langchain, OI llama-index, OI crewai,
    ADK 2.13, ADK 1.20, strands, OI openai-agents, logfire openai-agents, OI smolagents,
    traceloop, langfuse, agent-framework, semantic-kernel, haystack 2, haystack 3 (OI),
    mlflow, litellm, autogen, dspy, agno, openlit`
      .split(',')
      .map((name) => name.trim()),
  ],
];

it.each(NAMED)('every number and name of the facts of %s has a test', (_group, rows, names) => {
  const tested = rows.map(([fact]) => fact);
  expect(names.filter((name) => !tested.some((fact) => `${fact} `.startsWith(`${name} `)))).toEqual([]);
});
