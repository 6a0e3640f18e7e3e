import type { Command, CommanderError } from 'commander';
import {
  closest,
  findFlagByField,
  type GatewayError,
  hintFor,
  settingError,
  shellWord,
  usageError,
} from '../library/index.ts';
import { findSetFlag } from './flags/set.ts';
import { findCommandWords, getCommandName, typedNames } from './command-words.ts';
import { getExamples } from './flags/flag.ts';
import { commandsNamed } from './help/facts.ts';
import { topics } from './help/help.ts';
import { keyInArgv } from './run/settings.ts';

/** The words that were typed, and the command in which commander found the mistake. */
interface MistypedLine {
  argv: readonly string[];
  command: Command | undefined;
}

/**
 * The error for a mistake that commander found. Its message never repeats the value of an unknown flag, nor the letters after a
 * short flag: they may be a key.
 */
export function explainMistake(error: CommanderError, typed: MistypedLine): GatewayError {
  const dashed = explainOtherDash(typed);
  if (dashed) return dashed;
  const [first = '', ...rest] = error.message.replace(/^error: /, '').split('\n');
  const suggestion = /Did you mean (.+)\?/.exec(rest.join(' '))?.[1]?.replace(/^one of /, '');
  switch (error.code) {
    case 'commander.help':
      return settingError('no command was given', { reason: 'no-command' });
    case 'commander.unknownOption':
      return explainFlag(/^unknown option '([\s\S]*)'$/.exec(first)?.[1] ?? '', suggestion, typed);
    case 'commander.unknownCommand':
      return explainUnknownCommand(typed, suggestion);
    case 'commander.missingArgument': {
      const [example] = typed.command ? getExamples(typed.command) : [];
      const hint = example === undefined ? '' : `${hintFor('example', { value: example.replace(/ +# .*$/, '') })}\n`;
      const message = first.replace(/^missing required argument '(.*)'$/, 'the argument <$1> is missing');
      return usageError(message, hint + helpHint(typed), error);
    }
    case 'commander.excessArguments':
      return isDefaultCommand(typed)
        ? explainUnknownCommand(typed, undefined)
        : usageError(first, helpHint(typed), error);
    case 'commander.optionMissingArgument':
      return usageError(first.replace(' argument missing', ' needs a value'), valueHint(first, typed), error);
    default:
      return usageError(first, helpHint(typed), error);
  }
}

/** Whether the command was not typed: it is the default of its group. */
function isDefaultCommand({ argv, command }: MistypedLine): boolean {
  return command !== undefined && command.name() !== typedNames(findCommandWords(argv)).at(-1);
}

/** A flag of the command whose `-` became another dash in a text editor: `—stream`. A word after `--` is not a flag. */
export function explainOtherDash({ argv, command }: MistypedLine): GatewayError | undefined {
  const end = argv.indexOf('--');
  const words = argv.slice(0, end < 0 ? undefined : end).filter((word) => command?.args.includes(word));
  for (const word of words) {
    const [, dashed = '', name = ''] = /^([\u2010-\u2015\u2212]+(\w[\w-]*))(?:=|$)/.exec(word) ?? [];
    const flag = `${name.length === 1 ? '-' : '--'}${name}`;
    if (flag === '--api-key') return keyInArgv();
    if (flag === '--help' || command?.options.some(({ long, short }) => long === flag || short === flag))
      return settingError(`'${dashed}' begins with a dash other than '-'`, { reason: 'meant', value: flag });
  }
  return undefined;
}

