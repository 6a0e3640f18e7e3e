import type { ChalkInstance } from 'chalk';

/** What decides whether a stream gets colour. */
export interface ColorPlace {
  env: Readonly<Record<string, string | undefined>>;
  isTTY: boolean;
  /** false by `--no-color` */
  color?: boolean | undefined;
}

/**
 * Whether a stream gets colour: never with `--no-color` or a NO_COLOR that is not empty; else by FORCE_COLOR (`0` and `false` are
 * off); else on terminals that are not dumb.
 */
export function wantsColor({ env, isTTY, color }: ColorPlace): boolean {
  if (color === false || isSet(env['NO_COLOR'])) return false;
  const forced = env['FORCE_COLOR'];
  if (isSet(forced)) return forced !== '0' && forced !== 'false';
  return isTTY && env['TERM'] !== 'dumb';
}

function isSet(value: string | undefined): value is string {
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
  const colored = wantsColor(place);
  let chalk: Promise<ChalkInstance> | undefined;
  const paint = (apply: (chalk: ChalkInstance, text: string) => string) => async (text: string) => {
    if (!colored) return text;
    chalk ??= import('chalk').then(({ Chalk }) => new Chalk({ level: 1 }));
    return apply(await chalk, text);
  };
  return {
    warning: paint((chalk, text) => chalk.yellow(text)),
    failure: paint((chalk, text) => chalk.red(text)),
    success: paint((chalk, text) => chalk.green(text)),
    faint: paint((chalk, text) => chalk.dim(text)),
    strong: paint((chalk, text) => chalk.bold(text)),
  };
}

/** Bold without chalk, which would delay help. */
export function bold(text: string, colored: boolean): string {
  return colored ? `\u001B[1m${text}\u001B[22m` : text;
}
