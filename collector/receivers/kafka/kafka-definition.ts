import { defineReceiver } from '../receiver-definition.ts';
import { kafkaOptions } from './kafka-options.ts';

/** The receiver of OTLP export requests from Kafka. */
export const kafkaReceiver = defineReceiver({
  name: 'kafka',
  key: 'receivers.kafka',
  options: kafkaOptions,
  isAlwaysOn: false,
  findFaults: ({ topics, logTopics, tls }) => [
    ...logTopics.flatMap((topic, index) =>
      topics.includes(topic)
        ? [
            {
              path: ['logTopics', index],
              message: `${topic} is in receivers.kafka.topics too; a topic holds either traces or logs`,
            },
          ]
        : [],
    ),
    ...((tls?.cert === undefined) === (tls?.key === undefined)
      ? []
      : [{ path: ['tls'], message: 'cert and key need each other; give both or remove both' }]),
  ],
  configure: async (kafka, log) => {
    const [{ configuredKafka }, { startKafkaReceiver }, { describeReader }] = await Promise.all([
      import('./configured-kafka.ts'),
      import('./kafka-receiver.ts'),
      import('./describe-reader.ts'),
    ]);
    const options = configuredKafka(kafka, log);
    return async (deps) =>
      describeReader(startKafkaReceiver(options, { ...deps, take: deps.takeUntilStored }));
  },
});
