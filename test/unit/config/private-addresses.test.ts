import { describe, expect, it } from 'vitest';
import {
  addressPolicy,
  createAddressPolicy,
  isLinkLocalUrl,
  isAddressOrNetwork,
  writtenAddress,
} from '../../../src/config/addresses/private-addresses.ts';

describe('the addresses that may be asked', () => {
  it.each([
    '127.0.0.1',
    '127.8.8.8',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fd00:ec2::254',
    '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe',
    '64:ff9b::a9fe:a9fe',
    '::a9fe:a9fe',
    '2002:7f00:1::',
    'localhost',
    '',
  ])('do not include %s', (address) => {
    expect(addressPolicy([])(address)).toBe(false);
  });

  it.each(['1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111', '::ffff:1.1.1.1'])(
    'include %s',
    (address) => {
      expect(addressPolicy([])(address)).toBe(true);
    },
  );

  it('include the allowed networks and no other', () => {
    const permits = addressPolicy(['10.0.0.0/8', '192.168.1.7', 'fd00::/8']);
    expect(['10.9.9.9', '192.168.1.7', '::ffff:10.1.1.1', 'fd12::1'].map(permits)).not.toContain(false);
    expect(['192.168.1.8', '127.0.0.1', '169.254.169.254', 'fc00::1'].map(permits)).not.toContain(true);
  });
});

describe('a URL of a link-local address', () => {
  it.each([
    'http://169.254.169.254/latest/meta-data',
    'http://2852039166',
    'http://0xa9fea9fe/',
    'http://0251.0376.0251.0376',
    'http://169.254.169.254.:80',
    'http://[::ffff:169.254.169.254]',
    'http://[::a9fe:a9fe]',
    'http://[64:ff9b::a9fe:a9fe]',
    'http://[2002:a9fe:a9fe::1]',
    'http://[fe80::1]',
    'http://[fd00:ec2::254]',
    'http://METADATA.google.internal./',
  ])('is known in the form %s', (url) => {
    expect(isLinkLocalUrl(new URL(url))).toBe(true);
  });

  it.each([
    'http://169.253.1.1',
    'http://[fd00::1]',
    'http://[::1]:4318',
    'http://127.0.0.1',
    'http://metadata',
  ])('is not %s', (url) => {
    expect(isLinkLocalUrl(new URL(url))).toBe(false);
  });
});

describe('the addresses that a configured URL may lead to', () => {
  const leads = (url: string, address: string, more: { allowed?: string[]; inside?: boolean } = {}) =>
    createAddressPolicy(new URL(url), { allowed: [], inside: false, ...more })(address);

  it.each([
    ['http://127.0.0.1:1', '127.0.0.1'],
    ['http://localhost:1', '127.0.0.1'],
    ['http://[::1]:1', '::1'],
    ['https://hooks.example', '1.1.1.1'],
  ])('by %s are %s', (url, address) => {
    expect(leads(url, address)).toBe(true);
  });

  it.each([
    ['http://10.0.0.1', '10.0.0.1'],
    ['http://hooks.example', '127.0.0.1'],
    ['http://localhost', '10.0.0.1'],
    ['http://169.254.169.254', '169.254.169.254'],
  ])('by %s are not %s', (url, address) => {
    expect(leads(url, address)).toBe(false);
  });

  it('are also inside where the receiver belongs there, but never of the link', () => {
    expect(leads('http://am.example', '10.0.0.1', { inside: true })).toBe(true);
    expect(leads('http://am.example', '169.254.169.254', { inside: true })).toBe(false);
    expect(leads('http://am.example', '169.254.1.1', { allowed: ['169.254.1.1'] })).toBe(true);
  });
});

describe('an address or a network', () => {
  it.each(['10.0.0.0/8', '127.0.0.1', '::1', 'fc00::/7', '10.0.0.1/32', '::/128'])('is %s', (text) => {
    expect(isAddressOrNetwork(text)).toBe(true);
  });

  it.each(['10.0.0.0/33', '10.0.0/8', 'hooks.example', '10.0.0.0/', '::/129', '10.0.0.0/8/8', ''])(
    'is not %s',
    (text) => {
      expect(isAddressOrNetwork(text)).toBe(false);
    },
  );
});

describe('the host of a URL', () => {
  it.each([
    ['http://127.0.0.1:80/x', '127.0.0.1'],
    ['http://2130706433/', '127.0.0.1'],
    ['http://0x7f.1/', '127.0.0.1'],
    ['http://[::1]:9/', '::1'],
    ['http://localhost/', undefined],
  ])('%s is written as the address %s', (url, address) => {
    expect(writtenAddress(new URL(url))).toBe(address);
  });
});
