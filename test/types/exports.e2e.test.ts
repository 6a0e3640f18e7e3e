import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** They describe constants, of which only the names of their rows are types. */
const rowsOfTables =
  'AddressTemplate ExitCode Facts FieldKind FieldName FieldTable FieldsOf GivenKind JsonOptionValues JsonValues ModelFacts NamesOf PlainValues RequestField Service Words'.split(
    ' ',
  );

test('every type that the declarations of the library name can be imported', () => {
  const text = readFileSync(join(import.meta.dirname, '../../dist/cjs/index.d.ts'), 'utf8');
  const declared = Array.from(text.matchAll(/^(?:declare )?(?:interface|type|class) (\w+)/gm), ([, name = '']) => name);
  const lists = Array.from(text.matchAll(/^export (?:type )?\{([^}]*)\}/gm), ([, list = '']) => list);
  const exported = new Set(lists.flatMap((list) => list.split(',').map((name) => name.trim())));
  expect(declared).toContain('AskRequest');
  expect(declared.filter((name) => !exported.has(name)).sort()).toEqual(rowsOfTables);
});
