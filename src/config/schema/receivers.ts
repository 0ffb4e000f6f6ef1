import { z } from 'zod';
import { duration, endpoint, pemFile, secret, serverTls, wholeNumber } from './fields.ts';

/** Schema of the OTLP/HTTP receiver. */
export const OtlpHttp = z
  .strictObject({
    endpoint: endpoint('Address that receives OTLP over HTTP.').default('127.0.0.1:4318'),
    tls: serverTls('TLS of this address. Without it, spans are readable on the network.'),
  })
  .describe('OTLP over HTTP: protobuf and JSON, traces and logs.');

/** Schema of the OTLP/gRPC receiver. */
export const OtlpGrpc = z
  .strictObject({
    endpoint: endpoint('Address that receives OTLP over gRPC.').default('127.0.0.1:4317'),
    tls: serverTls('TLS of this address. Without it, spans are readable on the network.'),
  })
  .describe('OTLP over gRPC: traces and logs.');

const tls = z
  .strictObject({
    ca: pemFile(
      'PEM file with the certificate authorities to trust. Absent: those of Node.js.',
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

const sasl = z
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

/** Schema of the Kafka receiver. */
export const Kafka = z
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
      { minMs: 3_000, minText: '3s' },
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
        'true: the tenant of a record is the one that a forwarding spanscore wrote into it. Use it only when nobody else can write to the topics.',
      ),
    tls: tls.optional(),
    sasl: sasl.optional(),
  })
  .describe('Receiver of OTLP export requests from Kafka.');

/** Schema of span receivers: one line each, at the key of its definition. */
export const Receivers = z.strictObject({
  otlp: z
    .strictObject({
      http: OtlpHttp.prefault({}),
      grpc: OtlpGrpc.prefault({}),
    })
    .describe('OpenTelemetry Protocol.')
    .prefault({}),
  kafka: Kafka.optional(),
});

/** Schema of a process that passes requests on instead of storing them. */
export const Forward = z
  .strictObject({
    kafka: z
      .strictObject({
        brokers: z
          .array(endpoint('Address of a broker.').meta({ examples: ['127.0.0.1:9092'] }))
          .min(1, { error: 'needs at least one broker' })
          .describe('Brokers for the first connection. They name the other brokers.'),
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
        'Kafka. A request is split into one record for each trace, with the trace id as key. It is acknowledged when all in-sync replicas have the records.',
      ),
  })
  .describe(
    'Pass all requests of the OTLP receivers on instead of storing them. A process with forward has no store.',
  );

const token = z
  .strictObject({
    name: z
      .string()
      .min(1, { error: 'must not be empty' })
      .describe('Name of the owner of the token, for logs.')
      .meta({ examples: ['team-a'] }),
    token: secret('The token itself, at least 16 characters.').min(16, {
      error: 'must have at least 16 characters',
    }),
    tenant: z
      .string()
      .default('')
      .describe("Tenant of all spans sent with the token. '': the tenant without a name.")
      .meta({ examples: ['a'] }),
    scopes: z
      .array(z.enum(['ingest', 'read', 'admin']))
      .min(1, { error: 'needs at least one scope' })
      .default(['ingest'])
      .describe(
        'Rights of the token. ingest: send spans. read: read from the API. admin: read and change through the API.',
      ),
  })
  .describe('A bearer token.');

/** Schema of access tokens. */
export const Auth = z.strictObject({
  tokens: z
    .array(token)
    .default([])
    .describe('Bearer tokens. With an empty list, everyone who can reach a port may use it.'),
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
