/** Longest text in the reply of a trace, in characters. Other routes give it whole. */
export const MAX_TEXT = 16_384;

/** Most characters of all texts together. Further texts are cut to `MAX_LATE_TEXT`. */
const MAX_TEXTS = 8 * 1024 * 1024;
const MAX_LATE_TEXT = 200;

/** Cuts long texts of one reply, and remembers whether it did. */
export interface TextCutter {
  /** Returns a value with its texts cut, and whether any was. */
  cut<T>(value: T): { readonly value: T; readonly truncated: boolean };
}

/** Creates a cutter of texts for one reply. */
export function createTextCutter(): TextCutter {
  let left = MAX_TEXTS;
  const cutText = (text: string): string => {
    const most = left > 0 ? MAX_TEXT : MAX_LATE_TEXT;
    const kept = text.length > most ? cutWhole(text, most) : text;
    left -= kept.length;
    return kept;
  };
  return {
    cut: (value) => {
      let truncated = false;
      const walk = (item: unknown): unknown => {
        if (typeof item === 'string') {
          const kept = cutText(item);
          truncated ||= kept.length < item.length;
          return kept;
        }
        if (Array.isArray(item)) {
          return item.map(walk);
        }
        return isRecord(item)
          ? Object.fromEntries(Object.entries(item).map(([name, each]) => [name, walk(each)]))
          : item;
      };
      return { value: walk(value) as typeof value, truncated };
    },
  };
}

/** Cuts a text without splitting a character. */
function cutWhole(text: string, most: number): string {
  const code = text.charCodeAt(most - 1);
  return text.slice(0, code >= 0xd800 && code < 0xdc00 ? most - 1 : most);
}

function isRecord(item: unknown): item is Record<string, unknown> {
  if (item === null || typeof item !== 'object') {
    return false;
  }
  const prototype: unknown = Object.getPrototypeOf(item);
  return prototype === Object.prototype || prototype === null;
}
