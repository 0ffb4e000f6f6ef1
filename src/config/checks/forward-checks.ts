import type { ConfigIssue } from '../faults/config-issue.ts';
import type { Config } from '../schema.ts';
import { listConfiguredOnly, type ReceiverSection } from '../schema/components.ts';

/** Reports keys that a process with `forward` would ignore. */
export function forwardIssues(config: Config, receivers: readonly ReceiverSection[]): ConfigIssue[] {
  const { forward, store, ingest } = config;
  if (forward === undefined) {
    return [];
  }
  const { tls, topic, logTopic } = forward.kafka;
  const issues: [boolean, ConfigIssue][] = [
    ...listConfiguredOnly(config, receivers).map(({ path }): [boolean, ConfigIssue] => [
      true,
      {
        path,
        message: 'needs a process with a store, and a process with forward has none; remove one of the two',
      },
    ]),
    [
      store.spans !== undefined,
      { path: ['store', 'spans'], message: 'a process with forward reads no tables; remove one of the two' },
    ],
    [
      ingest.keep !== 'all',
      {
        path: ['ingest', 'keep'],
        message: 'a process with forward passes on everything; set it in the process that reads the topics',
      },
    ],
    [
      topic === logTopic,
      {
        path: ['forward', 'kafka', 'logTopic'],
        message: `${topic} is also the topic of traces; give logs a different topic`,
      },
    ],
    [
      (tls?.cert === undefined) !== (tls?.key === undefined),
      {
        path: ['forward', 'kafka', 'tls'],
        message: 'cert and key need each other; give both or remove both',
      },
    ],
  ];
  return issues.flatMap(([isWrong, issue]) => (isWrong ? [issue] : []));
}
