import { secretGuard as guard } from './noticed.ts';

const hostile = 'test/faults/hostile-input.test.ts';

/** The rows of 2d that are of what is put in. */
export const input = {
  'prototype pollution': [
    guard(
      'commands/flags/set.ts',
      ["step === '' || forbidden.has(step)", "step === ''"],
      hostile,
      'prototype pollution by --set',
    ),
    guard(
      'commands/flags/set.ts',
      ['if (!forbidden.has(key)) merged', 'merged'],
      hostile,
      'prototype pollution --set of JSON',
    ),
    guard(
      'settings/check.ts',
      ['Object.create(null) as {', '{} as {'],
      'test/settings/schema.test.ts',
      'prototype pollution: objects have no prototypes',
    ),
    guard(
      'settings/check.ts',
      [
        'if (!known.includes(key)) throw new CheckError(at, unknownReason(key, known));',
        'if (!known.includes(key)) { (result as any)[key] = inner; continue; }',
      ],
      hostile,
      'prototype pollution by a profile',
    ),
    guard(
      'formats/messages/events.ts',
      ['Object.hasOwn(handlers, type) ? handlers[type] : undefined', 'handlers[type]'],
      hostile,
      'prototype pollution an event of the type',
    ),
    guard(
      'formats/error-status.ts',
      ['Object.hasOwn(statusByName, key) ? statusByName[key] : undefined', 'statusByName[key]'],
      'test/formats/rules.test.ts',
      'prototype pollution: constructor names',
    ),
  ],
  ReDoS: [
    guard(
      'images/data-url-head.ts',
      ['i <= at + scheme.length + longestType', 'true'],
      hostile,
      'ReDoS: hostile text costs no more than its length data URLs in text on open types',
    ),
    guard(
      'images/data-url-head.ts',
      [
        "i <= start + longestAlt; i++) {\n    const char = text[i];\n    if (char === undefined) return 'cut';\n    if (char === '\\\\') i++;\n    else if (char === '[' && ++depth > deepestAlt)",
        "true; i++) {\n    const char = text[i];\n    if (char === undefined) return 'cut';\n    if (char === '\\\\') i++;\n    else if (char === '[' && ++depth < 0)",
      ],
      hostile,
      'ReDoS: hostile text costs no more than its length data URLs in text on brackets',
    ),
    guard(
      'formats/retry-delay.ts',
      ['rest = text.slice(0, 40)', 'rest = text'],
      'test/formats/rules.test.ts',
      'ReDoS: a delay',
    ),
  ],
  'model or path injection': [
    guard(
      'formats/content/model.ts',
      ['return encodeURIComponent(name);', 'return name;'],
      hostile,
      'model or path injection: x%2e%2e',
    ),
    guard(
      'formats/content/model.ts',
      ['if (problem) throw', 'if (false) throw'],
      hostile,
      'model or path injection: ".."',
    ),
    guard(
      'transport/url.ts',
      ['if (url.pathname !== pathname) {', 'if (false) {'],
      'test/transport/url.test.ts',
      'model or path injection: "/v1/../x"',
    ),
  ],
};
