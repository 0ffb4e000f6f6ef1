import { z } from 'zod';
import { pemFile, secret } from './fields.ts';

/** Field for TLS to a Kafka broker. */
export const brokerTls = z
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

/** Field for the login at a Kafka broker. */
export const brokerSasl = z
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
