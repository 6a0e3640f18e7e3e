import type { ChalkInstance } from 'chalk';

/** The facts that decide whether a stream gets colour. */
interface ColorPlace {
  env: Readonly<Record<string, string | undefined>>;
  isTTY: boolean;
  /** false by `--no-color` */
  color?: boolean | undefined;
}

/**
 * Whether a stream gets colour: never with `--no-color` or a NO_COLOR that is not empty; otherwise by FORCE_COLOR (`0` and
 * `false` are off), then CLICOLOR_FORCE (all but `0` is on); otherwise on terminals that are not dumb, without CLICOLOR=0.
 */
export function wantsColor({ env, isTTY, color }: ColorPlace): boolean {
  if (color === false || isNonEmpty(env['NO_COLOR'])) return false;
  const forced = env['FORCE_COLOR'];
  if (isNonEmpty(forced)) return forced !== '0' && forced !== 'false';
  if (isNonEmpty(env['CLICOLOR_FORCE']) && env['CLICOLOR_FORCE'] !== '0') return true;
  return isTTY && env['TERM'] !== 'dumb' && env['CLICOLOR'] !== '0';
}

function isNonEmpty(value: string | undefined): value is string {
  return value !== undefined && value !== '';
}

/** Colours text for one stream; returns it unchanged if the stream gets no colour. */
export interface Style {
  warning(text: string): Promise<string>;
  failure(text: string): Promise<string>;
  success(text: string): Promise<string>;
  faint(text: string): Promise<string>;
  strong(text: string): Promise<string>;
}

/** The style of one stream. chalk is loaded for the first coloured text. */
export function createStyle(place: ColorPlace): Style {
  let chalk: Promise<ChalkInstance> | undefined;
  const paint = (look: 'yellow' | 'red' | 'green' | 'dim' | 'bold') => async (text: string) => {
    if (!wantsColor(place)) return text;
    chalk ??= import('chalk').then(({ Chalk }) => new Chalk({ level: 1 }));
    return (await chalk)[look](text);
  };
  return {
    warning: paint('yellow'),
    failure: paint('red'),
    success: paint('green'),
    faint: paint('dim'),
    strong: paint('bold'),
  };
}

/** Bold without chalk, which would delay help. */
export function bold(text: string, colored: boolean): string {
  return colored ? `\u001B[1m${text}\u001B[22m` : text;
}
