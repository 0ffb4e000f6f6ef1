import type { ConfigIssue } from '../faults/config-issue.ts';
import type { Config } from '../schema.ts';

/** Issues of keys that a process with `forward` would ignore. */
export function forwardIssues({ forward, receivers, store, ingest }: Config): ConfigIssue[] {
  if (forward === undefined) {
    return [];
  }
  const { tls, topic, logTopic } = forward.kafka;
  const issues: [boolean, ConfigIssue][] = [
    [
      receivers.kafka !== undefined,
      {
        path: ['receivers', 'kafka'],
        message: 'is of a process that stores, and forward of one that does not; remove one of the two',
      },
    ],
    [
      store.spans !== undefined,
      { path: ['store', 'spans'], message: 'a process with forward reads no tables; remove one of the two' },
    ],
    [
      ingest.keep !== 'all',
      {
        path: ['ingest', 'keep'],
        message: 'a process with forward hands on everything; set it where the topics are read',
      },
    ],
    [
      topic === logTopic,
      {
        path: ['forward', 'kafka', 'logTopic'],
        message: `${topic} is the topic of traces; give logs another`,
      },
    ],
    [
      (tls?.cert === undefined) !== (tls?.key === undefined),
      { path: ['forward', 'kafka', 'tls'], message: 'cert and key are given together or not at all' },
    ],
  ];
  return issues.flatMap(([isWrong, issue]) => (isWrong ? [issue] : []));
}
