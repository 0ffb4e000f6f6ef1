import { readErrorMessage, listCauses } from '../../../src/domain/errors.ts';

/** Likely causes by message of the Kafka client or its sockets; the first match counts. */
const LIKELY_CAUSES: readonly (readonly [RegExp, string])[] = [
  [
    /SASL .*(mechanism|SCRAM).*not (enabled|supported)|UNSUPPORTED_SASL_MECHANISM|requested SASL mechanism/i,
    'the broker does not support this mechanism: set receivers.kafka.sasl.mechanism to one that it supports',
  ],
  [
    /SASL.*authentication failed|SASLAuthentication|Authentication failed/i,
    'the broker does not know this user or password: check receivers.kafka.sasl',
  ],
  [
    /self-signed|self signed|unable to (verify|get local issuer)|UNABLE_TO_/i,
    "no known authority signed the broker's certificate: set its authority in receivers.kafka.tls.ca",
  ],
  [
    /altnames|ERR_TLS_CERT_ALTNAME_INVALID|does not match certificate/i,
    "the broker's certificate is for another name: use that name in receivers.kafka.brokers or in receivers.kafka.tls.serverName",
  ],
  [
    /wrong version number|EPROTO|before secure TLS|packet length too long|record layer/i,
    'the port has no TLS: remove receivers.kafka.tls, or use the TLS port',
  ],
  [/ECONNREFUSED/, 'nothing listens at this address: check receivers.kafka.brokers and that the broker runs'],
  [
    /ENOTFOUND|EAI_AGAIN/,
    'the name cannot be resolved: check receivers.kafka.brokers (and what the broker advertises)',
  ],
  [/ETIMEDOUT|Connection timeout/i, 'no answer: check receivers.kafka.brokers and the firewalls'],
  [
    /Closed connection|ECONNRESET|socket hang up/i,
    'the broker closed the connection: the port may need TLS or a login (receivers.kafka.tls, receivers.kafka.sasl)',
  ],
  [
    /TOPIC_AUTHORIZATION_FAILED|Not authorized to access topics/i,
    'this user has no right to a topic of receivers.kafka: grant it READ',
  ],
  [
    /GROUP_AUTHORIZATION_FAILED|Not authorized to access group/i,
    'this user has no right to the group receivers.kafka.groupId: grant it READ on the group',
  ],
  [
    /UNKNOWN_TOPIC_OR_PARTITION|does not host this topic/i,
    'a topic of receivers.kafka does not exist: create it, or correct its name',
  ],
];

/** Describes a failure of Kafka for the log: the message and its likely cause. Never contains a password. */
export function describeKafkaFault(error: unknown): { readonly said: string; readonly likely?: string } {
  const said = [...new Set(listCauses(error).map(readErrorMessage))].join(': ');
  const names = listCauses(error).map((cause) => (cause instanceof Error ? cause.name : ''));
  const likely = LIKELY_CAUSES.find(([pattern]) => pattern.test(`${said} ${names.join(' ')}`))?.[1];
  return likely === undefined ? { said } : { said, likely };
}
