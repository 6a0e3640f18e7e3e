import { usageError } from '../errors.ts';
import { splitShellLine } from '../shell-word.ts';

/** A local command that answers the calls of one tool. */
export interface ToolCommand {
  name: string;
  /** Program and arguments; no shell sees them. */
  argv: readonly string[];
}

/** Reads `--tool-exec name=command`. Throws GatewayError usage. */
export function parseToolCommand(word: string): ToolCommand {
  const at = word.indexOf('=');
  const name = word.slice(0, Math.max(at, 0)).trim();
  const argv = at < 0 ? [] : splitCommand(word.slice(at + 1));
  if (name !== '' && argv[0] !== undefined && argv[0] !== '') return { name, argv };
  throw usageError(
    `--tool-exec takes name=command, not ${JSON.stringify(word)}`,
    `for example: --tool-exec 'get_weather=python3 weather.py'`,
  );
}

function splitCommand(command: string): string[] {
  const { words, quote } = splitShellLine(command);
  if (quote === '') return words;
  throw usageError(`a ${quote} is not closed in ${JSON.stringify(command)}`, `add the closing ${quote}`);
}
