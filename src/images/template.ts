import { usageError } from '../errors.ts';

const placeholders = ['n', 'slug', 'model', 'date', 'id', 'ext'];
const pattern = /\{([^{}/\\]{0,40})\}/g;

/** Whether a name holds placeholders such as `{n}`. */
export function isTemplate(name: string): boolean {
  return name.search(pattern) >= 0;
}

/** The placeholders of a template. Throws GatewayError usage for one that there is not. */
export function placeholdersIn(template: string): Set<string> {
  const found = new Set(Array.from(template.matchAll(pattern), (match) => match[1] as string));
  for (const name of found) {
    if (!placeholders.includes(name)) {
      throw usageError(
        `-o: there is no {${name}}`,
        `placeholders are ${placeholders.map((known) => `{${known}}`).join(' ')}`,
      );
    }
  }
  return found;
}

/** Fills in the values that are given; other placeholders stay. Values are used as they are: make them safe first. */
export function expandTemplate(template: string, values: Readonly<Record<string, string>>): string {
  placeholdersIn(template);
  return template.replace(pattern, (whole, name: string) => values[name] ?? whole);
}
