import { z } from 'zod';
import { duration, httpUrl, secret, words } from './fields.ts';

const server = (example: string) =>
  httpUrl(`Address of the server: \`${example}\`.`, 'write the keys into their own options').meta({
    examples: [example],
  });

const kinds = {
  phoenix: z
    .strictObject({
      endpoint: server('http://127.0.0.1:6006'),
      apiKey: secret('API key of Phoenix, where it has users.').optional(),
      project: z.string().min(1).default('default').describe('Project of the traces.'),
    })
    .describe('Spans of a project in Phoenix.'),
  langfuse: z
    .strictObject({
      endpoint: server('https://cloud.langfuse.com'),
      publicKey: secret('Public key of the project.'),
      secretKey: secret('Secret key of the project.'),
    })
    .describe('Observations of a project in Langfuse.'),
  mlflow: z
    .strictObject({
      endpoint: server('http://127.0.0.1:5000'),
      token: secret('Bearer token of the tracking server.').optional(),
      experimentIds: z
        .array(z.string().min(1))
        .min(1, { error: 'name an experiment' })
        .describe('Experiments of the traces.')
        .meta({ examples: [['0']] }),
    })
    .describe('Traces of experiments in MLflow.'),
  files: words(
    "Files with an OTLP export request in JSON in each line, plain or as `.gz`, or `.parquet` of the tables of the Collector's ClickHouse exporter. A pattern like `dir/**/*.jsonl.gz` or `s3://bucket/prefix/**.parquet`.",
    'archive/*.jsonl.gz',
  ),
};

const s3 = z
  .strictObject({
    endpoint: server('https://s3.example.com').optional(),
    accessKeyId: secret('Id of the key.').optional(),
    secretAccessKey: secret('Secret of the key.').optional(),
    sessionToken: secret('Token of a key for a time.').optional(),
  })
  .refine(
    ({ accessKeyId, secretAccessKey }) => (accessKeyId === undefined) === (secretAccessKey === undefined),
    {
      error: 'needs both of accessKeyId and secretAccessKey, or none',
    },
  )
  .describe(
    'Server and key of files in S3. Default: AWS, with the key that the engine finds on its machine.',
  );

const KINDS = Object.keys(kinds) as (keyof typeof kinds)[];

/** Kinds of sources that have annotations of people. */
export const LABEL_KINDS = ['phoenix', 'langfuse', 'mlflow'] as const satisfies (keyof typeof kinds)[];

const source = z
  .strictObject({
    phoenix: kinds.phoenix.optional(),
    langfuse: kinds.langfuse.optional(),
    mlflow: kinds.mlflow.optional(),
    files: kinds.files.optional(),
    s3: s3.optional(),
    since: duration('Age of the oldest spans that are read when the source is new.').default('24h'),
    every: duration('Time between two looks for new spans.', { min: '1s' }).default('10s'),
    tenant: z
      .string()
      .default('')
      .describe("Tenant of the spans. '': the tenant without a name.")
      .meta({ examples: ['a'] }),
  })
  .refine((each) => KINDS.filter((kind) => each[kind] !== undefined).length === 1, {
    error: `needs exactly one of ${KINDS.join(', ')}`,
  })
  .refine(({ files = '', s3: bucket }) => bucket === undefined || files.startsWith('s3://'), {
    error: 's3 needs files that begin with s3://',
    path: ['s3'],
  });

/** Schema of the sources of spans, by their names. */
export const Sources = z.record(z.string().regex(/^[\w.-]{1,100}$/u), source);

export type SourceConfig = z.infer<typeof source>;
export type KindOptions<Kind extends keyof typeof kinds> = z.infer<(typeof kinds)[Kind]>;

/** Schema of the labels that come from other tools. */
export const Labels = z.strictObject({
  from: z
    .array(z.string().min(1))
    .default([])
    .describe(
      'Names of sources or exporters whose human annotations become labels: Phoenix, Langfuse, MLflow.',
    )
    .meta({ examples: [['phoenix']] }),
  every: duration('Time between two looks for labels.', { min: '1s' }).default('30s'),
});
