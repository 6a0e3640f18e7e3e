import type { JsonObject } from '../../json.ts';
import { type Breach, valueText } from '../fields/violation.ts';
import { Problem } from '../problem.ts';
import type { Path } from '../types.ts';

/** RPC name of an HTTP status. */
const statuses: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  413: 'Request Entity Too Large',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
  529: 'UNAVAILABLE',
};

/** The error body of the content format; a stream that breaks off ends with it. */
export function contentError({ code, message, extra }: Problem): JsonObject {
  const status = extra.status ?? statuses[code] ?? (code < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL');
  return { error: { code, message, status, ...(extra.details && { details: extra.details }) } };
}

/** The 400 reply that names the field, worded as the public service does. */
export function contentViolation(path: Path, breach: Breach): Problem {
  const description = wordsOf(path, breach);
  const field = fieldOf(path);
  const fieldViolations = [{ ...(field !== '' && { field }), description }];
  const details = [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }];
  return new Problem(400, description, { details });
}

function wordsOf(path: Path, breach: Breach): string {
  const at = fieldOf(path);
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
    default:
      return `* GenerateContentRequest.${at}: ${valueText(path, breach)}`;
  }
}

/** `generation_config.image_config.aspect_ratio`, `contents[0].parts[1].inline_data`: names as that service spells them. */
function fieldOf(path: Path): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${snakeCase(step)}`));
  return steps.join('').replace(/^\./, '');
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function shorten(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
