import type { JsonValue } from '../../json.ts';
import { Problem } from '../problem.ts';
import type { Format, Path } from '../types.ts';

/** What is wrong with a value. */
export type Breach =
  | { kind: 'unknown'; name: string; hint?: string | undefined }
  | { kind: 'missing' }
  | { kind: 'type'; expected: string; value: JsonValue }
  | {
      kind: 'value';
      text: string;
      /** Whether it is a string that a newer list of the field's values could have. */
      isUnknown?: true;
    };

/** A field that breaks a rule; it becomes the error reply of its format. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly path: Path;
  readonly breach: Breach;

  constructor(path: Path, breach: Breach) {
    super(breach.kind);
    this.path = path;
    this.breach = breach;
  }

  /** The 400 reply that names the field, worded as the public service of that format does. */
  toProblem(format: Format): Problem {
    if (format === 'messages') return new Problem(400, messagesText(this.path, this.breach));
    const description = contentText(this.path, this.breach);
    const field = contentPath(this.path);
    const fieldViolations = [{ ...(field !== '' && { field }), description }];
    const details = [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }];
    return new Problem(400, description, { details });
  }
}

/** A violation where a value has the right type and is still not allowed. */
export function badValue(path: Path, text: string): Violation {
  return new Violation(path, { kind: 'value', text });
}

function messagesText(path: Path, breach: Breach): string {
  const at = path.join('.');
  switch (breach.kind) {
    case 'unknown':
      return `${[...path, breach.name].join('.')}: Extra inputs are not permitted`;
    case 'missing':
      return `${at}: Field required`;
    case 'type':
      return `${at}: Input should be a valid ${breach.expected}`;
    case 'value':
      return `${at}: ${breach.text}`;
  }
}

function contentText(path: Path, breach: Breach): string {
  const at = contentPath(path);
  switch (breach.kind) {
    case 'unknown': {
      const where = at === '' ? '' : ` at '${at}'`;
      const hint = breach.hint === undefined ? '' : ` ${breach.hint}`;
      return `Invalid JSON payload received. Unknown name "${breach.name}"${where}: Cannot find field.${hint}`;
    }
    case 'missing':
      return `* GenerateContentRequest.${at}: ${String(path.at(-1))} is not specified`;
    case 'type':
      return `Invalid value at '${at}' (${breach.expected}), ${shorten(JSON.stringify(breach.value))}`;
    case 'value':
      return `* GenerateContentRequest.${at}: ${breach.text}`;
  }
}

/** `generation_config.image_config.aspect_ratio`, `contents[0].parts[1].inline_data`: names as that service spells them. */
function contentPath(path: Path): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${snakeCase(step)}`));
  return steps.join('').replace(/^\./, '');
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function shorten(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
