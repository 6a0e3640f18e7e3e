import { type Command, CommanderError } from 'commander';
import { type GatewayError, usageError } from '../errors.ts';
import { commandBehind, type Names } from './argv.ts';
import { bodyFlags, connectionFlags, outputFlags } from './flags/shared.ts';
import { firstExample, namesOf } from './help.ts';

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

/** Throws how parsing ended, a mistake in argv in our words; that help or the version was shown is no failure. */
export function throwParsed(error: unknown, argv: readonly string[], names: Names): void {
  if (!(error instanceof CommanderError)) throw error;
  if (isShown(error)) return;
  if (error.code === 'commander.help') throw usageError('a command is missing', 'choose one from the list above');
  throw (
    explainMisplacedFlag(error, argv, names) ??
    explainCommanderError(error, ['gateway-cli', ...commandWords(argv)].join(' '))
  );
}

function commandWords(argv: readonly string[]): string[] {
  const first = argv.filter((word) => !word.startsWith('-')).slice(0, 2);
  return first[0] === 'image' || first[0] === 'sessions' || first[0] === 'config' ? first : first.slice(0, 1);
}

/** A flag of a command that stands before its name (`--offline text hi`); undefined where it is another mistake. */
function explainMisplacedFlag(error: CommanderError, argv: readonly string[], names: Names): GatewayError | undefined {
  if (error.code !== 'commander.unknownOption') return undefined;
  const flag = /^error: unknown option '(--?[a-z-]+)[^]*'/.exec(error.message)?.[1] ?? '';
  const tables = [connectionFlags, bodyFlags, outputFlags];
  const known = tables.flatMap((table) => Object.values(table).flatMap(({ flags }) => flags.split(/[ ,]+/)));
  const command = known.includes(flag) ? commandBehind(flag, argv, names) : undefined;
  if (command === undefined) return undefined;
  return usageError(`unknown flag ${flag} before the command`, `put it behind: gateway-cli ${command} ${flag}`, error);
}

/** Throws what commander found; for a word that is missing or a flag nearly right, how the command looks with it. */
export function throwFound(error: CommanderError, command: Command): never {
  if (error.code === 'commander.unknownOption') throw explainNearFlag(error, command) ?? error;
  const example = error.code === 'commander.missingArgument' ? firstExample(command) : undefined;
  if (example === undefined) throw error;
  const hint = `for example: ${example}\nsee: ${namesOf(command)} --help`;
  throw usageError(error.message.replace(/^error: /, ''), hint, error);
}

/** `--maxTokens`, `--max_tokens`, `--max-token`, `--tokens`: a number of tokens is meant, and no key. */
const tokenLimit = /^--(max[a-z_-]*tokens?([_-]?total)?|tokens)$/i;

/** What is wrong with a flag that only this command can tell. What stands behind `=` is never repeated: it may be a key. */
function explainNearFlag(error: CommanderError, { options }: Command): GatewayError | undefined {
  const [, name = '', end] = /^error: unknown option '(--[a-z_-]+)(=|')/i.exec(error.message) ?? [];
  const known = options.find(({ long }) => long === name);
  const isSwitch = name === '--help' || (known && !known.required && !known.optional);
  if (end === '=' && isSwitch) return usageError(`${name} takes no value`, `write ${name}, or leave it out`);
  const meant = /total/i.test(name) ? '--max-tokens-total' : '--max-tokens';
  if (!tokenLimit.test(name) || !options.some(({ long }) => long === meant)) return undefined;
  return usageError(`unknown flag ${name}`, `did you mean: ${meant}`);
}

/**
 * What a mistake in argv means, in our words. The message never repeats what stands behind `=` of an unknown flag, nor the
 * rest of a short one: it may be a key (design.md section 1).
 */
function explainCommanderError(error: CommanderError, command: string): GatewayError {
  const [first = '', ...rest] = error.message.replace(/^error: /, '').split('\n');
  const suggestion = /Did you mean (.+)\?/.exec(rest.join(' '))?.[1];
  const help = `see: ${command} --help`;
  if (error.code === 'commander.unknownOption') return unknownFlag(first, { suggestion, command, help });
  if (error.code === 'commander.unknownCommand') {
    if (first === "unknown command 'version'") return usageError(first, 'did you mean: gateway-cli --version', error);
    const unknown = /^unknown command '([\s\S]*)'$/.exec(first)?.[1] ?? '';
    const parent = command.slice(0, -unknown.length).trimEnd();
    return usageError(
      first,
      suggestion ? `did you mean: ${parent} ${suggestion.replace(/^one of /, '')}` : `see: ${parent} --help`,
      error,
    );
  }
  if (error.code === 'commander.optionMissingArgument')
    return usageError(first.replace(' argument missing', ' needs a value'), help, error);
  return usageError(first, help, error);
}

function unknownFlag(
  message: string,
  { suggestion, command, help }: { suggestion: string | undefined; command: string; help: string },
): GatewayError {
  const flag = /^unknown option '([\s\S]*)'$/.exec(message)?.[1] ?? '';
  if (flag.includes(' ') && !flag.startsWith('--')) {
    return usageError(
      `an argument that begins with '-' is taken for a flag`,
      `put -- in front of it: ${command} -- '- item one'`,
    );
  }
  const name = flag.startsWith('--') ? (flag.split('=')[0] ?? '') : flag.slice(0, 2);
  const known = name.split(' ')[0] ?? name;
  if (/key|token|secret/i.test(known) && !tokenLimit.test(known))
    return usageError(`unknown flag ${known}`, 'a key is set by GATEWAY_API_KEY or --api-key-file <path>');
  return usageError(`unknown flag ${known}`, suggestion ? `did you mean: ${suggestion}` : help);
}
