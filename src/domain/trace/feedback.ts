import type { Feedback } from '../failure.ts';
import { type Attributes, OWN_SCOPE, type TraceData } from './span.ts';

/** Mark of feedback in the name of an attribute or an event. */
const MARK = 'feedback';

/** Event by which OpenTelemetry tells a score, and its attributes. */
const EVALUATION = {
  event: 'gen_ai.evaluation.result',
  name: 'gen_ai.evaluation.name',
  value: 'gen_ai.evaluation.score.value',
  comment: 'gen_ai.evaluation.explanation',
};

/** Lists the feedback of users below zero: in attributes of spans, span events and log records, as sampling finds it. */
export function listFeedback({ spans, logs }: Pick<TraceData, 'spans' | 'logs'>): Feedback[] {
  return [
    ...spans
      .filter(({ scopeName }) => scopeName !== OWN_SCOPE)
      .flatMap(({ spanId, attributes, events }) => [
        ...readFeedback('', attributes, spanId),
        ...events.flatMap((event) => readFeedback(event.name, event.attributes, spanId)),
      ]),
    ...logs
      .filter(({ scopeName }) => scopeName !== OWN_SCOPE)
      .flatMap(({ eventName, attributes, spanId }) => readFeedback(eventName, attributes, spanId)),
  ];
}

function readFeedback(name: string, attributes: Attributes, spanId: string): Feedback[] {
  const evaluated = attributes.get(EVALUATION.name) ?? '';
  const disliking = [...attributes].find(
    ([key, value]) =>
      (name.includes(MARK) ||
        key.includes(MARK) ||
        (key === EVALUATION.value &&
          (name === EVALUATION.event || name === '') &&
          evaluated.includes(MARK))) &&
      Number(value) < 0,
  );
  if (disliking === undefined) {
    return [];
  }
  const ownName = name === EVALUATION.event ? evaluated : name || disliking[0];
  return [{ text: findComment(attributes) ?? ownName, spanId }];
}

function findComment(attributes: Attributes): string | undefined {
  const [, behind] = [...attributes].find(([key]) => key.includes(MARK) && key.endsWith('comment')) ?? [];
  const found = [attributes.get('comment'), behind, attributes.get(EVALUATION.comment)];
  return found.find((text) => text !== undefined && text.trim() !== '');
}
