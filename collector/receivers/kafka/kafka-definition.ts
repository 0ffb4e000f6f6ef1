import { Kafka } from '../../../src/config/schema/receivers.ts';
import type { ReceiverDefinition } from '../receiver-definition.ts';

/** The receiver of OTLP export requests from Kafka. */
export const kafkaReceiver: ReceiverDefinition = {
  name: 'kafka',
  key: 'receivers.kafka',
  options: Kafka,
  configure: async ({ receivers: { kafka } }, log) => {
    if (kafka === undefined) {
      return undefined;
    }
    const [{ configuredKafka }, { startKafkaReceiver }, { describeReader }] = await Promise.all([
      import('./configured-kafka.ts'),
      import('./kafka-receiver.ts'),
      import('./describe-reader.ts'),
    ]);
    const options = configuredKafka(kafka, log);
    return async (deps) =>
      describeReader(startKafkaReceiver(options, { ...deps, take: deps.takeUntilStored }));
  },
};
