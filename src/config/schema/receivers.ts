import { z } from 'zod';
import { duration, endpoint, pemFile, secret, serverTls, wholeNumber } from './fields.ts';

const otlp = z
  .strictObject({
    http: z
      .strictObject({
        endpoint: endpoint('Address that receives OTLP over HTTP.').default('127.0.0.1:4318'),
        tls: serverTls(
          'TLS of this address. Without it, everybody on the network between can read the spans.',
        ),
      })
      .describe('OTLP over HTTP: protobuf and JSON, traces and logs.')
      .prefault({}),
    grpc: z
      .strictObject({
        endpoint: endpoint('Address that receives OTLP over gRPC.').default('127.0.0.1:4317'),
        tls: serverTls(
          'TLS of this address. Without it, everybody on the network between can read the spans.',
        ),
      })
      .describe('OTLP over gRPC: traces and logs.')
      .prefault({}),
  })
  .describe('OpenTelemetry Protocol.');

const tls = z
  .strictObject({
    ca: pemFile('PEM file with the authorities to trust. Absent: those of Node.', './ca.pem').optional(),
    cert: pemFile(
      'PEM file with our own certificate, where the broker asks for one.',
      './client.pem',
    ).optional(),
    key: pemFile('PEM file with the private key of our certificate.', './client.key').optional(),
    serverName: z
      .string()
      .min(1)
      .describe("Name in the broker's certificate, where it is not the host name.")
      .meta({ examples: ['kafka.internal'] })
      .optional(),
  })
  .describe('Speak TLS; {} for a broker whose certificate a known authority signed.');

const sasl = z
  .strictObject({
    mechanism: z
      .enum(['plain', 'scram-sha-256', 'scram-sha-512'])
      .default('plain')
      .describe('Mechanism that proves the password.'),
    username: z
      .string()
      .min(1)
      .describe('User.')
      .meta({ examples: ['spanscore'] }),
    password: secret('Password.').min(1, { error: 'must not be empty' }),
  })
  .describe('Log in.');

const kafka = z
  .strictObject({
    brokers: z
      .array(endpoint('Address of a broker.').meta({ examples: ['127.0.0.1:9092'] }))
      .min(1, { error: 'needs at least one broker' })
      .describe('Brokers to start from; the others are found through them.'),
    topics: z
      .array(z.string().min(1))
      .min(1, { error: 'needs at least one topic' })
      .describe('Topics that hold OTLP export requests of traces.'),
    logTopics: z
      .array(z.string().min(1))
      .default([])
      .describe('Topics that hold OTLP export requests of logs (GenAI events).'),
    groupId: z.string().min(1).default('spanscore').describe('Consumer group.'),
    sessionTimeout: duration(
      'Time after which the partitions of a killed process go to the rest of the group. Brokers allow 6s to 30m.',
      { minMs: 3_000, minText: '3s' },
    ).default('30s'),
    encoding: z
      .enum(['otlp_proto', 'otlp_json'])
      .default('otlp_proto')
      .describe('Encoding of a record, as in the Kafka exporter of the Collector.'),
    tenant: z
      .string()
      .default('')
      .describe("Tenant of everything that is read. '': the tenant without a name.")
      .meta({ examples: ['a'] }),
    tenantFromRecords: z
      .boolean()
      .default(false)
      .describe(
        'true: a record belongs to the tenant that a forwarding spanscore wrote on it. Only where nobody else can write to the topics.',
      ),
    tls: tls.optional(),
    sasl: sasl.optional(),
  })
  .describe('Read OTLP export requests from Kafka.');

/** Schema of span receivers. */
export const Receivers = z.strictObject({
  otlp: otlp.prefault({}),
  kafka: kafka.optional(),
});

/** A process that hands on instead of storing. */
export const Forward = z
  .strictObject({
    kafka: z
      .strictObject({
        brokers: z
          .array(endpoint('Address of a broker.').meta({ examples: ['127.0.0.1:9092'] }))
          .min(1, { error: 'needs at least one broker' })
          .describe('Brokers to start from; the others are found through them.'),
        topic: z.string().min(1).default('otlp_spans').describe('Topic for traces. It must exist.'),
        logTopic: z.string().min(1).default('otlp_logs').describe('Topic for logs. It must exist.'),
        maxRecordBytes: wholeNumber(
          'Largest record, below max.message.bytes of the topics. A larger span is refused.',
          { unit: 'bytes', min: 16_384, max: 64 * 1024 * 1024 },
        ).default(1_000_000),
        tls: tls.optional(),
        sasl: sasl.optional(),
      })
      .describe(
        'Kafka. Requests are split by trace, keyed by the trace id, and acknowledged when all replicas in sync have them.',
      ),
  })
  .describe(
    'Pass on everything that the OTLP receivers take in, instead of storing it. Such a process has no store.',
  );

const token = z
  .strictObject({
    name: z
      .string()
      .min(1, { error: 'must not be empty' })
      .describe('Owner of the token, for logs.')
      .meta({ examples: ['team-a'] }),
    token: secret('The token itself, at least 16 characters.').min(16, {
      error: 'must have at least 16 characters',
    }),
    tenant: z
      .string()
      .default('')
      .describe("Tenant of everything that is sent with the token. '': the tenant without a name.")
      .meta({ examples: ['a'] }),
    scopes: z
      .array(z.enum(['ingest', 'read', 'admin']))
      .min(1, { error: 'needs at least one scope' })
      .default(['ingest'])
      .describe(
        'Rights of the token: ingest sends spans, read asks the API, admin changes things over the API.',
      ),
  })
  .describe('A bearer token.');

/** Schema of access tokens. */
export const Auth = z.strictObject({
  tokens: z
    .array(token)
    .default([])
    .describe('Bearer tokens. Without any, everybody who reaches a port may use it.'),
});

/** Schema of readiness: when a trace is complete enough to be scored. */
export const Readiness = z.strictObject({
  decisionWait: duration(
    'Time without new spans after which a trace is scored, once its root span has ended.',
  ).default('5s'),
  maxWait: duration('Age at which a trace is scored even if spans are missing.', {
    minMs: 1000,
    minText: '1s',
  }).default('15m'),
});
