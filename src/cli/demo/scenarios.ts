/**
 * One conversation with the weather agent of the demonstration: the question, the result of the tool, the answer of the
 * model.
 */
export interface Scenario {
  readonly name: 'truthful' | 'contradicting' | 'tool-fails' | 'no-tools';
  readonly question: string;
  /** City in the tool call of the model; undefined: the model calls no tool. */
  readonly city?: string;
  readonly tool?: { readonly result: Readonly<Record<string, unknown>> } | { readonly failure: string };
  /** Final answer of the model. */
  readonly answer: string;
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'truthful',
    question: 'What is the weather in Paris right now?',
    city: 'Paris',
    tool: { result: { city: 'Paris', temperatureC: 18, sky: 'rain', windKmh: 12 } },
    answer: 'It is 18 °C in Paris. The sky brings rain. The wind blows at 12 km/h.',
  },
  {
    name: 'contradicting',
    question: 'Do I need an umbrella in Lisbon?',
    city: 'Lisbon',
    tool: { result: { city: 'Lisbon', temperatureC: 21, sky: 'rain', windKmh: 30 } },
    answer: 'It is 21 °C in Lisbon. The sky is sunny, so no umbrella is needed.',
  },
  {
    name: 'tool-fails',
    question: 'How cold is it in Oslo?',
    city: 'Oslo',
    tool: { failure: 'weather service unavailable' },
    answer: 'The weather service is unavailable, so the temperature in Oslo is unknown.',
  },
  {
    name: 'no-tools',
    question: 'Hello! What can you do?',
    answer: 'Hello! I look up the current weather of any city. Which one would you like?',
  },
];
