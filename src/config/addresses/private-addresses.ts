import { BlockList, isIP, isIPv6 } from 'node:net';

/** Internal addresses: this machine, private networks, carrier networks. */
const INSIDE = [
  '127.0.0.0/8',
  '::1',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  'fc00::/7',
];

/** Addresses that no receiver has: link-local (with cloud metadata), test and tunnel ranges, multicast. */
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
  '::/96',
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

/** Link-local addresses, in the forms in which IPv6 holds one of IPv4 too, and the addresses of cloud metadata. */
const LINK_LOCAL_ADDRESSES = [
  '169.254.0.0/16',
  '::169.254.0.0/112',
  '64:ff9b::169.254.0.0/112',
  '2002:a9fe::/32',
  'fe80::/10',
  'fd00:ec2::254',
];
const METADATA_NAMES = ['metadata.google.internal', 'instance-data.ec2.internal'];

const LOOPBACK_ADDRESSES = ['127.0.0.0/8', '::1'];

/** True for an address, or a network like `10.0.0.0/8`. */
export function isAddressOrNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const most = isIPv6(address) ? 128 : 32;
  return (
    isIP(address) !== 0 &&
    rest.length === 0 &&
    (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most))
  );
}

/** Returns true for a public internet address or an allowed network; false for text that is no address. */
export type AddressPolicy = (address: string) => boolean;

/** Creates a policy. Each of `allowed` must be an `isAddressOrNetwork`. */
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
const LINK_LOCAL = buildBlockList(LINK_LOCAL_ADDRESSES);

/** True for a host of this machine or of a private network: a private address, or a name without a public suffix. */
export function isOwnNetwork(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0
    ? !host.includes('.') || /\.(?:local|localhost|internal|lan|home\.arpa|svc|test)$/.test(host)
    : OWN_NETWORK.check(host, detectFamily(host));
}

/** True for a URL of a link-local address or of cloud metadata: no receiver and no judge is there. */
export function isLinkLocalUrl(url: URL): boolean {
  const written = writtenAddress(url);
  return written === undefined
    ? METADATA_NAMES.includes(url.hostname.replace(/\.$/, ''))
    : LINK_LOCAL.check(written, detectFamily(written));
}

/** Creates a check for addresses in one of `networks`, each an `isAddressOrNetwork`. Other texts are in none. */
export function createNetworkCheck(networks: readonly string[]): (text: string) => boolean {
  const list = buildBlockList(networks);
  return (text) => isIP(text) !== 0 && list.check(text, detectFamily(text));
}

/** True for a URL of this machine: a loopback address or `localhost`. */
export function isLoopbackUrl(url: URL): boolean {
  const written = writtenAddress(url);
  return written === undefined
    ? url.hostname === 'localhost'
    : LOOPBACK.check(written, detectFamily(written));
}

function detectFamily(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}

/** Returns the address in the host of a URL; undefined for a name. */
export function writtenAddress(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? undefined : host;
}

/**
 * Creates the policy for the addresses of a configured URL. A loopback URL may reach this machine. With `inside`, private
 * networks are allowed, but not link-local addresses. Otherwise only the internet and allowed networks are.
 */
export function createAddressPolicy(
  url: URL,
  { allowed, inside }: { readonly allowed: readonly string[]; readonly inside: boolean },
): AddressPolicy {
  return addressPolicy([
    ...allowed,
    ...(inside ? INSIDE : []),
    ...(isLoopbackUrl(url) ? LOOPBACK_ADDRESSES : []),
  ]);
}
