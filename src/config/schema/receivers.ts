import { z } from 'zod';
import { duration, endpoint, secret, serverTls } from './fields.ts';

const otlp = z
  .strictObject({
    http: z
      .strictObject({
        endpoint: endpoint('Where OTLP over HTTP is received.').default('127.0.0.1:4318'),
        tls: serverTls('Speak TLS; without it whoever is on the way can read what is sent.'),
      })
      .describe('OTLP over HTTP: protobuf and JSON, traces and logs.')
      .prefault({}),
    grpc: z
      .strictObject({
        endpoint: endpoint('Where OTLP over gRPC is received.').default('127.0.0.1:4317'),
        tls: serverTls('Speak TLS; without it whoever is on the way can read what is sent.'),
      })
      .describe('OTLP over gRPC: traces and logs.')
      .prefault({}),
  })
  .describe('OpenTelemetry Protocol.');

const file = (description: string) => z.string().min(1).describe(description).optional();

const tls = z
  .strictObject({
    ca: file('File with the certificates of the authorities to trust, PEM. Absent: those of Node.'),
    cert: file('File with our own certificate, PEM, where the broker asks for one.'),
    key: file('File with the key of our certificate, PEM.'),
    serverName: z.string().min(1).describe("The name in the broker's certificate, if another.").optional(),
  })
  .describe('Speak TLS; {} for a broker whose certificate a known authority signed.');

const sasl = z
  .strictObject({
    mechanism: z
      .enum(['plain', 'scram-sha-256', 'scram-sha-512'])
      .default('plain')
      .describe('How the password is proved.'),
    username: z.string().min(1).describe('User.'),
    password: secret('Password.').min(1, { error: 'must not be empty' }),
  })
  .describe('Log in.');

const kafka = z
  .strictObject({
    brokers: z
      .array(endpoint('A broker.'))
      .min(1, { error: 'needs at least one broker' })
      .describe('Brokers to start from.'),
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
      'A process that was killed keeps its partitions so long; then others of the group read them. Brokers allow 6s to 30m.',
      { minMs: 3_000, minText: '3s' },
    ).default('30s'),
    encoding: z.enum(['otlp_proto', 'otlp_json']).default('otlp_proto').describe('Encoding of a record.'),
    tenant: z.string().default('').describe('Tenant of everything read.'),
    tenantFromRecords: z
      .boolean()
      .default(false)
      .describe(
        'Believe the tenant that a forwarder writes on its records. Only where nobody else can write to the topics.',
      ),
    tls: tls.optional(),
    sasl: sasl.optional(),
  })
  .describe('Read OTLP export requests from Kafka.');

/** How spans come in. */
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
          .array(endpoint('A broker.'))
          .min(1, { error: 'needs at least one broker' })
          .describe('Brokers to start from.'),
        topic: z.string().min(1).default('otlp_spans').describe('Topic for traces; it must be there.'),
        logTopic: z.string().min(1).default('otlp_logs').describe('Topic for logs; it must be there.'),
        maxRecordBytes: z
          .int()
          .min(16_384, { error: 'must be at least 16384' })
          .max(64 * 1024 * 1024, { error: 'must be at most 67108864' })
          .default(1_000_000)
          .describe('Largest record; below max.message.bytes of the topics. A larger span is refused.'),
        tls: tls.optional(),
        sasl: sasl.optional(),
      })
      .describe(
        'To Kafka: split by trace, keyed by the trace id, acknowledged once all replicas in sync have it.',
      ),
  })
  .describe('Hand on what the OTLP receivers take in, instead of storing it. Such a process has no store.');

const token = z
  .strictObject({
    name: z.string().min(1, { error: 'must not be empty' }).describe('Whose token it is, for logs.'),
    token: secret('The token itself: at least 16 characters.').min(16, {
      error: 'must have at least 16 characters',
    }),
    tenant: z.string().default('').describe('Tenant of everything sent with it.'),
    scopes: z
      .array(z.enum(['ingest', 'read', 'admin']))
      .min(1, { error: 'needs at least one scope' })
      .default(['ingest'])
      .describe('What it may do.'),
  })
  .describe('A bearer token.');

/** Who may send and read. */
export const Auth = z.strictObject({
  tokens: z
    .array(token)
    .default([])
    .describe('Bearer tokens. None: everybody who reaches a port may use it.'),
});

/** When a trace is complete enough to be scored. */
export const Readiness = z.strictObject({
  decisionWait: duration('Quiet time after which a trace whose root has ended is scored.').default('5s'),
  maxWait: duration('Age at which a trace is scored whatever is missing.', {
    minMs: 1000,
    minText: '1s',
  }).default('15m'),
  session: z
    .strictObject({
      idle: duration('Quiet time that ends a session.').default('30m'),
      maxAge: duration('Age that ends a session.').default('24h'),
    })
    .describe('When a session is complete.')
    .prefault({}),
});
