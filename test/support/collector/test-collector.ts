import { type Collector, type CollectorOptions, startCollector } from '../../../collector/collector.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { recordingLetters, type RecordingLetters } from '../fakes/recording-letters.ts';
import { recordingSink, type RecordingSink } from '../fakes/recording-sink.ts';

/** A collector on a free port over a sink in memory. Short batches, so that tests do not wait. */
export async function testCollector(
  options: Partial<CollectorOptions> = {},
): Promise<{ collector: Collector; sink: RecordingSink; letters: RecordingLetters }> {
  const sink = recordingSink();
  const letters = recordingLetters();
  const collector = await startCollector({
    sink,
    deadLetters: letters,
    http: { host: '127.0.0.1', port: 0 },
    log: silentLog,
    ...options,
    limits: { batchAgeMs: 5, ...options.limits },
  });
  return { collector, sink, letters };
}
