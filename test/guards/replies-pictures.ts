import type { Guard } from './guard.ts';

/** A guard that a test of test/faults/reply-pictures.test.ts misses. */
const guard = (file: string, [find, replace]: [string, string], title: string): Guard => ({
  file: `src/${file}`,
  find,
  replace,
  test: 'test/faults/reply-pictures.test.ts',
  title: `faults 2b: ${title}`,
});

const decoder = 'images/base64.ts';

/** The rows of 2b that are of pictures. */
export const pictures = {
  Base64: [
    guard(
      decoder,
      ["if (rest === 1) throw malformed('it is cut", "if (false) throw malformed('it is cut"],
      'Base64: truncated',
    ),
    guard(
      decoder,
      ['else if (kind !== 0) throw', 'else if (kind !== 0) continue;\n      else if (false) throw'],
      'Base64: a foreign character',
    ),
    guard(
      decoder,
      ["else if (this.#padding > 0) throw malformed('it goes on", "else if (false) throw malformed('it goes on"],
      'Base64: padded and then going on',
    ),
    guard(
      decoder,
      ['if (this.#padding > 0 && rest + this.#padding !== 4) throw', 'if (false) throw'],
      'Base64: padded by one too much',
    ),
    guard(
      'images/store.ts',
      [
        "throw new GatewayError('bad-reply', 'an image of the reply is empty'",
        "void new GatewayError('bad-reply', 'an image of the reply is empty'",
      ],
      'Base64: empty',
    ),
    guard('client/content.ts', ['error: cut ?? pictures.failure()', 'error: cut'], 'Base64: truncated'),
  ],
  'mime and bytes disagree': [
    guard(
      'images/extension.ts',
      ['const real = sniffType(head);', 'const real = undefined as string | undefined;'],
      'mime and bytes disagree: another type',
    ),
    guard(
      'images/extension.ts',
      ["if (type.includes('svg') || type.includes('xml')) return undefined;", ''],
      'mime and bytes disagree: SVG of unknown bytes',
    ),
    guard(
      'images/extension.ts',
      ['warning: disagreement(declaredType, named, real)', 'warning: undefined'],
      'mime and bytes disagree: another type',
    ),
    guard(
      'client/pictures.ts',
      ['if (declared !== undefined && /^(audio|video|text)', 'if (false && /^(audio|video|text)'],
      'mime and bytes disagree: a text is no picture',
    ),
  ],
};

export const counts = {
  'count differs': [
    guard('commands/merge-answers.ts', ['if (missing === 0 || ', 'if (true || '], 'count differs'),
    guard(
      'commands/ask-all.ts',
      ['if (result) await images.save', 'if (result && false) await images.save'],
      'count differs',
    ),
  ],
};
