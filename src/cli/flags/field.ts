import { usageError } from '../../errors.ts';
import { splitPath } from './set.ts';
import { quote } from './flag.ts';

/** Reads `answer.names[0]`: steps as in `--set`, and items of a list in brackets too. Throws GatewayError usage. */
export function parseFieldPath(word: string, name: string): string[] {
  const steps = splitPath(word.replaceAll(/\.?\[(\d+)\]/g, '.$1'));
  const bad = steps.find((step) => step === '' || /[[\]]/.test(step));
  if (bad === undefined) return steps;
  throw usageError(`${name} takes names and numbers, not ${quote(word)}`, `for example: ${name} images[0].path`);
}

/** The path as it is typed: `answer.names[0]`. */
export function fieldPathText(steps: readonly string[]): string {
  return steps
    .map((step, index) => {
      if (/^\d+$/.test(step) && index > 0) return `[${step}]`;
      return `${index > 0 ? '.' : ''}${step.replaceAll('.', String.raw`\.`)}`;
    })
    .join('');
}
