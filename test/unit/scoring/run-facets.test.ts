import { expect, it } from 'vitest';
import type { SystemMessage } from '../../../src/domain/trace/messages.ts';
import { describeRun } from '../../../src/scoring/record/run-facets.ts';
import { agentSpan, message, newTraceId, readTestTrace } from '../../support/scoring/scoring-world.ts';

const SPAN = agentSpan(newTraceId(), 'a', { says: 'Yes.' });

type Described = Partial<Record<'promptVersion' | 'questionLength' | 'language', string>>;

function describe(
  { question = '', instructions = '' },
  attributes: Readonly<Record<string, string>> = {},
  named: readonly string[] = [],
): Described {
  const span = { ...SPAN, attributes: new Map([...SPAN.attributes, ...Object.entries(attributes)]) };
  const [run] = readTestTrace({ traceId: span.traceId, spans: [span], logs: [] }).runs;
  const asked = { ...message(question), role: 'user' as const };
  const systemMessages: SystemMessage[] =
    instructions === '' ? [] : [{ role: 'system', content: instructions }];
  if (run === undefined) {
    throw new Error('the test trace has no run');
  }
  const input = { ...run.input, inputMessages: question === '' ? [] : [asked], systemMessages };
  const flat = describeRun({ ...run, input }, [span], named);
  return Object.fromEntries(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1]]] : [])));
}

it.each([
  ['en', 'What is the weather in the capital of France?'],
  ['de', 'Wie ist das Wetter und was kann ich mit dem Ticket machen?'],
  ['fr', 'Quel est le prix de la chambre pour une nuit ?'],
  ['es', '¿Cuál es el precio de la habitación para una noche?'],
  ['pt', 'Qual é o preço do quarto para uma noite?'],
  ['it', 'Qual è il prezzo della camera per una notte?'],
  ['nl', 'Wat is de prijs van een kamer voor het weekend?'],
  ['ja', '東京の天気はどうですか'],
  ['zh', '今天北京的天气怎么样'],
  ['ko', '오늘 날씨가 어때요?'],
  ['ru', 'Какая сегодня погода?'],
  [undefined, 'OK 12345'],
])('the language of a question is %s: %s', (language, question) => {
  expect(describe({ question }).language).toBe(language);
});

it.each([
  [79, 'short'],
  [80, 'medium'],
  [400, 'long'],
  [2_000, 'very long'],
])('a question of %i characters is %s', (length, expected) => {
  expect(describe({ question: 'a'.repeat(length) }).questionLength).toBe(expected);
});

it('the version of a prompt is sent, or a hash of the instructions, which dates in them do not change', () => {
  expect(describe({}, { 'langfuse.observation.prompt.version': '7' }).promptVersion).toBe('7');
  const hashOf = (instructions: string) => describe({ instructions }).promptVersion;
  expect(hashOf('Today is 2026-01-02. Be brief.')).toBe(hashOf('Today is 2027-11-30. Be brief.'));
  expect(hashOf('Be brief.')).not.toBe(hashOf('Be kind.'));
});

it('a run has the stores that it searched, and the attributes that rules name', () => {
  const attributes = {
    'openinference.span.kind': 'RETRIEVER',
    'gen_ai.data_source.id': 'kb',
    'customer.tier': 'free',
  };
  expect(describe({}, attributes, ['customer.tier', 'absent'])).toEqual({
    retriever: 'kb',
    'customer.tier': 'free',
  });
});
