import { defineReceiver } from '../receiver.ts';
import { z } from 'zod';
import { duration, endpoint, pemFile, secret } from '../../../src/config/schema/fields.ts';

/** Field for TLS to a Kafka broker. */
const brokerTls = z
  .strictObject({
    ca: pemFile(
      'PEM file with the certificate authorities to trust. Absent: the authorities of Node.js.',
      './ca.pem',
    ).optional(),
    cert: pemFile(
      'PEM file with the client certificate, for a broker that requires one.',
      './client.pem',
    ).optional(),
    key: pemFile('PEM file with the private key of the client certificate.', './client.key').optional(),
    serverName: z
      .string()
      .min(1)
      .describe("Name in the broker's certificate when it differs from the host name.")
      .meta({ examples: ['kafka.internal'] })
      .optional(),
  })
  .describe('TLS to the broker. {} is enough for a certificate of a known authority.');

/** Field for the login at a Kafka broker. */
const brokerSasl = z
  .strictObject({
    mechanism: z
      .enum(['plain', 'scram-sha-256', 'scram-sha-512'])
      .default('plain')
      .describe('SASL mechanism.'),
    username: z
      .string()
      .min(1)
      .describe('User name.')
      .meta({ examples: ['spanscore'] }),
    password: secret('Password.').min(1, { error: 'must not be empty' }),
  })
  .describe('Login with SASL.');

const kafkaOptions = z
  .strictObject({
    brokers: z
      .array(endpoint('Address of a broker.').meta({ examples: ['127.0.0.1:9092'] }))
      .min(1, { error: 'needs at least one broker' })
      .describe('Brokers for the first connection. They name the other brokers.'),
    topics: z
      .array(z.string().min(1))
      .min(1, { error: 'needs at least one topic' })
      .describe('Topics with OTLP export requests of traces.'),
    logTopics: z
      .array(z.string().min(1))
      .default([])
      .describe('Topics with OTLP export requests of logs (GenAI events).'),
    groupId: z.string().min(1).default('spanscore').describe('Consumer group.'),
    sessionTimeout: duration(
      'Time after which other members of the group take over the partitions of a killed process. Brokers allow 6s to 30m.',
      { min: '3s' },
    ).default('30s'),
    encoding: z
      .enum(['otlp_proto', 'otlp_json'])
      .default('otlp_proto')
      .describe('Encoding of a record, as in the Kafka exporter of the Collector.'),
    tenant: z
      .string()
      .default('')
      .describe("Tenant of all records of these topics. '': the tenant without a name.")
      .meta({ examples: ['a'] }),
    tenantFromRecords: z
      .boolean()
      .default(false)
      .describe(
        'true: the tenant of a record is the one in its header spanscore.tenant. Use it only when every sender to the topics may name any tenant.',
      ),
    tls: brokerTls.optional(),
    sasl: brokerSasl.optional(),
  })
  .describe('Receiver of OTLP export requests from Kafka.');

export type KafkaSection = z.infer<typeof kafkaOptions>;

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
      import('./kafkajs-client.ts'),
      import('./kafka-receiver.ts'),
      import('./kafka-receiver.ts'),
    ]);
    const options = configuredKafka(kafka, log);
    return async (deps) =>
      describeReader(startKafkaReceiver(options, { ...deps, take: deps.takeUntilStored }));
  },
});
