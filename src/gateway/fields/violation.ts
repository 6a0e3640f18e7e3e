import type { JsonValue } from '../../json.ts';
import { Problem } from '../problem.ts';
import type { Format } from '../types.ts';

/** Keys and indexes from the body down to a value. */
export type Path = readonly (string | number)[];

/** What is wrong with a value. */
export type Fault =
  | { kind: 'unknown'; name: string; hint?: string | undefined }
  | { kind: 'missing' }
  | { kind: 'type'; expected: string; value: JsonValue }
  | { kind: 'value'; text: string };

/** A field that breaks a rule; it becomes the error reply of its format. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly path: Path;
  readonly fault: Fault;

  constructor(path: Path, fault: Fault) {
    super(fault.kind);
    this.path = path;
    this.fault = fault;
  }

  /** The 400 reply that names the field, worded as the public service of that format does (wire.md 1 and 4). */
  toProblem(format: Format): Problem {
    if (format === 'messages') return new Problem(400, messagesText(this.path, this.fault));
    const description = contentText(this.path, this.fault);
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

function messagesText(path: Path, fault: Fault): string {
  const at = path.join('.');
  switch (fault.kind) {
    case 'unknown':
      return `${[...path, fault.name].join('.')}: Extra inputs are not permitted`;
    case 'missing':
      return `${at}: Field required`;
    case 'type':
      return `${at}: Input should be a valid ${fault.expected}`;
    case 'value':
      return `${at}: ${fault.text}`;
  }
}

function contentText(path: Path, fault: Fault): string {
  const at = contentPath(path);
  switch (fault.kind) {
    case 'unknown': {
      const where = at === '' ? '' : ` at '${at}'`;
      const hint = fault.hint === undefined ? '' : ` ${fault.hint}`;
      return `Invalid JSON payload received. Unknown name "${fault.name}"${where}: Cannot find field.${hint}`;
    }
    case 'missing':
      return `* GenerateContentRequest.${at}: ${String(path.at(-1))} is not specified`;
    case 'type':
      return `Invalid value at '${at}' (${fault.expected}), ${shorten(JSON.stringify(fault.value))}`;
    case 'value':
      return `* GenerateContentRequest.${at}: ${fault.text}`;
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
