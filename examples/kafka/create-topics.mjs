// Creates the two topics of the Collector's to-kafka.yaml and of scorer.yaml:
//   node create-topics.mjs
// KAFKA_BROKER names a broker (127.0.0.1:9092). REPLICAS says how many brokers hold each record (3, or 1 for a single broker).
import { Kafka, logLevel } from 'kafkajs';

const { KAFKA_BROKER = '127.0.0.1:9092', REPLICAS = '3' } = process.env;
const replicas = Number(REPLICAS);
const DAY_MS = 24 * 60 * 60 * 1000;

const settings = {
  // How long records wait for a scorer.
  'retention.ms': 3 * DAY_MS,
  // Must be larger than max_message_bytes in to-kafka.yaml.
  'max.message.bytes': 9_437_184,
  // The Collector's exporter waits until this many brokers have a span.
  'min.insync.replicas': Math.max(1, replicas - 1),
  'cleanup.policy': 'delete',
};
const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value: String(value) }));
// At most this many scorers share the work. The records of a trace stay on one partition.
const numPartitions = 6;

const admin = new Kafka({ brokers: [KAFKA_BROKER], logLevel: logLevel.NOTHING }).admin();
await admin.connect();
try {
  for (const topic of ['otlp_spans', 'otlp_logs']) {
    const wanted = { topic, numPartitions, replicationFactor: replicas, configEntries };
    const isNew = await admin.createTopics({ topics: [wanted], waitForLeaders: false }).catch((error) => {
      const [{ message } = error] = error.errors ?? [];
      throw new Error(`${KAFKA_BROKER} does not create ${topic} with ${replicas} replicas: ${message}`);
    });
    console.log(`${topic}: ${isNew ? 'created' : 'exists, left as it is'}`);
  }
} finally {
  await admin.disconnect();
}