function explainFlag(word: string, suggestion: string | undefined, typed: MistypedLine): GatewayError {
  const { argv, command } = typed;
  const flag = word.startsWith('--') ? (word.split(/[= ]/)[0] ?? '') : word.slice(0, 2);
  if (flag === '--api-key') return keyInArgv();
  if (typedNames(findCommandWords(argv)).length === 0 && argv[0]?.startsWith('-') === false)
    return explainUnknownCommand(typed, undefined);
  if (word.includes(' ') && !word.startsWith('--'))
    return settingError(`an argument that begins with '-' is read as a flag`, {
      reason: 'dash-alone',
      value: typedCommand(typed),
    });
  const wrong = explainSwitch(word, typed);
  if (wrong !== undefined) return wrong;
  if (command !== undefined && command.commands.length > 0)
    return settingError(`unknown flag ${flag} before the command`, {
      reason: 'flag-first',
      value: ['gateway-cli', getCommandName(command), '<command>', flag].filter(Boolean).join(' '),
    });
  return explainUnknownFlag(flag, suggestion, typed);
}

/** `--json=1` */
function explainSwitch(word: string, { command }: MistypedLine): GatewayError | undefined {
  const [, name = ''] = /^(--[a-z_-]+)=/i.exec(word) ?? [];
  const known = command?.options.find(({ long }) => long === name);
  const isSwitch = name === '--help' || (known && !known.required && !known.optional);
  return isSwitch ? settingError(`${name} takes no value`, { reason: 'switch-value', value: name }) : undefined;
}

function explainUnknownFlag(flag: string, suggestion: string | undefined, typed: MistypedLine): GatewayError {
  const message = `unknown flag ${flag}`;
  const name = typed.command && getCommandName(typed.command);
  if (name === 'image gen' && ['-i', '--image', '--attach', '--mask'].includes(flag))
    return settingError(message, { reason: 'gen-image' });
  const known = meantFlags(flag).filter((one) =>
    typed.command?.options.some(({ long }) => long === one.split(' ', 1)[0]),
  );
  if (known.length > 0) return settingError(message, { reason: 'meant', value: known.join(', ') });
  if (/key|token|secret/i.test(flag) && !tokenLimit.test(flag)) return settingError(message, { reason: 'key-flag' });
  const setFlag = typed.command?.options.some(({ long }) => long === '--set') ? findSetFlag(flag) : undefined;
  if (setFlag !== undefined) return settingError(message, { reason: 'field-without-flag', value: setFlag });
  const isOpposite = flag.startsWith('--no-') && !suggestion?.startsWith('--no-');
  // Commander takes --stop for near to --steps: a suggestion must be near without its dashes.
  const nearest = suggestion?.split(', ').map((name) => name.replace(/^-+/, '')) ?? [];
  if (suggestion !== undefined && !isOpposite && closest(flag.replace(/^-+/, ''), nearest) !== undefined)
    return settingError(message, { reason: 'meant', value: suggestion });
  return usageError(message, helpHint(typed));
}

/** `--maxTokens`, `--max_tokens`, `--max-token`, `--tokens`: a number of tokens, not a key. */
const tokenLimit = /^--(max[a-z_-]*tokens?|tokens)$/i;

/**
 * The flags that a word can mean: the flag of a field under its name in requests (`--maxTokens`), or a flag with another name
 * elsewhere.
 */
function meantFlags(flag: string): string[] {
  if (tokenLimit.test(flag)) return ['--max-tokens'];
  const field = findFlagByField(flag);
  if (field !== undefined) return [field];
  return meantBy(flag.replaceAll(/[-_]/g, '')).filter((name) => name.startsWith('--'));
}

function helpHint(typed: MistypedLine): string {
  return hintFor('help', { value: typedCommand(typed) });
}

/** The values of the flag in `option '--by <what>' argument missing`, if it has a few. */
function valueHint(message: string, typed: MistypedLine): string {
  const { argChoices = [] } = typed.command?.options.find(({ flags }) => message.includes(`'${flags}'`)) ?? {};
  return argChoices.length > 0 ? `it takes ${argChoices.join(', ')}\n${helpHint(typed)}` : helpHint(typed);
}

/** `gateway-cli config get`, without the name of a default command. */
function typedCommand({ argv }: MistypedLine): string {
  return ['gateway-cli', ...typedNames(findCommandWords(argv))].join(' ');
}

