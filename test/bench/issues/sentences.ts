/** Returns uniform random numbers in [0, 1). */
export type Random = () => number;

const CITIES = [
  'Ghent',
  'Lisbon',
  'Kraków',
  'Osaka',
  'San José',
  'Leeds',
  'Zürich',
  'Porto Alegre',
  'Novi Sad',
];
const FIRST = ['Ada', 'Bruno', 'Chen', 'Dilek', 'Émile', 'Farah', 'Goran', 'Hana', 'Ilse', 'Jonas', 'Kofi'];
const LAST = ['Okafor', 'Lindqvist', 'Moreau', 'Santos', 'Wójcik', "O'Brien", 'Yılmaz', 'Tanaka', 'van Dijk'];
const MONTHS = ['January', 'March', 'May', 'June', 'August', 'October', 'December'];

/** Parts of sentences that say something nobody else says. */
const THINGS = [
  'the lift|a bus|the harbour|breakfast|the pool|a dog|the museum|rain|the pilot|a voucher|the attic|the bakery|a tax|the bridge',
  'a ferry|the doorman|luggage|the garden|a guide|the night train|a deposit|the market|the window seat|a visa|the ski pass|tap water',
  'a bicycle|the terrace|the church|an adapter|the theatre|a blanket|the border|the menu|the parking lot|a helmet|the beach|the cellar',
  'your order|the parcel|the refund|your invoice|the package|the item|a return|the card|your account|the delivery|the seller|free shipping',
  'a printer|the handbook|the ledger|the cache|the replica|the socket|a certificate|the schema|the archive|the queue|the index|the disk',
].flatMap((line) => line.split('|'));
const VERBS = [
  'needs|opens|crosses|replaces|covers|follows|blocks|warms|rents|paints|counts|repairs|forbids|measures|sells|hides|serves|closes',
  'carries|guards|lights|doubles|empties|lends|ruins|splits|cools|greets|inspects|shrinks|washes|borrows|stamps|feeds|folds|rotates',
].flatMap((line) => line.split('|'));
const PLACES = [
  'in winter|on foot|at dawn|by phone|under the roof|every Sunday|near the lake|in the old town|on request|at the counter|for children',
  'without a key|by post|in the basement|across the river|for members|at noon|on holidays|behind the station|with a coupon|in silence',
].flatMap((line) => line.split('|'));

/**
 * Creates a writer of sentences. It takes forms of a sentence and draws one of them: `[a|b]` is one of the parts, `{name}` a made name; other
 * classes are `amount`, `city`, `date`, `host`, `id`, `month`, `number`, `time`, `uuid`, and `thing`, `verb`, `place` for odd sentences.
 */
export function createWriter(random: Random) {
  const below = (count: number) => Math.floor(random() * count);
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!;
  const hex = (digits: number) => Array.from({ length: digits }, () => below(16).toString(16)).join('');
  const classes: Readonly<Record<string, () => string>> = {
    amount: () =>
      pick([
        `€${below(900)}.${below(90) + 10}`,
        `${below(900)} EUR`,
        `$${below(9_000)}`,
        `${below(90)} euros`,
      ]),
    city: () => pick(CITIES),
    date: () =>
      pick([
        `${below(27) + 1} ${pick(MONTHS)} 2026`,
        `2026-0${below(8) + 1}-${below(18) + 10}`,
        `${pick(MONTHS)} ${below(27) + 1}`,
        `${below(27) + 1}.0${below(8) + 1}.2026`,
      ]),
    host: () =>
      pick([`10.0.${below(255)}.${below(255)}`, `https://pay-${below(9)}.internal/v${below(4)}/refunds`]),
    id: () =>
      pick([
        `A-${below(90_000) + 10_000}`,
        `#${below(900_000)}`,
        `ord_${hex(8)}`,
        `${below(900_000) + 100_000}`,
      ]),
    month: () => pick(MONTHS),
    name: () => `${pick(FIRST)} ${pick(LAST)}`,
    number: () => String(below(pick([50, 500, 200_000])) + 2),
    place: () => pick(PLACES),
    thing: () => pick(THINGS),
    time: () => `${below(12) + 10}:${below(50) + 10}`,
    uuid: () => [hex(8), hex(4), hex(4), hex(12)].join('-'),
    verb: () => pick(VERBS),
  };
  const fill = (form: string): string => {
    const next = form.replace(/\[([^[\]]*)\]/g, (_, parts: string) => pick(parts.split('|')));
    return next === form ? form.replace(/\{(\w+)\}/g, (_, name: string) => classes[name]!()) : fill(next);
  };
  return (...forms: readonly string[]): string => fill(pick(forms));
}
