import { BlockList, isIP, isIPv6 } from 'node:net';

/** Addresses inside of a network: of this machine, of private networks, shared by carriers. */
const INSIDE = [
  '127.0.0.0/8',
  '::1',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  'fc00::/7',
];

/** Addresses that no receiver of ours has: of the link (metadata of clouds among them), for tests and tunnels, of many. */
const NEVER = [
  '0.0.0.0/8',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

/** This machine. */
const LOOPBACK_ADDRESSES = ['127.0.0.0/8', '::1'];

/** An address, or a network as `10.0.0.0/8`. */
export function isAddressOrNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const most = isIPv6(address) ? 128 : 32;
  return (
    isIP(address) !== 0 &&
    rest.length === 0 &&
    (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most))
  );
}

/** Returns true for an address of the public internet or of an allowed network; false for text that is no address. */
export type AddressPolicy = (address: string) => boolean;

/** Each of `allowed` must be `isAddressOrNetwork`. */
export function addressPolicy(allowed: readonly string[]): AddressPolicy {
  const open = buildBlockList(allowed);
  return (address) => {
    const family = detectFamily(address);
    return isIP(address) !== 0 && (!PRIVATE.check(address, family) || open.check(address, family));
  };
}

function buildBlockList(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const family = detectFamily(address);
    list.addSubnet(address, bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits), family);
  }
  return list;
}

const PRIVATE = buildBlockList([...INSIDE, ...NEVER]);
const LOOPBACK = buildBlockList(LOOPBACK_ADDRESSES);
const OWN_NETWORK = buildBlockList(INSIDE);

/** True for an address of this machine or of a private network. */
export function isInsideAddress(address: string): boolean {
  return OWN_NETWORK.check(address, detectFamily(address));
}

function detectFamily(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}

/** The address that a URL's host is written as; undefined for a name. */
export function writtenAddress(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? undefined : host;
}

/**
 * Policy of addresses that a configured URL may lead to. A loopback URL may reach this machine; with `inside`, private networks
 * are allowed but no link-local address; else the internet only, and allowed networks.
 */
export function createAddressPolicy(
  url: URL,
  { allowed, inside }: { readonly allowed: readonly string[]; readonly inside: boolean },
): AddressPolicy {
  const written = writtenAddress(url);
  const isLoopback =
    written === undefined ? url.hostname === 'localhost' : LOOPBACK.check(written, detectFamily(written));
  return addressPolicy([...allowed, ...(inside ? INSIDE : []), ...(isLoopback ? LOOPBACK_ADDRESSES : [])]);
}
