/** Units of size in bytes. */
export const KIB = 1024;
export const MIB = 1024 * KIB;

/** Writes a number of bytes for people: `3 KiB`, `1.5 MiB`. */
export function showBytes(bytes: number): string {
  return bytes < MIB ? `${Math.ceil(bytes / KIB)} KiB` : `${(bytes / MIB).toFixed(1)} MiB`;
}
