import { SeverityNumber } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { LoggerProvider, type LogRecordProcessor, type ReadableLogRecord } from '@opentelemetry/sdk-logs';
import type { Score } from '../../domain/score.ts';
import { OWN_SCOPE } from '../../domain/trace/span.ts';
import { EVALUATION_EVENT, evaluationAttributes } from './evaluation-event.ts';
import { scoredContext } from './evaluation-spans.ts';

/** Turns scores into log records through the OpenTelemetry SDK. */
export interface EvaluationLogs {
  /** Returns one log record for each score, with the context of the scored span. */
  of(scores: readonly Score[]): ReadableLogRecord[];
}

export function createEvaluationLogs(version: string): EvaluationLogs {
  const emitted: ReadableLogRecord[] = [];
  const collect: LogRecordProcessor = {
    onEmit: (record) => void emitted.push(record),
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  const provider = new LoggerProvider({
    resource: resourceFromAttributes({ 'service.name': 'spanscore', 'service.version': version }),
    processors: [collect],
  });
  const logger = provider.getLogger(OWN_SCOPE, version);

  return {
    of(scores) {
      for (const score of scores) {
        logger.emit({
          eventName: EVALUATION_EVENT,
          timestamp: score.scoredAt,
          observedTimestamp: score.scoredAt,
          severityNumber: SeverityNumber.INFO,
          severityText: 'INFO',
          // The attribute is for receivers that do not know the event name field yet.
          attributes: { ...evaluationAttributes(score), 'event.name': EVALUATION_EVENT },
          context: scoredContext(score),
        });
      }
      return emitted.splice(0);
    },
  };
}
