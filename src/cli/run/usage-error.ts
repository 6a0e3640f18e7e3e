import { type Command, CommanderError } from 'commander';
import type { Names } from './argv.ts';

/** Whether commander only showed help or the version, as it was asked to. */
export function isShown({ exitCode }: CommanderError): boolean {
  return exitCode === 0;
}

/** With `--json` help and the version are documents too. */
export function shownDocument({ code }: CommanderError, text: string): object {
  return code === 'commander.version'
    ? { schema: 'gateway-cli/version@1', version: text.trim() }
    : { schema: 'gateway-cli/help@1', text };
}

/** The command in whose words commander found each mistake. */
const places = new WeakMap<CommanderError, Command>();

/** Throws what commander found, and remembers where. */
export function throwFound(error: CommanderError, command: Command): never {
  places.set(error, command);
  throw error;
}

/** Throws how parsing ended, a mistake in argv in our words; that help or the version was shown is no failure. */
export async function throwParsed(error: unknown, argv: readonly string[], names: Names): Promise<void> {
  if (!(error instanceof CommanderError)) throw error;
  if (isShown(error)) return;
  const { explainMistake } = await import('./mistake.ts');
  throw explainMistake(error, { argv, names, command: places.get(error) });
}