/** Other names that people type for a flag, without `-` and `_`, and for a command. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  '--output': ['dest', 'file', 'filename', 'out', 'outdir', 'outfile', 'outputdir', 'outputfile', 'save'],
  '--aspect': ['ratio'],
  '--background transparent': ['transparent'],
  '--size': ['dimensions', 'height', 'resolution', 'width'],
  '--count': ['images', 'n', 'num', 'number', 'samples'],
  '--candidates': ['n'],
  '--image': ['attach', 'input', 'inputimage'],
  '--template': ['p', 'prompt'],
  '--attach': ['file', 'i', 'image', 'input'],
  '--data': ['csv', 'file', 'input', 'rows'],
  '--concurrency': ['parallel', 'workers'],
  '--max-failures 1': ['failfast'],
  '--system': ['instructions', 's', 'systemprompt'],
  '--temperature': ['t', 'temp'],
  '--schema': ['jsonschema'],
  '--search': ['web', 'websearch', 'grounding', 'online'],
  '--continue': ['r', 'resume'],
  '--session': ['conversation', 'history', 'save'],
  '--model': ['modelname'],
  '--base-url': ['endpoint', 'url'],
  text: ['complete', 'completions', 'generate', 'prompt', 'run', 'txt'],
  chat: ['ask', 'message', 'messages'],
  image: ['img', 'images', 'picture'],
  'image gen': ['create', 'draw', 'gen', 'generate', 'image-gen', 'make', 'new', 'picture'],
  'image edit': ['change', 'edit', 'image-edit', 'modify', 'variation'],
  'sessions list': ['ls'],
  'sessions show': ['cat', 'print', 'view'],
  'sessions rm': ['delete', 'del', 'remove'],
  'config list': ['ls', 'show'],
  'config init': ['auth', 'login', 'setup'],
  'config set': ['add'],
  'config unset': ['delete', 'del', 'remove', 'rm'],
  'config use': ['select', 'switch'],
  doctor: ['check', 'ping', 'test'],
  serve: ['proxy', 'server', 'start'],
};

function meantBy(word: string): string[] {
  return Object.keys(synonyms).filter((name) => synonyms[name]?.includes(word.toLowerCase()));
}

/** The command that takes a prompt, by the group after which it was typed. */
const promptCommands: Readonly<Record<string, string>> = { '': 'text', image: 'image gen' };

const longestPrompt = 60;

/** Suggests the command that was meant, or the command that takes the words as a prompt. */
function explainUnknownCommand({ argv }: MistypedLine, nearest: string | undefined): GatewayError {
  const words = findCommandWords(argv);
  const group = typedNames(words);
  const [word = '', ...rest] = words.slice(group.length);
  const message = `unknown command '${word}'`;
  if (word === 'version') return settingError(message, { reason: 'meant', value: 'gateway-cli --version' });
  const place = ['gateway-cli', ...group].join(' ');
  const inside = meantBy(word).filter(
    (name) => `${name} `.startsWith([...group, ''].join(' ')) && !name.startsWith('--'),
  );
  const near = nearest?.split(', ').map((name) => [...group, name].join(' ')) ?? [];
  // If there are more words, this word may begin a prompt: `show me three cats`.
  const grouped = group.length === 0 && rest.length < 2 ? commandsNamed(word) : [];
  const meant = [grouped, inside, near].find((names) => names.length > 0);
  if (meant !== undefined)
    return settingError(message, { reason: 'meant', value: meant.map((name) => `gateway-cli ${name}`).join(', or ') });
  const topic = group.length === 0 && rest.length === 0 ? closest(word, topics) : undefined;
  if (topic !== undefined) return settingError(message, { reason: 'meant', value: `gateway-cli help ${topic}` });
  const prompt = promptCommands[group.join(' ')];
  const help = hintFor('help', { value: place });
  if (prompt === undefined) return usageError(message, help);
  const typed = [word, ...rest].map(shellWord).join(' ');
  const ask = hintFor('ask-model', {
    value: `gateway-cli ${prompt} ${typed.length > longestPrompt ? '"…"' : typed}`,
  });
  return usageError(message, `${ask}\n${help}`);
}
